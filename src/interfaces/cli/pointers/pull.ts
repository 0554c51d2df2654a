import { toBase64 } from '../../../base/base64.ts';
import type { JsonObject } from '../../../base/json.ts';
import { INLINE_BLOB_BYTES } from '../../../base/limits.ts';
import { decodeUtf8 } from '../../../base/utf8.ts';
import type { ContextRelay } from '../../../sdk/context-relay.ts';
import { defineCommand, type Flags } from '../command.ts';
import { bytes, tokensInWords } from '../human.ts';
import { PART_FLAGS, partOf, writePart } from './part-flags.ts';
import { notForTerminals, writePayload } from './payload.ts';
import { openPointer } from './pointer-argument.ts';

const FLAGS = {
  ...PART_FLAGS,
  cost: { help: 'only what it would cost, in tokens; takes nothing' },
  out: { short: 'o', value: 'FILE', help: 'write to this file, whole or not at all' },
  force: { short: 'f', help: 'write binary data even to a terminal' },
} as const satisfies Flags;

export default defineCommand({
  usage: '<url>',
  details: `The bytes go to standard output as they are. A part costs a model only its own tokens: look at --outline
first, then take the lines you need. --cost tells the price of either without taking it.`,
  flags: FLAGS,
  examples: [
    ['relay pull <url>', 'the payload, to standard output'],
    ['relay pull <url> --outline', 'what is in it, for a few tokens'],
    ['relay pull <url> --lines 120-180', 'these lines'],
    ['relay pull <url> --grep "TODO|FIXME" -C 2', 'matching lines, each with two around it'],
    ['relay pull <url> --out report.pdf', 'into a file'],
    ['relay pull <url> --cost', 'what a model would pay for it'],
  ],
  async run(call) {
    const { io, flags } = call;
    const part = partOf(flags, 'relay pull <url>');
    const { client, remote, url } = await openPointer(call);
    if (flags.cost) {
      const cost = await client.cost(url, part);
      io.result(cost, `${tokensInWords(cost)}, ${bytes(cost.bytes)}`);
      return;
    }
    if (part) {
      await writePart(io, await client.pullPart(url, part), flags);
      return;
    }
    if (io.json && flags.out === undefined) {
      io.result(await envelope(client, url), '');
      return;
    }
    // Looking is free on the local store, and worth a request where someone watches.
    const look = remote === null || io.interactive || io.stderr.isTTY;
    const found = look ? await client.inspect(url) : undefined;
    const size = found?.size ?? undefined;
    // Before it counts as a pull.
    if (found?.text === false && io.interactive && !flags.force && flags.out === undefined)
      throw notForTerminals();
    const small = size !== undefined && size <= INLINE_BLOB_BYTES;
    const body = small ? await client.pullBytes(url) : await client.pullStream(url);
    await writePayload(io, body, { ...flags, size });
  },
});

/** The shape that a pull over HTTP answers with. */
async function envelope(client: ContextRelay, url: string): Promise<JsonObject> {
  const { metadata } = await client.inspect(url);
  const content = await client.pullBytes(url);
  const text = decodeUtf8(content);
  return text === null ? { data: toBase64(content), metadata, encoding: 'base64' } : { data: text, metadata };
}
