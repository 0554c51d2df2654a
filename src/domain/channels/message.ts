import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import type { Message } from '../../contract/channels.ts';
import { pointerUrl } from '../../contract/pointer-url.ts';
import type { Entry, Logs } from '../../kernel/logs.ts';
import { fromJson } from '../records.ts';

/** What the log of a channel holds. A pointer is named by its id: each server knows its own address. */
export interface ChannelEntry extends Pick<Message, 'msg' | 'from' | 'metadata' | 'sealed_key' | 'dead'> {
  readonly pointer?: string;
}

/** Stands at the end of a channel that nobody uses any more, in place of the last message. */
export const TOMBSTONE: JsonObject = { gone: true };

/** Null for what is no message. */
export function channelEntry(data: Json): ChannelEntry | null {
  if (!isJsonObject(data) || typeof data.from !== 'string') return null;
  return fromJson<ChannelEntry>(data);
}

/** The message as subscribers of one server see it; null for what is no message. `url` comes first, for who reads it by eye. */
export function toMessage(entry: Entry, base: string): Message | null {
  const data = channelEntry(entry.data);
  if (!data) return null;
  const { pointer, msg, from, metadata, sealed_key, dead } = data;
  return {
    ...(pointer === undefined ? { msg: msg ?? null } : { url: pointerUrl(base, pointer) }),
    ts: entry.at,
    seq: entry.seq,
    from,
    ...(metadata ? { metadata } : {}),
    ...(sealed_key === undefined ? {} : { sealed_key }),
    ...(dead ? { dead } : {}),
    ...(entry.gap ? { gap: true } : {}),
  };
}

/** The entry with this sequence; null where there is none, or none any more. */
export async function entryAt(logs: Logs, stream: string, seq: number): Promise<Entry | null> {
  if (seq === 0) return null;
  const { entries } = await logs.read(stream, { after: seq - 1, limit: 1 });
  return entries[0]?.seq === seq ? entries[0] : null;
}

/** An entry of a channel's log, for who shares one subscription among many readers. */
export type { Entry } from '../../kernel/logs.ts';
