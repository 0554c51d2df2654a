import { toBase64 } from '../../../base/base64.ts';
import { EXIT, type RelayError } from '../../../base/errors.ts';
import type { JsonObject } from '../../../base/json.ts';
import {
  DEFAULT_TTL_MS,
  INLINE_BLOB_BYTES,
  MAX_PULLS,
  PAYLOAD_BYTES,
  POINTERS_LISTED,
  RENEWED_POINTERS,
  SECRET_SCAN_CHARS,
} from '../../../base/limits.ts';
import { firstItems } from '../../../base/pages.ts';
import { pause } from '../../../base/pause.ts';
import { decodeUtf8 } from '../../../base/utf8.ts';
import { parsePointer } from '../../../contract/pointer-url.ts';
import type { ListedPointer, Pushed, Receipt } from '../../../contract/pointers.ts';
import { FERNET_CONTENT_TYPE } from '../../../formats/fernet.ts';
import type { ContextRelay } from '../../../sdk/context-relay.ts';
import { findSecrets } from '../../../text/secrets.ts';
import { whyDead } from '../channel-message.ts';
import { answerCommand, badUsage, defineCommand, type Flags } from '../command.ts';
import {
  bytes,
  columns,
  count,
  expiry,
  listFlags,
  moment,
  oneOf,
  parseCount,
  parseMost,
  parseSpan,
  plural,
  printable,
  type Row,
  rows,
  span,
  timeLeft,
  tokensInWords,
  typedJson,
} from '../human.ts';
import { type Io, interruption, type Style } from '../io.ts';
import {
  type Body,
  notForTerminals,
  openPayload,
  openPointer,
  PART_FLAGS,
  type PayloadSource,
  partOf,
  pointerArgument,
  WRITE_FLAGS,
  warnOfEncryption,
  writePart,
  writePayload,
} from '../payload.ts';
import { withProgress } from '../progress.ts';
import { removeEach } from '../removal.ts';

const push = defineCommand({
  usage: '[file|-]',
  details: `Reads a file or standard input, up to ${bytes(PAYLOAD_BYTES)}. At a terminal it prints the pointer, size, tokens and
expiry. In a pipe it prints only the pointer. Without API keys, anyone who has the pointer can pull the payload until it
expires or is revoked. With API keys, only keys of your tenant (your account on the relay) can
pull it, unless you pass --visibility link. Each push also gets a short handle, such as relay:128.

With --encrypt the relay stores only ciphertext. The key is the #key= part of the pointer. It is never sent to
the relay. With --keep-key it is also saved on this machine, so that you can pull here with the handle
alone. Metadata is not encrypted. The file name is stored as metadata, except with --encrypt.`,
  flags: {
    encrypt: { short: 'e', help: 'encrypt on this machine; the relay never sees the key' },
    'keep-key': {
      help: 'with --encrypt: save the key on this machine, so that the handle is enough to pull',
    },
    ttl: { value: 'TIME', help: 'expire after 90s, 15m, 2h, 7d or a number of seconds (24h)' },
    meta: { short: 'm', value: 'K=V', multiple: true, help: 'add metadata; K:=JSON for numbers and lists' },
    name: { value: 'NAME', help: 'same as --meta name=NAME (name of the file)' },
    channel: { short: 'c', value: 'NAME', help: 'announce the pointer on this channel' },
    'max-pulls': { value: 'N', help: 'allow at most N pulls' },
    visibility: {
      value: 'link|tenant',
      help: 'who may pull: anyone with the pointer, or only your tenant (link; tenant if the relay uses API keys)',
    },
    count: { help: 'count tokens in a pipe too' },
    'no-count': { help: 'do not count tokens' },
  },
  examples: `
    relay push notes.md  # print a pointer that works for ${span(DEFAULT_TTL_MS)}
    git diff | relay push --ttl 2h  # push standard input for two hours
    relay push .env --encrypt --max-pulls 1  # push a secret that can be pulled once
    relay push survey.md -m topic=survey -m pages:=12  # add metadata that relay peek shows
    url=$(relay push report.md)  # save the pointer in a variable`,
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
    if (flags['keep-key'] && !flags.encrypt)
      throw badUsage('--keep-key needs --encrypt.', 'Use: relay push FILE --encrypt --keep-key');
    const source = await openPayload(io, args[0]);
    const metadata = options.encrypted ? options.metadata : withFileName(options.metadata, source);
    const measured = keepBeginning(source.body);
    const opened = await open();
    const client = await opened.client();
    const body = withProgress(io, measured.body, source);
    const pushed = await client.pushDetailed(body, { ...options, metadata, size: source.size });
    printPushed(io, pushed, { encrypted: flags.encrypt === true, size: measured.size() });
    if (flags['keep-key'] && (await opened.keepKey(pushed)) === null)
      io.warn('the key was not saved, because this relay gives pointers no handles.');
    if (pushed.visibility === 'tenant' && options.visibility === undefined && !io.interactive)
      io.note(`It can be pulled ${TENANT_ONLY}. With --visibility link the pointer alone is enough.`);
    if (flags.encrypt) await warnOfEncryption(io, client, options);
    else warnOfSecrets(io, measured.beginning(), pushed.id);
  },
});

