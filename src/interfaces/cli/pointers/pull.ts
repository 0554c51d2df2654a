import { toBase64 } from '../../../base/base64.ts';
import type { JsonObject } from '../../../base/json.ts';
import { GREP_CONTEXT_LINES, INLINE_BLOB_BYTES } from '../../../base/limits.ts';
import { decodeUtf8 } from '../../../base/utf8.ts';
import type { PartRequest } from '../../../contract/pointers.ts';
import type { ContextRelay } from '../../../sdk/context-relay.ts';
import { badUsage, defineCommand, type Flags, type FlagValues } from '../command.ts';
import { bytes, parseCount, tokensInWords } from '../human.ts';
import { notForTerminals, writePayload } from './payload.ts';
import { openPointer } from './pointer-argument.ts';

const FLAGS = {
  lines: { value: 'A-B', help: 'only these lines: 10-40, 10-, 7, or -20 for the last 20' },
  grep: { value: 'PATTERN', help: 'only lines that match (RE2 syntax), with their numbers' },
  context: { short: 'C', value: 'N', help: 'with --grep: lines around each match' },
  'ignore-case': { short: 'i', help: 'with --grep: upper and lower case alike' },
  'json-pointer': {
    value: '/a/b',
    mayBeEmpty: true,
    help: 'only this place of a JSON payload (RFC 6901)',
  },
  outline: { help: 'only headings, definitions or the shape, with line numbers' },
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
    const part = partOf(flags);
    const { client, remote, url } = await openPointer(call);
    if (flags.cost) {
      const cost = await client.cost(url, part);
      io.result(cost, `${tokensInWords(cost)}, ${bytes(cost.bytes)}`);
      return;
    }
    if (part) {
      const taken = await client.pullPart(url, part);
      if (taken.truncated) io.warn(taken.about);
      else if (io.interactive && !io.json && !flags.outline) io.note(taken.about);
      if (io.json && flags.out === undefined) io.result(taken, '');
      else await writePayload(io, new TextEncoder().encode(withLineEnd(taken.text)), flags);
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

/** A part is lines of text, and lines end. */
function withLineEnd(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** The shape that a pull over HTTP answers with. */
async function envelope(client: ContextRelay, url: string): Promise<JsonObject> {
  const { metadata } = await client.inspect(url);
  const content = await client.pullBytes(url);
  const text = decodeUtf8(content);
  return text === null ? { data: toBase64(content), metadata, encoding: 'base64' } : { data: text, metadata };
}

function partOf(flags: FlagValues<typeof FLAGS>): PartRequest | undefined {
  const given = (['lines', 'grep', 'json-pointer', 'outline'] as const).filter(
    (name) => flags[name] !== undefined,
  );
  if (given.length > 1) {
    throw badUsage(`--${given[0]} and --${given[1]} do not go together.`, 'Take one part at a time.');
  }
  if (flags.grep === undefined && (flags.context !== undefined || flags['ignore-case'])) {
    throw badUsage('--context and --ignore-case need --grep.', 'Use: relay pull <url> --grep PATTERN -C 2');
  }
  if (flags.lines !== undefined) return { lines: flags.lines };
  if (flags.grep !== undefined) {
    const context = parseCount(flags.context, '--context', { max: GREP_CONTEXT_LINES });
    return { grep: flags.grep, context, ignore_case: flags['ignore-case'] };
  }
  if (flags['json-pointer'] !== undefined) return { json: flags['json-pointer'] };
  return flags.outline ? { outline: true } : undefined;
}
