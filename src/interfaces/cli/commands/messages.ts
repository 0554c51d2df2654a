import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { isRelayError, RelayError } from '../../../base/errors.ts';
import { DEAD_WHY_CHARS, PREFETCH_MAX, SIGNAL_BYTES } from '../../../base/limits.ts';
import { firstItems } from '../../../base/pages.ts';
import type { Nacked } from '../../../contract/channels.ts';
import { ignoreLostLease, keepExtending, type ReceivedMessage } from '../../../sdk/subscription.ts';
import { messageContent, messageLine } from '../channel-message.ts';
import { answerCommand, badUsage, defineCommand } from '../command.ts';
import type { OpenClient } from '../host.ts';
import {
  bytes,
  expiry,
  moment,
  parseCount,
  parseMilliseconds,
  parseSpan,
  plural,
  printable,
  rows,
  span,
  typedJson,
} from '../human.ts';
import { type Io, interruption, pipedText } from '../io.ts';
import { emptyInput } from '../payload.ts';

const watch = defineCommand({
  usage: '<channel>',
  details: `In a pipe it prints one line per message: the pointer, or the text of a signal (a message from relay publish). It
reconnects after a lost connection without missing messages. With a wildcard it watches all channels that match.
Dots separate the parts of a name: reviews.* matches one more part, and reviews.> one or more.

With --exec it runs a shell command for each message, one at a time. The payload, or the text of a signal, is on standard
input. These variables are set:

  RELAY_CHANNEL, RELAY_SEQ   channel and sequence number of the message
  RELAY_TS, RELAY_FROM       time in ms since 1970, and the sender
  RELAY_METADATA             metadata as JSON
  RELAY_URL                  the pointer
  RELAY_MSG, RELAY_JSON      a signal as text, and as JSON
  RELAY_TOKEN                in a group: lease token, to ack or nack over HTTP
  RELAY_ATTEMPT              in a group: number of this attempt, 1 to 5

With --group each message goes to one member of the group. Exit code 0 of the command acknowledges the message. Any
other exit code gives the message back to the group, which tries again after 1s, 5s, 30s and 2m (see relay channel group).
After five failed attempts the message becomes a dead letter (see relay channel dead list). Without --exec a message is
acknowledged as soon as it is printed.`,
  flags: {
    since: {
      value: 'WHEN',
      help: 'start earlier: after this sequence number, after this time (10m is ten minutes ago), or with every stored message (the word all). Default: only new messages; a new group starts with every stored message',
    },
    group: { short: 'g', value: 'NAME', help: 'share the messages with the other members of this group' },
    as: { value: 'NAME', help: 'save the position under this name and continue from it next time' },
    exec: { short: 'x', value: 'CMD', help: 'run this shell command for each message' },
    count: { short: 'n', value: 'N', help: 'stop after N messages' },
    prefetch: { value: 'N', help: 'in a group: number of messages to lease at once (1)' },
  },
  examples: `
    relay watch builds  # show new messages
    relay watch builds --since all --json  # stored messages first, then new ones, as JSON lines
    relay watch 'reviews.*'  # watch reviews.api, reviews.ui and so on, also new channels
    relay watch tasks --group workers --exec "./work.sh"  # run a worker; start as many as you like
    relay pull "$(relay watch reports -n 1)"  # wait for the next report and pull it`,
  async run({ io, args, flags, open }) {
    const channel = args[0]!;
    const most = parseCount(flags.count, '--count', { min: 1 }) ?? Number.POSITIVE_INFINITY;
    const prefetch = parseCount(flags.prefetch, '--prefetch', { min: 1, max: PREFETCH_MAX });
    using interrupted = interruption();
    const { signal } = interrupted;
    const opened = await open();
    const { group, as: durable } = flags;
    const since = parseWhen(flags.since);
    await using messages = (await opened.client()).subscribe(channel, {
      since,
      group,
      durable,
      prefetch,
      signal,
    });
    await messages.ready;
    if (io.interactive && !io.json) io.note(`watching ${channel}; Ctrl-C to stop`);
    let count = 0;
    for await (const message of messages) {
      if (flags.exec === undefined) show(io, message);
      const done = flags.exec === undefined || (await work(io, opened, message, flags.exec));
      if (done) await message.ack().catch(ignoreLostLease);
      if (++count >= most || signal.aborted) break;
    }
  },
});

/**
 * Converts a time span such as `10m` to the time that long ago, in ms since 1970. Returns `all`, a number or a
 * time unchanged.
 */
