import type { Json } from '../../base/json.ts';
import { pause } from '../../base/pause.ts';
import { utf8Bytes } from '../../base/utf8.ts';
import { channelStream, trimmedKey } from '../names.ts';
import { entriesBehind, type RecordsOf, recordsOf } from '../records.ts';
import { channelEntry } from './message.ts';
import type { ChannelDeps } from './settings.ts';

/** Number of log entries that are read before yielding to the event loop. */
const AT_ONCE = 500;

/** Returns the size of a log entry in the tenant's storage: the bytes of its JSON, or 0 if it is not a message. */
export function messageBytes(data: Json): number {
  return channelEntry(data) ? utf8Bytes(JSON.stringify(data)) : 0;
}

export interface AppendedAs {
  /**
   * Id that makes the append idempotent: an entry with an id that is already in the log is not appended
   * again.
   */
  readonly id?: string;
  /** True if this may be a retry, so that the log may already contain the message. */
  readonly again?: boolean;
}

/** Appends a message and adds its size to the tenant's storage. */
export async function appendMessage(
  { engine: { logs }, storage }: ChannelDeps,
  tenant: string,
  channel: string,
  entry: Json,
  { id, again = false }: AppendedAs,
): Promise<number> {
  const stream = channelStream(tenant, channel);
  const { last } = again ? await logs.info(stream) : { last: 0 };
  const write = () => logs.append(stream, entry, id === undefined ? {} : { id });
  return (await storage.counted(tenant, messageBytes(entry), write, (seq) => seq! > last))!;
}

/**
 * Trims a channel and subtracts the trimmed messages from the tenant's storage. A record stores a sequence; messages up
 * to this sequence were already subtracted. If two processes trim at the same time, only one of them subtracts. After a
 * crash between the subtraction and the trim, a later call trims the messages without subtracting them again.
 */
export async function trimMessages(
  deps: ChannelDeps,
  tenant: string,
  channel: string,
  before: number,
): Promise<void> {
  const { logs } = deps.engine;
  const stream = channelStream(tenant, channel);
  const { first, last } = await logs.info(stream);
  // A log cannot be trimmed completely, so the last message stays.
  const end = Math.min(before, last);
  if (first >= end) return;
  const freed = await noteTrimmed(deps, tenant, channel, end).catch(() => 0);
  if (freed === null) return;
  await deps.storage.freed(tenant, freed);
  await logs.trim(stream, { before: end });
}

/** Returns the size of all messages of a channel, in bytes. */
export async function bytesOfChannel(deps: ChannelDeps, tenant: string, channel: string): Promise<number> {
  const trimmed = (await marksOf(deps).get(trimmedKey(tenant, channel)))?.value ?? 0;
  return sumMessages(deps, channelStream(tenant, channel), trimmed);
}

/** Returns the size of the messages after the sequence `after` and before `end`, in bytes. */
async function sumMessages(
  { engine: { logs } }: ChannelDeps,
  stream: string,
  after: number,
  end = Number.POSITIVE_INFINITY,
): Promise<number> {
  let bytes = 0;
  let read = 0;
  for await (const { seq, data } of entriesBehind(logs, stream, after)) {
    if (seq >= end) break;
    bytes += messageBytes(data);
    if (++read % AT_ONCE === 0) await pause(0);
  }
  return bytes;
}

/**
 * Records that the messages before `end` no longer count toward the tenant's storage. Returns the bytes of the messages
 * for which this is new. Returns null if another process has changed the record meanwhile.
 */
async function noteTrimmed(
  deps: ChannelDeps,
  tenant: string,
  channel: string,
  end: number,
): Promise<number | null> {
  const key = trimmedKey(tenant, channel);
  const mark = await marksOf(deps).get(key);
  const bytes = await sumMessages(deps, channelStream(tenant, channel), mark?.value ?? 0, end);
  if (bytes === 0) return 0;
  const won = await marksOf(deps).put(key, end - 1, { expect: mark?.revision ?? 'absent' });
  return won === null ? null : bytes;
}

/**
 * Returns the marks of trimmed channels. A mark is a sequence. The channel's messages up to this sequence no longer
 * count in the tenant's storage.
 */
function marksOf({ engine }: ChannelDeps): RecordsOf<number> {
  return recordsOf(engine.records);
}
