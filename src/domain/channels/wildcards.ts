import { badRequest } from '../../base/errors.ts';
import { WILDCARD_CHANNELS } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import { mayUseChannel } from '../../contract/authorize.ts';
import type { Caller, CallerAt } from '../../contract/caller.ts';
import { type Message, matchesPattern, type Since } from '../../contract/channels.ts';
import type { Entry } from '../../kernel/logs.ts';
import { deadLetterChannel } from '../names.ts';
import { toMessage } from './message.ts';
import { parseSince, type ReaderView, type Start } from './reader.ts';

/** The methods of `Channels` (channels.ts) that a subscription to a pattern needs. */
interface Channels {
  /** Returns the names of the tenant's channels that begin with `start`. */
  beginningWith(caller: Caller, start: string): Promise<string[]>;
  start(tenant: string, channel: string, since: Since | undefined): Promise<Start>;
  view(start: Start): ReaderView;
  follow(tenant: string, channel: string, after: number, signal: AbortSignal): AsyncIterable<Entry>;
}

/** Interval in ms at which a subscription looks for new channels that match its pattern. */
const LOOK_MS = 2_000;

/**
 * Yields the messages of all channels that match the pattern and that the caller may read. Messages of one channel
 * come in order. A channel that is created later is followed from its first message.
 */
export async function* followPattern(
  channels: Channels,
  caller: CallerAt,
  pattern: string,
  o: { readonly since?: Since; readonly signal: AbortSignal },
): AsyncGenerator<Message> {
  const stop = new AbortController();
  const signal = AbortSignal.any([o.signal, stop.signal]);
  const followed = new Set<string>();
  const queue: { readonly message: Message; onTaken(): void }[] = [];
  let wake = () => {};
  let failure: { readonly error: unknown } | null = null;
  const fail = (error: unknown) => {
    failure ??= { error };
    wake();
  };
  // Each channel has at most one message in the queue, so a slow reader does not fill the memory.
  const follow = async (channel: string, since: Since | undefined) => {
    const start = await channels.start(caller.tenant, channel, since);
    const view = channels.view(start);
    return async () => {
      for await (const entry of channels.follow(caller.tenant, channel, start.after, signal)) {
        const seen = view.see(entry);
        if (!seen || signal.aborted) continue;
        await new Promise<void>((onTaken) => {
          queue.push({ message: { ...toMessage(seen, caller.base)!, channel }, onTaken });
          wake();
        });
      }
    };
  };
  const look = async (since: Since | undefined) => {
    const fresh = (await matchingChannels(channels, caller, pattern)).filter((name) => !followed.has(name));
    const started = await Promise.all(fresh.map((name) => follow(name, since)));
    for (const name of fresh) followed.add(name);
    for (const run of started) run().catch(fail);
  };
  const lookAgain = async () => {
    while (!signal.aborted) {
      await pause(LOOK_MS, signal);
      if (!signal.aborted) await look('all');
    }
  };
  signal.addEventListener('abort', () => wake());
  try {
    await look(o.since);
    lookAgain().catch(fail);
    while (!signal.aborted && failure === null) {
      const next = queue.shift();
      if (!next) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      yield next.message;
      next.onTaken();
    }
    const ended = failure as { readonly error: unknown } | null;
    if (ended && !o.signal.aborted) throw ended.error;
  } finally {
    stop.abort();
    for (const { onTaken } of queue) onTaken();
  }
}

/**
 * Throws if `since` is a sequence: each channel has its own sequences, and a pattern follows many channels.
 * Also throws if the pattern matches too many channels.
 */
export async function checkPattern(
  channels: Channels,
  caller: Caller,
  pattern: string,
  since: Since | undefined,
): Promise<void> {
  const start = parseSince(since);
  if (typeof start === 'object' && 'seq' in start)
    throw badRequest(
      '"since" cannot be a sequence number with wildcards, because each channel has its own numbers.',
      'Use all, for all stored messages, or a time.',
    );
  await matchingChannels(channels, caller, pattern);
}

/**
 * Returns the channels that match the pattern. Dead-letter channels match only if the pattern itself ends
 * with `.dead`.
 */
async function matchingChannels(channels: Channels, caller: Caller, pattern: string): Promise<string[]> {
  const literal = pattern.slice(0, pattern.search(/[*>]/));
  const isDeadLetters = (name: string) => deadLetterChannel(name) === null;
  const found = (await channels.beginningWith(caller, literal)).filter(
    (name) =>
      matchesPattern(pattern, name) &&
      mayUseChannel(caller, name) &&
      (isDeadLetters(pattern) || !isDeadLetters(name)),
  );
  if (found.length <= WILDCARD_CHANNELS) return found;
  throw badRequest(
    `"${pattern}" matches more than ${WILDCARD_CHANNELS} channels.`,
    'Use a narrower pattern.',
  );
}
