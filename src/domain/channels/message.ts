import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import type { Message } from '../../contract/channels.ts';
import { pointerUrl } from '../../contract/pointer-url.ts';
import type { Entry, Logs } from '../../kernel/logs.ts';
import { fromJson } from '../records.ts';

/**
 * An entry of a channel's log. It contains the id of a pointer, not its URL, because each server has its own
 * address.
 */
export interface ChannelEntry
  extends Pick<Message, 'msg' | 'from' | 'agent' | 'reply_to' | 'metadata' | 'sealed_key' | 'dead'> {
  readonly pointer?: string;
}

/**
 * Log entry that is not a message. It is appended to an unused channel before all messages are trimmed, because the
 * last entry of a log cannot be trimmed.
 */
export const TOMBSTONE: JsonObject = { gone: true };

/** Returns the content of a log entry. Returns null for an entry that is no message. */
export function channelEntry(data: Json): ChannelEntry | null {
  if (!isJsonObject(data) || typeof data.from !== 'string') return null;
  return fromJson<ChannelEntry>(data);
}

/**
 * Returns the message that a server with this `base` URL sends to subscribers. Returns null for an entry that
 * is no message. `url` is the first field, because people look for it first.
 */
export function toMessage(entry: Entry, base: string): Message | null {
  const data = channelEntry(entry.data);
  if (!data) return null;
  const { pointer, msg, from, agent, reply_to, metadata, sealed_key, dead } = data;
  return {
    ...(pointer === undefined ? { msg: msg ?? null } : { url: pointerUrl(base, pointer) }),
    ts: entry.at,
    seq: entry.seq,
    from,
    ...(agent === undefined ? {} : { agent }),
    ...(reply_to === undefined ? {} : { reply_to }),
    ...(metadata ? { metadata } : {}),
    ...(sealed_key === undefined ? {} : { sealed_key }),
    ...(dead ? { dead } : {}),
    ...(entry.gap ? { gap: true } : {}),
  };
}

/** Returns the entry with this sequence. Returns null if there is none or it was trimmed. */
export async function entryAt(logs: Logs, stream: string, seq: number): Promise<Entry | null> {
  if (seq === 0) return null;
  const { entries } = await logs.read(stream, { after: seq - 1, limit: 1 });
  return entries[0]?.seq === seq ? entries[0] : null;
}

/**
 * Exported for interfaces that share one subscription among many readers. They work with log entries instead of
 * messages.
 */
export type { Entry } from '../../kernel/logs.ts';
