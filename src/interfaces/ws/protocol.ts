import { badRequest, shownError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { percentDecoded } from '../../base/utf8.ts';
import type { Message, SubscribeOptions } from '../../contract/channels.ts';
import type { Relay } from '../../contract/relay.ts';
import { channelEntry, type Entry, toMessage } from '../../domain/channels/message.ts';
import { checkSubscription } from '../../domain/channels/reader.ts';
import { checkChannelName } from '../../domain/names.ts';

/** What a socket asks for in its address. */
export interface Target extends Omit<SubscribeOptions, 'signal'> {
  readonly channel: string;
  readonly ticket?: string;
}

const PREFIXES = ['/ws/', '/v1/ws/'];

/** Null where the address is none for sockets. Taken from the request line itself, before anything could rewrite it. */
export function parseTarget(url: string): Target | null {
  const at = url.indexOf('?');
  const path = at < 0 ? url : url.slice(0, at);
  const prefix = PREFIXES.find((each) => path.startsWith(each));
  if (!prefix) return null;
  const channel = percentDecoded(path.slice(prefix.length));
  if (channel === null) throw badRequest('The name of the channel is not percent-encoded UTF-8.');
  const query = new URLSearchParams(at < 0 ? '' : url.slice(at + 1));
  const field = (name: string) => query.get(name) ?? undefined;
  return {
    ...checkSubscription({ since: field('since'), group: field('group'), prefetch: field('prefetch') }),
    channel: checkChannelName(channel),
    ticket: field('ticket'),
  };
}

/** A member of a group, or a mere reader, at whose socket a frame came in. */
export interface Settler {
  /** The relay as the member sees it; null for readers. */
  readonly relay: Relay | null;
  readonly channel: string;
  readonly group: string | null;
}

/** What a member may say of its work, and how that is confirmed. */
const SETTLED = { ack: 'acked', nack: 'nacked', extend: 'extended' } as const;

/** Does what `{"ack": seq, "token": t}` asks for, or the same with `nack` and `extend`, and gives the frame that confirms it. */
export async function settle(
  { relay, channel, group }: Settler,
  frame: JsonObject | null,
): Promise<JsonObject> {
  const what = (Object.keys(SETTLED) as (keyof typeof SETTLED)[]).find((each) => frame && each in frame);
  if (!frame || !what)
    throw badRequest('A frame is {"ack": seq, "token": …}, or the same with nack or extend.');
  if (group === null || relay === null)
    throw badRequest('Only members of a group acknowledge: connect with ?group=NAME.');
  const { [what]: seq, token } = frame;
  if (typeof seq !== 'number' || typeof token !== 'number')
    throw badRequest(`"${what}" and "token" must be numbers.`);
  const { seq: _, ...more } = await relay.channels[what](channel, group, { seq, token });
  return { [SETTLED[what]]: seq, token, ...more };
}

/** What a frame was about, for the error that answers it. */
export function aboutOf(frame: JsonObject | null): { seq?: number; token?: number } {
  const number = (value: unknown) => (typeof value === 'number' ? value : undefined);
  return { seq: number(frame?.ack ?? frame?.nack ?? frame?.extend), token: number(frame?.token) };
}

/** Text frames, as they are. */
export const TEXT = { binary: false, compress: false, fin: true } as const;

/** Close codes. 1001 and 1008 are the protocol's own. */
export const GOING_AWAY = 1001;
export const REFUSED = 1008;
/** The reader does not keep up. */
export const TOO_SLOW = 4008;

/** A message on its way to many sockets: written out once for each address that its readers know the relay by. */
export class SharedFrame {
  readonly entry: Entry;
  /** The pointer it is about, for the receipt. */
  readonly pointer: string | null;
  readonly #byBase = new Map<string, Buffer>();

  constructor(entry: Entry) {
    this.entry = entry;
    this.pointer = channelEntry(entry.data)?.pointer ?? null;
  }

  for(base: string): Buffer {
    let frame = this.#byBase.get(base);
    if (!frame) {
      frame = messageFrame(toMessage(this.entry, base)!);
      this.#byBase.set(base, frame);
    }
    return frame;
  }
}

/** A gap has a frame of its own, so that a message looks the same to everyone. */
export function messageFrame({ gap: _, ...message }: Message): Buffer {
  return Buffer.from(JSON.stringify(message));
}

/** Messages behind `after` and before `next` are no longer kept. */
export function gapFrame(after: number, next: number): Buffer {
  return Buffer.from(JSON.stringify({ gap: true, after, next }));
}

export function errorFrame(error: unknown, about: { seq?: number; token?: number }): Buffer {
  return Buffer.from(JSON.stringify({ ...shownError(error).toJSON(), ...about }));
}
