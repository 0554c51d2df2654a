import type { Json, JsonObject } from '../../base/json.ts';
import { PREVIEW_BYTES } from '../../base/limits.ts';
import type { ArtifactTokens, Metrics, ThreadEvent } from '../../contract/threads.ts';
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
  /** Only an event that was taken over from a Go relay has this. */
  readonly legacy?: LegacyEvent;
}

/** What an event of a Go relay was there. In it, an artifact is no part of the state and makes no version. */
export interface LegacyEvent {
  /** By which it was known there, and is known here. */
  readonly id?: string;
  /** Its moment as it was written there, to the nanosecond. */
  readonly timestamp: string;
  /** What the version that it made says of itself; absent where it made none, whatever its type. */
  readonly stamp?: { readonly updated_at: string; readonly metrics: Metrics };
  /** The artifacts that came with it. */
  readonly artifacts?: readonly CountedArtifact[];
}

/** An artifact, as far as the totals of its thread go. */
export interface CountedArtifact {
  readonly ref: string;
  readonly size: number;
  readonly tokens: ArtifactTokens;
  readonly capability?: string;
  /** The relay made it of the thread itself, so it is no content that would be pasted. */
  readonly report?: boolean;
}

/** The form of the ids that a Go relay gave to events. Those of here are shorter: they count. */
export const LEGACY_EVENT_ID = /^[0-9a-f]{16,40}$/;

/** Whether an event changes the state: then it makes a version, which its payload names. */
export function makesVersion({ type, legacy }: StoredEvent): boolean {
  return legacy ? legacy.stamp !== undefined : VERSION_EVENTS.has(type);
}

export const VERSION_EVENTS: ReadonlySet<string> = new Set([
  'thread.created',
  'state.patch.applied',
  'artifact.created',
  'checkpoint.created',
]);

/** Only the relay itself writes events of these kinds. */
export const OWN_TYPE =
  /^(?:thread|state|artifact|capability|report|checkpoint|message)\.|^prompt\.rendered$/;

export function toWire(threadId: string, count: number, event: StoredEvent): ThreadEvent {
  const { type, payload, at, legacy } = event;
  const timestamp = legacy?.timestamp ?? isoTime(at);
  return { id: legacy?.id ?? String(count), thread_id: threadId, type, payload, timestamp };
}

/**
 * What an event takes up in the store: itself, and with an artifact its content and at most as much of it as a preview holds.
 * The end of an artifact gives that back.
 */
export function storedBytes(event: StoredEvent): number {
  const own = bytesOf(asJson(event));
  const { artifacts = [] } = event.legacy ?? {};
  if (event.legacy) return artifacts.reduce((sum, { size }) => sum + artifactBytes(size), own);
  if (event.type === 'artifact.created') return own + artifactBytes(event.payload.size);
  if (event.type === 'artifact.deleted') return own - artifactBytes(event.payload.size);
  return own;
}

export function artifactBytes(size: Json | undefined): number {
  if (!Number.isSafeInteger(size) || (size as number) < 0) return 0;
  return (size as number) + Math.min(size as number, PREVIEW_BYTES);
}