const TENANT_ONLY = 'only with a key of your tenant';

function readMetadata(pairs: readonly string[], name: string | undefined): JsonObject | undefined {
  const metadata: JsonObject = {};
  for (const pair of pairs) {
    const match = /^([^=]+?)(:?=)(.*)$/s.exec(pair);
    if (!match)
      throw badUsage(
        `--meta "${pair}" is not valid.`,
        'Use --meta topic=survey for a text, or --meta pages:=12 for a number.',
      );
    const [, key, sign, value] = match as unknown as [string, string, string, string];
    metadata[key] = sign === '=' ? value : typedJson(value, () => notJson(key, value));
  }
  if (name !== undefined) metadata.name = name;
  return Object.keys(metadata).length > 0 ? metadata : undefined;
}

/** Adds the file name to the metadata. Pipes and devices, which have no size, get no file name. */
function withFileName(
  metadata: JsonObject | undefined,
  { size, label }: PayloadSource,
): JsonObject | undefined {
  return size === undefined || metadata?.name !== undefined ? metadata : { ...metadata, name: label };
}

function notJson(key: string, text: string): RelayError {
  return badUsage(
    `--meta ${key}:= needs JSON, not "${text}".`,
    `For a text use one equals sign: --meta ${key}=${text}`,
  );
}

function printPushed(io: Io, pushed: Pushed, o: { encrypted: boolean; size: number }): void {
  io.result({ ...pushed, encrypted: o.encrypted }, () => {
    if (!io.interactive) return pushed.url;
    const facts = [
      pushed.handle ?? null,
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

/**
 * Passes the body on, counts its bytes and keeps the first SECRET_SCAN_CHARS bytes, which are scanned for
 * secrets.
 */
function keepBeginning(body: Body): { body: Body; size(): number; beginning(): Uint8Array } {
  if (body instanceof Uint8Array)
    return { body, size: () => body.byteLength, beginning: () => body.subarray(0, SECRET_SCAN_CHARS) };
  const chunks: Uint8Array[] = [];
  let left = SECRET_SCAN_CHARS;
  const passing = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        if (left > 0) chunks.push(chunk.slice(0, left));
        left -= chunk.byteLength;
        controller.enqueue(chunk);
      },
    }),
  );
  return { body: passing, size: () => SECRET_SCAN_CHARS - left, beginning: () => Buffer.concat(chunks) };
}

/**
 * Warns about secrets in a text. Prints the kind and the line of a secret, never the secret. Skips binary
 * data.
 */
function warnOfSecrets(io: Io, beginning: Uint8Array, id: string): void {
  if (beginning.includes(0)) return;
  const found = findSecrets(new TextDecoder().decode(beginning));
  if (found.length === 0) return;
  const named = found.slice(0, 3).map(({ kind, line }) => `${kind} in line ${line}`);
  if (found.length > 3) named.push(`${found.length - 3} more`);
  io.warn(`the payload seems to contain a secret (${named.join(', ')}) and was stored unencrypted.`);
  io.note(`  → relay rm ${id}, then push it again with --encrypt`);
}

const FLAGS = {
  ...PART_FLAGS,
  cost: { help: 'print only the token count' },
  ...WRITE_FLAGS,
} as const satisfies Flags;

