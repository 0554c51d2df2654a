import type { Json, JsonObject } from '../../base/json.ts';
import type { PatchOp } from '../../formats/json-patch/apply.ts';

/** `v7` or 7. */
export type VersionRef = string | number;

export interface Page {
  readonly after?: string;
  readonly limit?: number;
}

export interface ThreadItem {
  readonly thread_id: string;
  readonly name: string;
  readonly created_at: string;
  /** When it ends with everything in it; absent where it stays until it is deleted. */
  readonly expires_at?: string;
  readonly hop_count: number;
}

export interface ThreadCreated extends Omit<ThreadItem, 'hop_count'> {
  readonly state_ref: string;
}

export interface ThreadInfo extends ThreadItem {
  readonly state_version: number;
  readonly artifact_count: number;
  readonly event_count: number;
}

export interface PatchInput {
  readonly ops: readonly PatchOp[];
  /** `v7` or 7: refuse where the state is at another version. */
  readonly if_match?: VersionRef;
  readonly idempotency_key?: string;
}

export interface RevertInput extends Omit<PatchInput, 'ops'> {
  /** The version to go back to. */
  readonly to: VersionRef;
}

export interface PatchAnswer {
  readonly version: number;
  readonly updated_at: string;
  readonly state_ref: string;
}

export interface DiffAnswer {
  readonly from: string;
  readonly to: string;
  readonly ops: readonly PatchOp[];
}

/** Where a piece of a state comes from. */
export interface BlameLine {
  /** `/facts/3`: an item of a list, or a field that is none. */
  readonly path: string;
  /** The version that brought it, or changed it last. */
  readonly version: number;
  readonly at: string;
  /** Null for what was taken over from elsewhere. */
  readonly by: string | null;
  readonly how: 'patch' | 'revert' | 'artifact' | 'compaction' | 'import';
  /** The id of the event that made the version. */
  readonly event: string;
  /** The artifact, or the version that was gone back to. */
  readonly from?: string;
}

export interface BlameAnswer {
  readonly thread_id: string;
  readonly version: number;
  readonly lines: readonly BlameLine[];
}

export interface ThreadEvent {
  /** Counts from 1 within the thread; an event that came from a Go relay keeps the id it had. */
  readonly id: string;
  readonly thread_id: string;
  readonly type: string;
  readonly payload: JsonObject;
  readonly timestamp: string;
}

export interface CompactAnswer extends Omit<PatchAnswer, 'updated_at'> {
  readonly dropped: { readonly actions: number; readonly artifacts: number };
}

export interface ReplayAnswer {
  readonly version: number;
  readonly events: number;
  /** Of the state as JSON. */
  readonly sha256: string;
  readonly matches: boolean;
}

export interface ImportAnswer extends Omit<ThreadCreated, 'created_at' | 'expires_at'> {
  readonly artifacts: number;
  readonly events: number;
  /** The first hundred refs of artifacts that came without their content, which was damaged where they were exported. */
  readonly damaged?: readonly string[];
}

export const ENVELOPE_SCHEMA = 'com.relay.a2a.envelope.v1';

/** A typed message from one agent to another, in a thread. */
export interface Envelope {
  readonly $schema: typeof ENVELOPE_SCHEMA;
  readonly msg_id: string;
  readonly thread_id: string;
  /** Set by the relay. */
  readonly from: string;
  readonly to_capability: string;
  readonly type: string;
  /** What the payload is, by its own schema's name. */
  readonly schema: string | null;
  readonly payload: Json;
  readonly note: string | null;
  readonly idempotency_key: string;
  readonly timestamp: string;
  /** Seconds for which it is worth reading. */
  readonly ttl: number;
}

export interface EnvelopeInput
  extends Pick<Envelope, 'to_capability' | 'payload'>,
    Partial<Pick<Envelope, 'type' | 'idempotency_key' | 'ttl'>> {
  readonly schema?: string;
  readonly note?: string;
}

export interface HoldInput {
  /** Known to the holder alone: the same token again renews the hold. */
  readonly token: string;
  /** Who it is, in words for others. */
  readonly holder: string;
  /** Seconds after which it lapses unless it is renewed. */
  readonly ttl: number;
  /** Only if it is this token's still; otherwise a thread that nobody holds is taken. */
  readonly renew?: boolean;
  /** Take it from this holder, though it has not lapsed. */
  readonly instead_of?: string;
}

export interface HoldAnswer {
  readonly granted: boolean;
  /** Who has it now; null where nobody does, which only a renewal can find. */
  readonly hold: { readonly holder: string; readonly since: string; readonly until: string } | null;
}