export function parseWhen(text: string | undefined): string | undefined {
  if (text === undefined || /^(?:all|\d+|\d{4}-\d\d-\d\d.*)$/.test(text)) return text;
  if (/^\d+(?:\.\d+)?\s*[smhd]$/i.test(text)) return String(Date.now() - parseMilliseconds(text, '--since')!);
  throw badUsage(
    `--since "${text}" is not valid.`,
    'Use all, a sequence number, 10m for ten minutes ago, or a time such as 2026-11-12T09:30:00Z.',
  );
}

function show(io: Io, message: ReceivedMessage): void {
  if (io.json) io.stdout.write(`${JSON.stringify(message)}\n`);
  else if (io.interactive) io.print(messageLine(message, io.style));
  else {
    if (message.gap) io.warn('earlier messages have expired');
    io.print(messageContent(message).replaceAll('\n', ' '));
  }
}

/**
 * Runs the command of --exec for a message. Returns false if the command failed and the group gets the
 * message back.
 */
async function work(io: Io, open: OpenClient, message: ReceivedMessage, command: string): Promise<boolean> {
  const extending = message.token === undefined ? null : keepExtending(message);
  const failed = await runForMessage(io, open, message, command)
    .catch((error) => {
      if (isRelayError(error)) return { failure: `did not run: ${error.message}`, lines: '' };
      throw error;
    })
    .finally(() => extending?.stop());
  if (failed === null) return true;
  const { failure, lines } = failed;
  const why = `The command ${failure}.${lines && `\n${lines}`}`;
  const nacked = await message.nack(why.slice(0, DEAD_WHY_CHARS)).catch(ignoreLostLease);
  io.warn(`#${message.seq}: the command ${failure}${nacked ? `; ${whatNow(message, nacked)}` : ''}`);
  return message.token === undefined;
}

function whatNow({ channel, attempt }: ReceivedMessage, { dead, retry_at }: Nacked): string {
  if (dead)
    return `it is a dead letter after ${attempt} attempts, see: relay channel dead list ${printable(channel)}`;
  return `it is retried in ${span(Math.max((retry_at ?? 0) - Date.now(), 0))}, attempt ${(attempt ?? 1) + 1}`;
}

/** Limits for the standard error that a dead letter stores: number of lines, number of characters. */
const [LAST_LINES, LAST_CHARS] = [10, 1_500];

/**
 * Runs a shell command for one message. The command reads the payload, or the text of the signal, on standard
 * input and has RELAY_* variables. Returns null if the command succeeded, otherwise the failure and the last
 * lines of standard error.
 */
async function runForMessage(
  io: Io,
  { client, resolve }: OpenClient,
  message: ReceivedMessage,
  command: string,
): Promise<{ failure: string; lines: string } | null> {
  const { url } = message;
  const input =
    url === undefined ? [messageContent(message)] : await (await client()).pullStream(await resolve(url));
  const child = spawn(command, {
    shell: true,
    cwd: io.cwd,
    env: { ...io.env, ...variables(message) } as NodeJS.ProcessEnv,
    stdio: ['pipe', passed(io.stdout), 'pipe'],
  });
  child.stdout?.on('data', (chunk: Uint8Array) => io.stdout.write(chunk));
  let stderr = '';
  child.stderr?.on('data', (chunk: Uint8Array) => {
    io.stderr.write(chunk);
    stderr = (stderr + Buffer.from(chunk).toString()).slice(-LAST_CHARS);
  });
  const ended = once(child, 'exit') as Promise<[code: number | null]>;
  // The command may end without reading its input. Then writing fails with EPIPE, which is no error here.
  const fed = pipeline(input, child.stdin!).catch(() => {});
  const [code] = await ended;
  await fed;
  if (code === 0) return null;
  const failure = code === null ? 'was ended by a signal' : `ended with exit code ${code}`;
  return { failure, lines: stderr.trim().split('\n').slice(-LAST_LINES).join('\n') };
}

/**
 * Returns how the command's output is connected. At a terminal it goes through a pipe, so that we can filter
 * escape codes.
 */
function passed({ isTTY }: Io['stdout']): 'pipe' | 'inherit' {
  return isTTY ? 'pipe' : 'inherit';
}

/**
 * Returns the RELAY_* variables of a message. Variables that the message does not set are `undefined`. This removes
 * inherited values, which belong to another message.
 */