const pull = defineCommand({
  usage: '<url>',
  details: `Writes the bytes to standard output unchanged. To save tokens, look at --outline first, then pull only the
lines you need. --cost counts the tokens of the payload or of a part.
--outline, --cost and a search without a match do not count as a pull. Exception: on an encrypted pointer with --max-pulls,
the first of these calls uses one pull. Further ones, and your next pull, are then free. If the relay requires
keys, --outline and --cost need one there.

Instead of the URL, pass
a handle (relay:128, or only 128), or - to read the pointer from standard input.`,
  flags: FLAGS,
  examples: `
    relay pull <url>  # print the payload
    relay pull <url> --outline  # print headings or definitions only
    relay pull 128 --lines 120-180  # print these lines of relay:128
    relay pull <url> --grep "TODO|FIXME" -C 2  # print matching lines with two lines around each
    relay pull <url> --out report.pdf  # write to a file
    relay pull <url> --cost  # count the tokens
    some-command | relay push | relay pull -  # read the pointer from standard input`,
  async run(call) {
    const { io, flags } = call;
    const part = partOf(flags, 'relay pull <url>');
    const { client, remote, url } = await openPointer(call);
    await call.host.outputs.notePulled();
    if (flags.cost) {
      const cost = await client.cost(url, part);
      return io.result(cost, `${tokensInWords(cost)}, ${bytes(cost.bytes)}`);
    }
    if (part) return writePart(io, await client.pullPart(url, part), flags);
    if (io.json && flags.out === undefined) return io.result(await envelope(client, url), '');
    // On the local store `inspect` costs almost nothing. On a server it is one more request, which only a
    // terminal needs: for the progress bar and the check for binary data.
    const look = remote === null || io.interactive || io.stderr.isTTY;
    const found = look ? await client.inspect(url) : undefined;
    const size = found?.size ?? undefined;
    // Check the type first, because reading the payload would count as a pull.
    if (found?.text === false && io.interactive && !flags.force && flags.out === undefined)
      throw notForTerminals();
    const small = size !== undefined && size <= INLINE_BLOB_BYTES;
    const body = small ? await client.pullBytes(url) : await client.pullStream(url);
    await writePayload(io, body, { ...flags, size });
  },
});

/** Returns the payload with its metadata, in the same JSON format as a pull over HTTP. */
async function envelope(client: ContextRelay, url: string): Promise<JsonObject> {
  const { metadata } = await client.inspect(url);
  const content = await client.pullBytes(url);
  const text = decodeUtf8(content);
  return text === null ? { data: toBase64(content), metadata, encoding: 'base64' } : { data: text, metadata };
}

const UNKNOWN = 'unknown: the server does not report it';

const peek = answerCommand({
  usage: '<url>',
  details: `At a terminal it shows size, tokens, expiry and metadata. In a pipe it prints the metadata as JSON. With --json
it prints size, tokens, expiry and metadata as JSON. A peek does not count as a pull. A handle such as relay:128 works instead of the URL. Servers of the original ContextRelay (version 0.2.0) report only the metadata.`,
  examples: `
    relay peek http://127.0.0.1:7474/pull/<uuid>  # show size, expiry and metadata
    relay peek <url> | jq -r .summary  # print one field of the metadata`,
  async ask(call) {
    const { client, url } = await openPointer(call);
    return client.inspect(url);
  },
  print(info, { interactive, style }) {
    if (!interactive) return JSON.stringify(info.metadata);
    const { tokens } = info;
    const cost = tokens ? `${count(tokens.tokens)} (${tokens.tokenizer})` : 'not counted yet';
    const lines: Row[] = [
      ['id', info.id],
      ['handle', info.handle ?? null],
      ['size', info.size === null ? UNKNOWN : `${bytes(info.size)}${info.text ? '' : ', binary'}`],
      ['tokens', tokens || info.size !== null ? cost : UNKNOWN],
      ['expires', info.expires_at === null ? UNKNOWN : expiry(info.expires_at)],
      ['pushed', info.created_at === null ? UNKNOWN : pushed(info.created_at, info.from)],
      ['type', info.content_type && printable(info.content_type)],
      ['channel', info.channel && printable(info.channel)],
      ['pulls', info.max_pulls === null ? null : `at most ${count(info.max_pulls)}`],
    ];
    const metadata = Object.entries(info.metadata).map(([key, value]): [string, string] => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return [`  ${printable(key)}`, printable(text)];
    });
    const table = rows(style.dim, lines);
    return metadata.length === 0 ? table : `${table}\nmetadata\n${rows(style.dim, metadata)}`;
  },
});

