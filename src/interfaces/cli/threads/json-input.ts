import { RelayError } from '../../../base/errors.ts';
import type { Json } from '../../../base/json.ts';
import { JSON_BODY_BYTES } from '../../../base/limits.ts';
import type { Io } from '../io.ts';
import { openPayload } from '../pointers/payload-source.ts';

/** JSON from `--json '…'`, from a file, or with `-` for either from standard input. */
export async function jsonInput(
  io: Io,
  command: string,
  o: { readonly flag?: string; readonly file?: string },
): Promise<Json | undefined> {
  if (o.flag !== undefined && o.file !== undefined) {
    throw new RelayError('bad_usage', {
      what: `--json and ${o.file} do not go together.`,
      hint: `Use: relay ${command} --json '…', or: relay ${command} FILE`,
    });
  }
  if (o.flag !== undefined && o.flag !== '-') return parse(o.flag, '--json');
  const name = o.flag ?? o.file;
  if (name === undefined) return undefined;
  const { body, label } = await openPayload(io, name, { limit: JSON_BODY_BYTES });
  return parse(await textOf(body, label), label);
}

async function textOf(body: Uint8Array | ReadableStream<Uint8Array>, label: string): Promise<string> {
  if (body instanceof Uint8Array) return new TextDecoder().decode(body);
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > JSON_BODY_BYTES) throw new RelayError('too_large', { what: label, limit: JSON_BODY_BYTES });
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parse(text: string, label: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new RelayError('bad_usage', {
      what: `${label} is not valid JSON: ${(error as Error).message.replace(/\.?$/, '.')}`,
      hint: 'In a shell, single quotes around it keep the double quotes inside.',
    });
  }
}
