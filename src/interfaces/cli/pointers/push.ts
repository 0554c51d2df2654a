import type { RelayError } from '../../../base/errors.ts';
import type { JsonObject } from '../../../base/json.ts';
import { MAX_PULLS, SECRET_SCAN_CHARS } from '../../../base/limits.ts';
import type { Pushed } from '../../../contract/pointers.ts';
import { findSecrets } from '../../../text/secrets.ts';
import { warnOfEncryption } from '../channels/encryption-words.ts';
import { badUsage, defineCommand } from '../command.ts';
import { bytes, expiry, oneOf, parseCount, parseSpan, tokensInWords, typedJson } from '../human.ts';
import type { Io } from '../io.ts';
import { withProgress } from '../progress.ts';
import { type Body, openPayload, type PayloadSource } from './payload.ts';

export default defineCommand({
  usage: '[file|-]',
  details: `Takes a file, or what is piped in, up to 25 MiB. At a terminal it prints the pointer, size, tokens and
expiry; piped, the pointer alone. Whoever has the pointer can pull it until it expires or is revoked. On a relay
with keys, by default only your tenant can, with a key: --visibility link makes the pointer enough.
With --encrypt the relay sees only ciphertext: the key is behind #key= in the pointer and travels nowhere
else. Metadata is never encrypted. A file's name is in its metadata, but not with
--encrypt.`,
  flags: {
    encrypt: { short: 'e', help: 'encrypt it here; the key is in the pointer alone' },
    ttl: { value: 'TIME', help: 'expire after 90s, 15m, 2h, 7d or that many seconds (24h)' },
    meta: { short: 'm', value: 'K=V', multiple: true, help: 'metadata; K:=JSON for numbers and lists' },
    name: { value: 'NAME', help: 'the same as --meta name=NAME (that of the file)' },
    channel: { short: 'c', value: 'NAME', help: 'announce it on this channel' },
    'max-pulls': { value: 'N', help: 'allow only so many pulls' },
    visibility: {
      value: 'link|tenant',
      help: 'who may pull: anyone with the pointer, or your tenant (link; tenant with keys)',
    },
    count: { help: 'count the tokens also when piped' },
    'no-count': { help: 'do not count the tokens' },
  },
  examples: [
    ['relay push notes.md', 'a pointer that is good for 24 hours'],
    ['git diff | relay push --ttl 2h', 'from a pipe, for two hours'],
    ['relay push .env --encrypt --max-pulls 1', 'a secret, for one reader'],
    ['relay push survey.md -m topic=survey -m pages:=12', 'with metadata for a peek'],
    ['url=$(relay push report.md)', 'the pointer alone, for a script'],
  ],
  async run({ io, args, flags, open }) {
    const options = {
      encrypted: flags.encrypt,
      metadata: readMetadata(flags.meta ?? [], flags.name),
      channel: flags.channel,
      ttl: parseSpan(flags.ttl, '--ttl'),
      maxPulls: parseCount(flags['max-pulls'], '--max-pulls', { min: 1, max: MAX_PULLS }),
      visibility: oneOf('--visibility', flags.visibility, ['link', 'tenant']),
      count: flags.count ?? (!flags['no-count'] && io.interactive),
    };
    const source = await openPayload(io, args[0]);
    const metadata = options.encrypted ? options.metadata : withFileName(options.metadata, source);
    const kept = keepBeginning(source.body);
    const client = await (await open()).client();
    const body = withProgress(io, kept.body, source);
    const pushed = await client.pushDetailed(body, { ...options, metadata, size: source.size });
    tell(io, pushed, { encrypted: flags.encrypt === true, size: kept.size() });
    if (pushed.visibility === 'tenant' && options.visibility === undefined && !io.interactive)
      io.note(`It can be pulled ${TENANT_ONLY}; --visibility link makes the pointer enough.`);
    if (flags.encrypt) await warnOfEncryption(io, client, options);
    else warnOfSecrets(io, kept.beginning(), pushed.id);
  },
});

const TENANT_ONLY = 'only with a key of your tenant';

function readMetadata(pairs: readonly string[], name: string | undefined): JsonObject | undefined {
  const metadata: JsonObject = {};
  for (const pair of pairs) {
    const match = /^([^=]+?)(:?=)(.*)$/s.exec(pair);
    if (!match) {
      throw badUsage(
        `--meta does not understand "${pair}".`,
        'Say it as --meta topic=survey, or --meta pages:=12 for a number.',
      );
    }
    const [, key, sign, value] = match as unknown as [string, string, string, string];
    metadata[key] = sign === '=' ? value : typedJson(value, () => notJson(key, value));
  }
  if (name !== undefined) metadata.name = name;
  return Object.keys(metadata).length > 0 ? metadata : undefined;
}

/** What only a pipe or a device knows has no name that tells anything. */
function withFileName(
  metadata: JsonObject | undefined,
  { size, label }: PayloadSource,
): JsonObject | undefined {
  return size === undefined || metadata?.name !== undefined ? metadata : { ...metadata, name: label };
}

function notJson(key: string, text: string): RelayError {
  return badUsage(
    `--meta ${key}:= wants JSON, not "${text}".`,
    `For a text use one equals sign: --meta ${key}=${text}`,
  );
}

function tell(io: Io, pushed: Pushed, o: { encrypted: boolean; size: number }): void {
  io.result({ ...pushed, encrypted: o.encrypted }, () => {
    if (!io.interactive) return pushed.url;
    const facts = [
      bytes(o.size),
      pushed.tokens ? tokensInWords(pushed.tokens) : null,
      o.encrypted ? 'encrypted' : null,
      `expires ${expiry(pushed.expires_at)}`,
      pushed.channel ? `on channel ${pushed.channel}` : null,
      pushed.visibility === 'tenant' ? TENANT_ONLY : null,
    ];
    return `${io.style.bold(pushed.url)}\n${io.style.dim(facts.filter((fact) => fact !== null).join(' · '))}`;
  });
}

/** Keeps as much of the beginning of what passes through as the search for secrets looks at, and counts all of it. */
function keepBeginning(body: Body): { body: Body; size(): number; beginning(): Uint8Array } {
  if (body instanceof Uint8Array) {
    return { body, size: () => body.byteLength, beginning: () => body.subarray(0, SECRET_SCAN_CHARS) };
  }
  const kept: Uint8Array[] = [];
  let left = SECRET_SCAN_CHARS;
  const passing = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        if (left > 0) kept.push(chunk.slice(0, left));
        left -= chunk.byteLength;
        controller.enqueue(chunk);
      },
    }),
  );
  return { body: passing, size: () => SECRET_SCAN_CHARS - left, beginning: () => Buffer.concat(kept) };
}

/** Says what kind of secret is in which line, and what to type; never the secret. Says nothing about binary data. */
function warnOfSecrets(io: Io, beginning: Uint8Array, id: string): void {
  if (beginning.includes(0)) return;
  const found = findSecrets(new TextDecoder().decode(beginning));
  if (found.length === 0) return;
  const named = found.slice(0, 3).map(({ kind, line }) => `${kind} in line ${line}`);
  if (found.length > 3) named.push(`${found.length - 3} more`);
  io.warn(`this looks like it holds a secret (${named.join(', ')}), and it was stored unencrypted.`);
  io.note(`  → relay rm ${id}, then push it again with --encrypt`);
}