function pushed(at: string, from: string | null): string {
  return from === null ? moment(at) : `${moment(at)} by ${printable(from)}`;
}

const ls = answerCommand({
  usage: '[word…]',
  details: `Lists the pointers that have not expired, newest first. If you pass words, it lists only pointers that contain
them in the summary, metadata, sender, channel or handle. In a pipe each line has the URL, the time of the push and a title: the
summary, else the file name, else the command that printed the payload. The URL of an encrypted payload
has no key, because the relay does not know it.`,
  takes: { max: 50 },
  flags: { channel: { short: 'c', value: 'NAME', help: 'only pointers on this channel' }, ...listFlags(20) },
  examples: `
    relay ls  # list the newest pointers
    relay ls survey --channel reviews  # list pointers on a channel that are about a survey
    relay ls --all --json | jq -r '.pointers[].url'  # print the URL of every pointer`,
  async ask({ args, flags, open }) {
    const { pointers } = (await open()).relay;
    const query = { q: args.join(' ') || undefined, channel: flags.channel };
    const list = ({ after, limit }: { after?: string; limit: number }) =>
      pointers.list({ ...query, after, limit: Math.min(limit, POINTERS_LISTED) });
    const { items, ...more } = await firstItems('pointers', parseMost(flags, 20), list);
    return { pointers: items, ...more };
  },
  print({ pointers, more }, { interactive, style, typed }) {
    if (!interactive)
      return pointers.map((each) => `${each.url}\t${each.created_at}\t${titleOf(each)}`).join('\n');
    if (pointers.length === 0)
      return style.dim(typed('No pointer matches. Create one with: relay push FILE'));
    const cells = pointers.map((each) => [
      each.handle ?? each.id.slice(0, 8),
      bytes(each.size),
      moment(each.created_at),
      `expires ${timeLeft(each.expires_at)}`,
    ]);
    const lines = columns(cells, [1]).map((line, i) =>
      `${line}  ${printable(titleOf(pointers[i]!))}`.trimEnd(),
    );
    if (more) lines.push(style.dim(typed('There are older pointers. List all with: relay ls --all')));
    return lines.join('\n');
  },
});

/**
 * Returns a title for a payload, on one line: its summary, else its file name, else the command that printed
 * it.
 */
function titleOf({ content_type, metadata: { summary, name, command } }: ListedPointer): string {
  const kind = content_type === FERNET_CONTENT_TYPE ? 'encrypted' : '';
  const title = [summary, name, command].find((text) => typeof text === 'string') ?? kind;
  return String(title).replaceAll(/\s+/g, ' ').slice(0, TITLE_CHARS);
}

const TITLE_CHARS = 100;

const renew = defineCommand({
  usage: '<url…>',
  details: `Extends the life of pointers to at least --ttl from now, or without --ttl to the maximum of your plan. The relay adds up to 25 % to --ttl, so that a program that renews often does not cause a write each time. The command never shortens the life of a pointer. The URL stays the same. A pointer with --max-pulls keeps its expiry.`,
  takes: { min: 1, max: RENEWED_POINTERS },
  flags: { ttl: { value: 'TIME', help: 'live at least 90s, 15m, 2h, 7d or a number of seconds from now' } },
  examples: `
    relay renew http://127.0.0.1:7474/pull/<uuid> --ttl 30d  # keep a pointer for a month
    relay renew relay:128 relay:131  # keep two pointers as long as possible`,
  async run({ io, args, flags, open }) {
    const ttl = parseSpan(flags.ttl, '--ttl');
    const names: string[] = [];
    for (const arg of args) names.push(parsePointer(await pointerArgument(io, arg)).id);
    const { pointers } = await (await open()).relay.pointers.renew(names, { ttl });
    const missing = names.filter(
      (name) => !pointers.some(({ id, handle }) => id === name || handle === name),
    );
    io.result({ pointers, missing }, () =>
      pointers
        .map(({ id, handle, expires_at }) => `${handle ?? id}  expires ${expiry(expires_at)}`)
        .join('\n'),
    );
    for (const name of missing)
      if (!io.json) io.warn(`${name} does not exist, has expired, or is not yours.`);
    return missing.length > 0 ? EXIT.notFound : EXIT.ok;
  },
});

