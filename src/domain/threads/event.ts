import type { Json, JsonObject } from '../../base/json.ts';
import { PREVIEW_BYTES } from '../../base/limits.ts';
import type { ThreadEvent } from '../../contract/threads/answers.ts';
import { asJson } from '../records.ts';
import { bytesOf, isoTime } from './state.ts';

/** What a log entry of a thread holds. */
export interface StoredEvent {
  readonly type: string;
  /** Milliseconds. Kept here, not taken from the log, so that it survives an export. */
  readonly at: number;
  readonly payload: JsonObject;
  /** Digest of the idempotency key and of the request that came with it. */
  readonly key?: string;
  readonly request?: string;
  /** The payload's `ops` are in this blob because one entry could not hold them. */
  readonly ops_blob?: string;
}

/** These change the state, and each makes a version, which its payload names. */
export const VERSION_EVENTS: ReadonlySet<string> = new Set([
  'thread.created',
  'state.patch.applied',
  'artifact.created',
  'checkpoint.created',
]);

/** Only the relay itself writes events of these kinds. */
export const OWN_TYPE = /^(?:thread|state|artifact|capability|report|checkpoint|message)\./;

export function toWire(threadId: string, count: number, event: StoredEvent): ThreadEvent {
  const { type, payload, at } = event;
  return { id: String(count), thread_id: threadId, type, payload, timestamp: isoTime(at) };
}

/**
 * What an event takes up in the store: itself, and with an artifact its content and at most as much of it as a preview holds.
 * The end of an artifact gives that back.
 */
export function storedBytes(event: StoredEvent): number {
  const own = bytesOf(asJson(event));
  if (event.type === 'artifact.created') return own + artifactBytes(event.payload.size);
  if (event.type === 'artifact.deleted') return own - artifactBytes(event.payload.size);
  return own;
}

export function artifactBytes(size: Json | undefined): number {
  if (!Number.isSafeInteger(size) || (size as number) < 0) return 0;
  return (size as number) + Math.min(size as number, PREVIEW_BYTES);
}
