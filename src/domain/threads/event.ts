import type { Json, JsonObject } from '../../base/json.ts';
import { PREVIEW_BYTES } from '../../base/limits.ts';
import { utf8Bytes } from '../../base/utf8.ts';
import type { ArtifactTokens, Metrics, ThreadEvent } from '../../contract/threads.ts';
import { isoTime } from './state.ts';

/** A log entry of a thread. */
export interface StoredEvent {
  readonly type: string;
  /**
   * Time in ms since the epoch. It is stored in the event and not read from the log, so that it survives an
   * export.
   */
  readonly at: number;
  readonly payload: JsonObject;
  /** Digest of the idempotency key. */
  readonly key?: string;
  /** Digest of the request. */
  readonly request?: string;
  /** Key of the blob with the payload's `ops`, which were too large for a log entry. */
  readonly ops_blob?: string;
  /** Present only in events imported from a Go relay. */
  readonly legacy?: LegacyEvent;
}

/**
 * Original data of an event from a Go relay. In a Go relay, an artifact is not part of the state and makes
 * no version.
 */
export interface LegacyEvent {
  /** Original event id. The API still shows the event under this id. */
  readonly id?: string;
  /** Original timestamp, with nanoseconds. */
  readonly timestamp: string;
  /** Time and metrics of the version that the event made. Absent if the event made no version. */
  readonly stamp?: { readonly updated_at: string; readonly metrics: Metrics };
  /** Artifacts created by the event. */
  readonly artifacts?: readonly CountedArtifact[];
}

/** Fields of an artifact that are added to the totals of its thread. */
export interface CountedArtifact {
  readonly ref: string;
  readonly size: number;
  readonly tokens: ArtifactTokens;
  readonly capability?: string;
  /** True for a report that the relay generated. The tokens of a report are not part of the pasting cost. */
  readonly report?: boolean;
}

/** Format of event ids of a Go relay. The ids of this relay are sequence numbers and shorter. */
export const LEGACY_EVENT_ID = /^[0-9a-f]{16,40}$/;

/** Returns whether an event changes the state. Such an event makes the version that its payload names. */
export function makesVersion({ type, legacy }: StoredEvent): boolean {
  return legacy ? legacy.stamp !== undefined : VERSION_EVENTS.has(type);
}

export const VERSION_EVENTS: ReadonlySet<string> = new Set([
  'thread.created',
  'state.patch.applied',
  'artifact.created',
  'checkpoint.created',
]);

/** Matches event types that only the relay may write. */
export const RESERVED_TYPE =
  /^(?:thread|state|artifact|capability|report|checkpoint|message)\.|^prompt\.rendered$|^question\.(?:asked|answered)$/;

/** Returns an event as the API shows it. `count` is the number of the event in the log, from 1. */
export function toWire(threadId: string, count: number, event: StoredEvent): ThreadEvent {
  const { type, payload, at, legacy } = event;
  const timestamp = legacy?.timestamp ?? isoTime(at);
  return { id: legacy?.id ?? String(count), thread_id: threadId, type, payload, timestamp };
}

/**
 * Returns the number of bytes that an event adds to the store: its JSON, and for an artifact its content and
 * preview. The result can be negative for a deletion, because it frees content and preview.
 */
export function eventStorageBytes(event: StoredEvent, bytes = eventBytes(event)): number {
  const { artifacts = [] } = event.legacy ?? {};
  if (event.legacy) return artifacts.reduce((sum, { size }) => sum + artifactStorageBytes(size), bytes);
  if (event.type === 'artifact.created') return bytes + artifactStorageBytes(event.payload.size);
  if (event.type === 'artifact.deleted') return bytes - artifactStorageBytes(event.payload.size);
  return bytes;
}

/** Returns the size of an event as JSON, in bytes. */
export function eventBytes(event: StoredEvent): number {
  return utf8Bytes(JSON.stringify(event));
}

/** Returns the bytes stored for an artifact of this size: its content and its preview. */
export function artifactStorageBytes(size: Json | undefined): number {
  if (!Number.isSafeInteger(size) || (size as number) < 0) return 0;
  return (size as number) + Math.min(size as number, PREVIEW_BYTES);
}