const rm = defineCommand({
  usage: '<url…>',
  details:
    'Deletes the payload. The pointer then answers as if it had never existed. With API keys, only a key of the tenant that pushed the payload can revoke its pointer.',
  takes: { min: 1, max: 1000 },
  examples: `
    relay rm http://127.0.0.1:7474/pull/<uuid>  # revoke one pointer
    relay rm <url> <url>  # revoke several; failures are listed`,
  async run({ io, args, open }) {
    const urls: string[] = [];
    for (const arg of args) urls.push(await pointerArgument(io, arg));
    const opened = await open();
    const { resolve } = opened;
    const client = await opened.client();
    const ids = urls.map((url) => parsePointer(url).id);
    return removeEach(io, 'revoked', ids, async (_, i) => client.delete(await resolve(urls[i]!)));
  },
});

const POLL_INTERVAL_MS = 500;

const receipts = defineCommand({
  usage: '<url>',
  details: `The stages are: stored, notified, pulled, acked (or dead, if the group gave up), result. A stage is shown only if there
is evidence for it: a subscriber that confirmed the message, bytes that were read, an acknowledgement, a dead letter or a
result.`,
  flags: {
    watch: {
      short: 'w',
      help: 'keep showing new receipts until Ctrl-C, or until the result arrives if the pointer is a task',
    },
  },
  examples: `
    relay receipts <url>  # show the receipts so far
    relay receipts <url> --watch  # show receipts as they arrive`,
  async run(call) {
    const { io, flags } = call;
    const { client, url } = await openPointer(call);
    let ladder = await client.receipts(url);
    const show = (receipts: readonly Receipt[]) => {
      if (io.json) io.stdout.write(`${JSON.stringify({ ...ladder, receipts })}\n`);
      else for (const receipt of receipts) io.print(line(receipt, io.style));
    };
    if (!flags.watch)
      return io.result(ladder, () => ladder.receipts.map((receipt) => line(receipt, io.style)).join('\n'));
    using interrupted = interruption();
    const { signal } = interrupted;
    show(ladder.receipts);
    while (ladder.reached !== 'result' && !signal.aborted) {
      await pause(POLL_INTERVAL_MS, signal);
      if (signal.aborted) break;
      const seen = new Set(ladder.receipts.map((receipt) => JSON.stringify(receipt)));
      ladder = await client.receipts(url);
      const fresh = ladder.receipts.filter((receipt) => !seen.has(JSON.stringify(receipt)));
      if (fresh.length > 0) show(fresh);
    }
  },
});

function line(receipt: Receipt, style: Style): string {
  const { rung, by, at, last_at } = receipt;
  const notes = [...EVIDENCE[rung](receipt), moment(last_at ?? at)].join(' · ');
  return `${style.bold(rung.padEnd(9))} ${style.cyan(printable(by))}  ${style.dim(notes)}`;
}

/** Formats the evidence of a receipt, by stage. */
const EVIDENCE: { readonly [R in Receipt['rung']]: (receipt: Receipt) => string[] } = {
  stored: ({ bytes: size = 0 }) => [bytes(size)],
  notified: ({ count = 1 }) => (count > 1 ? [plural(count, 'subscriber')] : []),
  pulled: ({ count = 1, retries, bytes: size = 0 }) => [
    plural(count, 'time'),
    ...(retries ? [`${retries} of them retries`] : []),
    bytes(size),
  ],
  acked: ({ group }) => (group === undefined ? [] : [`in the group ${printable(group)}`]),
  dead: ({ group = '', reason = 'attempts', attempts = 0 }) => [
    `the group ${printable(group)} gave up`,
    whyDead(reason, attempts),
  ],
  result: ({ status, summary, url }) =>
    [status, summary, url && parsePointer(url).id].flatMap((text) => (text ? [printable(text)] : [])),
};

export const commands = { push, pull, peek, ls, renew, rm, receipts };