function variables(message: ReceivedMessage): NodeJS.ProcessEnv {
  const { channel, url, msg, seq, ts, from, metadata, token, attempt } = message;
  return {
    RELAY_CHANNEL: channel,
    RELAY_SEQ: String(seq),
    RELAY_TS: String(ts),
    RELAY_FROM: from,
    RELAY_METADATA: JSON.stringify(metadata ?? {}),
    RELAY_URL: url,
    RELAY_MSG: url === undefined ? clean(messageContent(message)) : undefined,
    RELAY_TOKEN: token === undefined ? undefined : String(token),
    RELAY_ATTEMPT: attempt === undefined ? undefined : String(attempt),
    RELAY_JSON: msg === undefined ? undefined : clean(JSON.stringify(msg)),
  };
}

/** Removes NUL characters, which environment variables cannot contain. */
function clean(text: string): string {
  return text.replaceAll('\u0000', '');
}

const publish = answerCommand({
  usage: '<channel> [msg|-]',
  details: `Sends a signal: a message of up to ${bytes(SIGNAL_BYTES)} without a payload, for all subscribers of the channel. For larger
content use relay push FILE --channel NAME.`,
  flags: {
    parse: { help: 'parse the message as JSON and send it as JSON' },
    after: { value: 'TIME', help: 'send it after this time, such as 10m or 2h; at most 30d' },
    'reply-to': { value: 'SEQ', help: 'answer the message with this sequence number' },
    'idempotency-key': {
      value: 'KEY',
      help: 'send only one message per key, even if the command is repeated',
    },
  },
  examples: `
    relay publish builds "build 512 is green"  # send a text
    relay publish builds --parse '{"build": 512, "ok": true}'  # send JSON
    relay publish desk "check the deploy" --after 10m  # send it in ten minutes
    date | relay publish clock  # send standard input`,
  async ask({ io, args, flags, open }) {
    const [channel, word] = args;
    const text = word === undefined || word === '-' ? await fromInput(io, word) : word;
    const msg = flags.parse ? typedJson(text, notJson) : text;
    const client = await (await open()).client();
    const replyTo = parseCount(flags['reply-to'], '--reply-to', { min: 1 });
    const after = parseSpan(flags.after, '--after');
    return client.publish(channel!, msg, { idempotencyKey: flags['idempotency-key'], replyTo, after });
  },
  print: ({ seq, channel, ts }, { interactive }) => {
    if (!interactive) return '';
    return seq === 0
      ? `will be sent to ${channel} ${expiry(new Date(ts).toISOString())}`
      : `#${seq} on ${channel}`;
  },
});

function notJson(reason: string): RelayError {
  return badUsage(`The message is not JSON: ${reason}.`, 'Omit --parse to send it as text.');
}

/** Reads the message from standard input, without its last newline. */
async function fromInput(io: Io, word: string | undefined): Promise<string> {
  if (word === undefined && io.stdin.isTTY)
    throw badUsage(
      'There is no message: you gave none and standard input is a terminal.',
      'Use: relay publish CHANNEL "some text"',
    );
  const tooLong = (text: string) => Buffer.byteLength(text) > 2 * SIGNAL_BYTES;
  const text = await pipedText(io, tooLong);
  if (text === '') throw emptyInput();
  if (tooLong(text)) {
    throw new RelayError('too_large', {
      what: 'a signal',
      limit: SIGNAL_BYTES,
      hint: 'Push it instead: relay push --channel NAME',
    });
  }
  return text.replace(/\r?\n$/, '');
}

const channels = answerCommand({
  details: 'The first message creates a channel. A channel disappears when its last message expires.',
  examples: `
    relay channels  # list channels with their messages and groups
    relay channels --json | jq -r ".channels[].name"  # print only the names`,
  async ask({ open }) {
    const { relay } = await open();
    const all = Number.POSITIVE_INFINITY;
    const { items } = await firstItems('channels', all, ({ after }) => relay.channels.list({ after }));
    return { channels: items };
  },
  print({ channels }, { interactive, style }) {
    if (!interactive) return channels.map(({ name }) => printable(name)).join('\n');
    if (channels.length === 0)
      return style.dim('There are no channels yet. Create one with: relay publish NAME "hello"');
    const entries = channels.map(({ name, messages, last_at, groups }): [string, string] => {
      const facts = [plural(messages, 'message')];
      if (last_at !== null) facts.push(`last ${moment(last_at)}`);
      if (groups.length > 0) facts.push(`groups ${groups.map(printable).join(', ')}`);
      return [printable(name), facts.join(' · ')];
    });
    return rows(style.cyan, entries);
  },
});

export const commands = { watch, publish, channels };
