import { concatBytes, readerOf } from '../../base/byte-streams.ts';
import { badRequest, isRelayError, type RelayError } from '../../base/errors.ts';
import { encodeUtf8 } from '../../base/utf8.ts';
import { bodyText } from '../body-text.ts';

export interface Form {
  /** The file of the form. Null if the form has none. */
  readonly file: FormFile | null;
  /** The other fields. Fields after the file are added when the file has been read. */
  readonly fields: ReadonlyMap<string, string>;
}

interface FormFile {
  readonly name: string | null;
  readonly mime: string | null;
  readonly body: ReadableStream<Uint8Array>;
}

const HEADER_BYTES = 8 * 1024;
const HEADER_END = encodeUtf8('\r\n\r\n');
const FIELD_BYTES = 64 * 1024;
const FIELDS = 32;

/**
 * Reads a form (RFC 7578) with at most one file, which is streamed. `formData()` would hold it in memory (ADR
 * 53).
 */
export async function readForm(source: ReadableStream<Uint8Array>, contentType: string): Promise<Form> {
  const boundary = /boundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))/i.exec(contentType);
  if (!boundary) throw formError('its Content-Type has no boundary');
  const parts = partReader(source, boundary[1] ?? boundary[2]!);
  for await (const _ of parts.content()) {
    // Skip the preamble before the first part.
  }
  const fields = new Map<string, string>();
  const file = await nextFile(parts, fields);
  if (!file) return { file: null, fields };
  const content = parts.content();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await content.next();
      if (!done) return controller.enqueue(value);
      if (await nextFile(parts, fields)) throw formError('it has more than one file');
      controller.close();
    },
    cancel: (reason) => parts.cancel(reason),
  });
  return { file: { ...file, body }, fields };
}

/**
 * Reads fields into `fields` until the next file. Returns the name and type of the file, or null at the end
 * of the form.
 */
async function nextFile(
  parts: PartReader,
  fields: Map<string, string>,
): Promise<{ name: string | null; mime: string | null } | null> {
  for (;;) {
    const head = await parts.head();
    if (head === null) return null;
    const disposition = /^content-disposition:\s*form-data\s*;(.*)$/im.exec(head)?.[1];
    const name = disposition && parameter(disposition, 'name');
    if (!disposition || name === undefined) throw formError('a part has no name');
    const filename = parameter(disposition, 'filename');
    const mime = /^content-type:\s*(\S[^\r\n]*)$/im.exec(head)?.[1]?.trim() ?? null;
    if (filename !== undefined || name === 'file') return { name: filename ?? null, mime };
    if (fields.size === FIELDS) throw formError('it has too many fields');
    const limit = { bytes: FIELD_BYTES, what: `its field "${name.slice(0, 40)}"` };
    fields.set(name, await readText(parts.content(), limit, new TextDecoder('utf-8', { fatal: true })));
  }
}

function parameter(header: string, name: string): string | undefined {
  const match = new RegExp(`(?:^|[;\\s])${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s]+))`, 'i').exec(header);
  const value = match?.[1] ?? match?.[2];
  // Decode only quotes and line ends: browsers percent-encode nothing else in names.
  return value?.replace(/%22|%0D|%0A/gi, (code) => decodeURIComponent(code)).replace(/\\(.)/g, '$1');
}

type PartReader = ReturnType<typeof partReader>;

/**
 * Splits a body into parts. Each part has a head and a content. The caller must read them in order, and each to its
 * end.
 */
function partReader(source: ReadableStream<Uint8Array>, boundary: string) {
  const reader = readerOf(source);
  const delimiter = encodeUtf8(`\r\n--${boundary}`);
  let buffer: Uint8Array = encodeUtf8('\r\n');
  let ended = false;
  const take = (length: number) => {
    const chunk = buffer.slice(0, length);
    buffer = buffer.subarray(length);
    return chunk;
  };
  const readMore = async () => {
    if (ended) throw formError('it is incomplete');
    const { done, value } = await reader.read();
    if (done) ended = true;
    else buffer = concatBytes([buffer, value]);
  };
  /** Yields the bytes before `mark`, then skips `mark`. */
  async function* until(mark: Uint8Array): AsyncGenerator<Uint8Array, undefined> {
    for (;;) {
      const at = find(buffer, mark);
      const safe = at >= 0 ? at : buffer.length - mark.length + 1;
      if (safe > 0) yield take(safe);
      if (at >= 0) {
        take(mark.length);
        return;
      }
      await readMore();
    }
  }
  return {
    /** Returns the next part's header lines, or null after the last part. */
    async head(): Promise<string | null> {
      while (buffer.length < 2) await readMore();
      if (buffer[0] === 0x2d && buffer[1] === 0x2d) return null;
      const limit = { bytes: HEADER_BYTES, what: 'the header of a part' };
      return (await readText(until(HEADER_END), limit, new TextDecoder())).trimStart();
    },
    content: () => until(delimiter),
    cancel: (reason: unknown) => reader.cancel(reason),
  };
}

function find(bytes: Uint8Array, mark: Uint8Array): number {
  const first = mark[0]!;
  for (let at = bytes.indexOf(first); at >= 0; at = bytes.indexOf(first, at + 1)) {
    if (at + mark.length > bytes.length) return -1;
    let i = 1;
    while (i < mark.length && bytes[at + i] === mark[i]) i++;
    if (i === mark.length) return at;
  }
  return -1;
}

async function readText(
  body: AsyncIterable<Uint8Array>,
  limit: { readonly bytes: number; readonly what: string },
  decoder: TextDecoder,
): Promise<string> {
  try {
    return await bodyText({ body }, limit, decoder);
  } catch (error) {
    if (isRelayError(error, 'too_large')) throw formError(`${limit.what} is too long`);
    throw error instanceof TypeError ? formError(`${limit.what} is not UTF-8`) : error;
  }
}

function formError(what: string): RelayError {
  return badRequest(`The form cannot be read: ${what}.`);
}
