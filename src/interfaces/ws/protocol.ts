import { badRequest, toRelayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { percentDecoded } from '../../base/utf8.ts';
import type { Message, SubscribeOptions } from '../../contract/channels.ts';
import type { Relay } from '../../contract/relay.ts';
import { channelEntry, type Entry, toMessage } from '../../domain/channels/message.ts';
import { checkSubscription } from '../../domain/channels/reader.ts';
import { checkChannelName } from '../../domain/names.ts';

/** Channel and options from the URL of a WebSocket request. */
export interface Target extends Omit<SubscribeOptions, 'signal'> {
  readonly channel: string;
  readonly ticket?: string;
  /** Name of the agent, as the client states it, unverified. */
  readonly agent?: string;
}

const PREFIXES = ['/ws/', '/v1/ws/'];

/** Parses the raw URL of the request line. Returns null if it is not a WebSocket path. */
export function parseTarget(url: string): Target | null {
  const at = url.indexOf('?');
  const path = at < 0 ? url : url.slice(0, at);
  const prefix = PREFIXES.find((each) => path.startsWith(each));
  if (!prefix) return null;
  const channel = percentDecoded(path.slice(prefix.length));
  if (channel === null) throw badRequest('The channel name is not percent-encoded UTF-8.');
  const query = new URLSearchParams(at < 0 ? '' : url.slice(at + 1));
  const field = (name: string) => query.get(name) ?? undefined;
  return {
    ...checkSubscription({ since: field('since'), group: field('group'), prefetch: field('prefetch') }),
    channel: checkChannelName(channel),
    ticket: field('ticket'),
    agent: field('agent'),
  };
}

/** The client that sent a frame: a group member, or a subscriber without a group. */
interface Settler {
  /** The relay with the member's rights. May be null without a group. */
  readonly relay: Relay | null;
  readonly channel: string;
  readonly group: string | null;
}

/** Requests of group members, and the field of the reply that confirms each. */
const REPLY_FIELDS = { ack: 'acked', nack: 'nacked', extend: 'extended' } as const;

/** Executes the request of a group member, such as `{"ack": seq, "token": t}`, and returns the confirming frame. */
export async function settle(
  { relay, channel, group }: Settler,
  frame: JsonObject | null,
): Promise<JsonObject> {
  const what = (Object.keys(REPLY_FIELDS) as (keyof typeof REPLY_FIELDS)[]).find(
    (each) => frame && each in frame,
  );
  if (!frame || !what)
    throw badRequest('A frame must be {"ack": seq, "token": …}, or use nack or extend instead of ack.');
  if (group === null || relay === null)
    throw badRequest('Only members of a group can acknowledge messages. Connect with ?group=NAME.');
  const { [what]: seq, token } = frame;
  if (typeof seq !== 'number' || typeof token !== 'number')
    throw badRequest(`"${what}" and "token" must be numbers.`);
  const { seq: _, ...more } = await relay.channels[what](channel, group, { seq, token });
  return { [REPLY_FIELDS[what]]: seq, token, ...more };
}

/**
 * Returns the sequence number and the token of a frame. An error frame repeats them, to name the failed
 * request.
 */
export function frameSubject(frame: JsonObject | null): { seq?: number; token?: number } {
  const number = (value: unknown) => (typeof value === 'number' ? value : undefined);
  return { seq: number(frame?.ack ?? frame?.nack ?? frame?.extend), token: number(frame?.token) };
}

/** Options for sending an uncompressed text frame. */
export const TEXT = { binary: false, compress: false, fin: true } as const;

/** Close code of RFC 6455: the server stops. */
export const GOING_AWAY = 1001;
/** Close code of RFC 6455: the server refuses the connection. */
export const REFUSED = 1008;
/** Close code of the relay: the client reads too slowly. */
export const TOO_SLOW = 4008;

/**
 * A message for many sockets. It is serialized once per base URL. The base URL depends on the client, and pointer
 * URLs contain it.
 */
export class SharedFrame {
  readonly entry: Entry;
  /** Pointer that the message announces, for the receipt. */
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

/**
 * Serializes a message without its field `gap`. A gap concerns only some sockets and is a separate frame, so
 * that all sockets share the message frame.
 */
export function messageFrame({ gap: _, ...message }: Message): Buffer {
  return Buffer.from(JSON.stringify(message));
}

/** Returns the frame that tells a client that messages between `after` and `next` were deleted. */
export function gapFrame(after: number, next: number): Buffer {
  return Buffer.from(JSON.stringify({ gap: true, after, next }));
}

export function errorFrame(error: unknown, about: { seq?: number; token?: number }): Buffer {
  return Buffer.from(JSON.stringify({ ...toRelayError(error).toJSON(), ...about }));
}
