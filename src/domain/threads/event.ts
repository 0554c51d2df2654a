import type { JsonObject } from '../../base/json.ts';
import type { ThreadEvent } from '../../contract/threads/answers.ts';
import { isoTime } from './state.ts';

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
