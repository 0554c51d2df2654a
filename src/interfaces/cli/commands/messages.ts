import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { isRelayError, RelayError } from '../../../base/errors.ts';
import { PREFETCH_MAX, SIGNAL_BYTES } from '../../../base/limits.ts';
import { firstItems } from '../../../base/pages.ts';
import type { Nacked } from '../../../contract/channels.ts';
import { ignoreLostLease, keepExtending, type ReceivedMessage } from '../../../sdk/subscription.ts';
import { answerCommand, badUsage, defineCommand } from '../command.ts';
import type { OpenClient } from '../host.ts';
import { moment, parseCount, plural, printable, rows, span, typedJson } from '../human.ts';
import { type Io, interruption, pipedText } from '../io.ts';
import { messageContent, messageLine } from './message-line.ts';
import { emptyInput } from './payload.ts';

const watch = defineCommand({
  usage: '<channel>',
  details: `Piped, one line a message: the pointer, or the signal. With --exec a shell command runs for each, one after
the other, with the payload on its standard input and RELAY_URL, RELAY_SEQ, RELAY_FROM, RELAY_METADATA, RELAY_CHANNEL
(RELAY_MSG and RELAY_JSON for a signal), RELAY_TS, and in a group RELAY_TOKEN and RELAY_ATTEMPT in its environment. In a group each
message goes to one member: exit code 0 acknowledges it, any other gives it back, and its lease is extended while the command runs.
What was given back comes again after 1s, 5s, 30s, 2m (relay channel group chooses), and after five attempts is a dead letter: relay
channel dead list. Without --exec a message of a group is acknowledged once it is printed. A lost connection is opened again and
nothing is missed.`,
  flags: {
    since: { value: 'WHEN', help: 'begin behind a sequence number or at a time; all for everything' },
    group: { short: 'g', value: 'NAME', help: 'share the work with the other members of this group' },
    as: { value: 'NAME', help: 'remember what was shown under this name, and go on from there' },
    exec: { short: 'x', value: 'CMD', help: 'run this for each message' },
    count: { short: 'n', value: 'N', help: 'stop after so many messages' },
    prefetch: { value: 'N', help: 'in a group: messages to hold at once (1)' },
  },
  examples: `
    relay watch builds  # what comes from now on
    relay watch builds --since all --json  # everything there is, then what comes, as JSON lines
    relay watch tasks --group workers --exec "./work.sh"  # one worker of several; start it as often as you like
    relay pull "$(relay watch reports -n 1)"  # wait for the next report and take it`,
  async run({ io, args, flags, open }) {
    const channel = args[0]!;
    const most = parseCount(flags.count, '--count', { min: 1 }) ?? Number.POSITIVE_INFINITY;
    const prefetch = parseCount(flags.prefetch, '--prefetch', { min: 1, max: PREFETCH_MAX });
    using interrupted = interruption();
    const { signal } = interrupted;
    const opened = await open();
    const { since, group, as: durable } = flags;
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

function show(io: Io, message: ReceivedMessage): void {
  if (io.json) io.stdout.write(`${JSON.stringify(message)}\n`);
  else if (io.interactive) io.print(messageLine(message, io.style));
  else {
    if (message.gap) io.warn('messages before this one are no longer kept');
    io.print(messageContent(message).replaceAll('\n', ' '));
  }
}

/** False where a message of a group was given back because the command failed. Elsewhere a failure is only told. */
async function work(io: Io, open: OpenClient, message: ReceivedMessage, command: string): Promise<boolean> {
  const extending = message.token === undefined ? null : keepExtending(message);
  const failure = await runForMessage(io, open, message, command)
    .catch((error) => {
      if (isRelayError(error)) return `was not run: ${error.message}`;
      throw error;
    })
    .finally(() => extending?.stop());
  if (failure === null) return true;
  const nacked = await message.nack().catch(ignoreLostLease);
  io.warn(`#${message.seq}: the command ${failure}${nacked ? `; ${whatNow(message, nacked)}` : ''}`);
  return message.token === undefined;
}

function whatNow({ channel, attempt }: ReceivedMessage, { dead, retry_at }: Nacked): string {
  if (dead) return `given up after ${attempt} attempts, see: relay channel dead list ${printable(channel)}`;
  return `it comes back in ${span(Math.max((retry_at ?? 0) - Date.now(), 0))}, attempt ${(attempt ?? 1) + 1}`;
}

/**
 * Runs a shell command for one message: the payload, or the signal's text, on its standard input; the rest in RELAY_*
 * variables. What went wrong, or null.
 */
async function runForMessage(
  io: Io,
  { client, resolve }: OpenClient,
  message: ReceivedMessage,
  command: string,
): Promise<string | null> {
  const { url } = message;
  const input =
    url === undefined ? [messageContent(message)] : await (await client()).pullStream(await resolve(url));
  const child = spawn(command, {
    shell: true,
    cwd: io.cwd,
    env: { ...io.env, ...variables(message) } as NodeJS.ProcessEnv,
    stdio: ['pipe', passed(io.stdout), passed(io.stderr)],
  });
  child.stdout?.on('data', (chunk: Uint8Array) => io.stdout.write(chunk));
  child.stderr?.on('data', (chunk: Uint8Array) => io.stderr.write(chunk));
  const ended = once(child, 'exit') as Promise<[code: number | null]>;
  // A command that does not want its input may leave it unread.
  const fed = pipeline(input, child.stdin!).catch(() => {});
  const [code] = await ended;
  await fed;
  if (code === 0) return null;
  return code === null ? 'was ended by a signal' : `ended with exit code ${code}`;
}

/** What a command makes of the words of others passes here on its way to a terminal. */
function passed({ isTTY }: Io['stdout']): 'pipe' | 'inherit' {
  return isTTY ? 'pipe' : 'inherit';
}

/** One without a value is not passed on from around this command: it would be another message's. */
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

/** An environment cannot hold a NUL character. */
function clean(text: string): string {
  return text.replaceAll('\u0000', '');
}

const publish = answerCommand({
  usage: '<channel> [msg|-]',
  details: `A signal is a short text, up to 16 KiB, for all subscribers of the channel. What is larger is a push:
relay push FILE --channel NAME.`,
  flags: {
    parse: { help: 'the message is JSON and is sent as such' },
    'idempotency-key': { value: 'KEY', help: 'sent twice with the same key, it is one message' },
  },
  examples: `
    relay publish builds "build 512 is green"  # a text
    relay publish builds --parse '{"build": 512, "ok": true}'  # JSON
    date | relay publish clock  # from a pipe`,
  async ask({ io, args, flags, open }) {
    const [channel, word] = args;
    const text = word === undefined || word === '-' ? await fromInput(io, word) : word;
    const msg = flags.parse ? typedJson(text, notJson) : text;
    const client = await (await open()).client();
    return client.publish(channel!, msg, { idempotencyKey: flags['idempotency-key'] });
  },
  print: ({ seq, channel }, { interactive }) => (interactive ? `#${seq} on ${channel}` : ''),
});

function notJson(reason: string): RelayError {
  return badUsage(`The message is not JSON: ${reason}.`, 'Leave --parse out to send it as a text.');
}

/** Without the line end that a pipe puts behind it. */
async function fromInput(io: Io, word: string | undefined): Promise<string> {
  if (word === undefined && io.stdin.isTTY)
    throw badUsage(
      'There is no message: none was given and nothing is piped in.',
      'Use: relay publish CHANNEL "some words"',
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
  details: 'A channel is there from its first message on, for as long as its messages are kept.',
  examples: `
    relay channels  # all of them, with what is in them
    relay channels --json | jq -r ".channels[].name"  # their names`,
  async ask({ open }) {
    const { relay } = await open();
    const all = Number.POSITIVE_INFINITY;
    const { items } = await firstItems('channels', all, ({ after }) => relay.channels.list({ after }));
    return { channels: items };
  },
  print({ channels }, { interactive, style }) {
    if (!interactive) return channels.map(({ name }) => printable(name)).join('\n');
    if (channels.length === 0)
      return style.dim('There are no channels yet. Begin with: relay publish NAME "hello"');
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
