import type { Json, JsonObject } from '../../base/json.ts';
import type { PatchOp } from '../../base/json-patch/apply.ts';
import { CONTENT_KINDS } from '../../base/preview/content-kinds.ts';
import type { BlobBody } from '../../kernel/blobs.ts';

/** Field names are those on the wire, so that local and remote are one type. Times are ISO 8601, UTC. */

export const STATE_SCHEMA = 'com.relay.state.v1';

export interface Fact {
  readonly id: string;
  readonly key: string;
  readonly value: Json;
  readonly at?: string;
  readonly by?: string;
}

export interface Constraint {
  readonly id: string;
  readonly description: string;
  readonly severity?: string;
  readonly by?: string;
}

export interface Question {
  readonly id: string;
  readonly question: string;
  /** Open unless told otherwise. */
  readonly status?: string;
}

export interface Decision {
  readonly id: string;
  readonly description: string;
  readonly reason_codes?: readonly string[];
  readonly evidence_refs?: readonly string[];
  readonly confidence?: number;
  readonly at?: string;
  readonly by?: string;
}

export interface PlanStep {
  readonly id: string;
  readonly step: string;
  /** Pending unless told otherwise. */
  readonly status?: string;
}

export interface ArtifactLink {
  readonly ref: string;
  readonly type?: string;
  readonly name?: string;
}

export interface Action {
  readonly at?: string;
  readonly description: string;
  readonly result_ref?: string;
}

export interface Metrics {
  readonly cache_hits: number;
  readonly cache_misses: number;
  /** What pasting every artifact once would have cost. */
  readonly tokens_estimate: number;
  /** That, less the previews made and the contents pulled up to this version. */
  readonly tokens_avoided: number;
  readonly hop_count: number;
}

/** A thread's canonical memory, changed only by JSON Patch. */
export interface State {
  readonly $schema: typeof STATE_SCHEMA;
  readonly version: number;
  readonly thread_id: string;
  readonly updated_at: string;
  readonly facts: readonly Fact[];
  readonly constraints: readonly Constraint[];
  readonly open_questions: readonly Question[];
  readonly decisions: readonly Decision[];
  readonly plan: readonly PlanStep[];
  readonly artifacts: readonly ArtifactLink[];
  readonly last_actions: readonly Action[];
  readonly session_summary?: string;
  readonly metrics: Metrics;
}

/** The bounded view of a state that goes into a prompt. Same state, same bytes. */
export interface Header {
  readonly $schema: typeof STATE_SCHEMA;
  readonly thread_id: string;
  readonly version: number;
  readonly top_facts: readonly Fact[];
  readonly top_constraints: readonly Constraint[];
  readonly open_questions: readonly Omit<Question, 'status'>[];
  readonly next_steps: readonly Omit<PlanStep, 'status'>[];
  readonly artifact_refs: readonly ArtifactLink[];
  readonly last_actions: readonly Action[];
  readonly metrics: Metrics;
  readonly truncated?: true;
}

export interface ThreadCreated {
  readonly thread_id: string;
  readonly name: string;
  readonly state_ref: string;
  readonly created_at: string;
}

export interface ThreadItem {
  readonly thread_id: string;
  readonly name: string;
  readonly created_at: string;
  readonly hop_count: number;
}

export interface ThreadInfo extends ThreadItem {
  readonly state_version: number;
  readonly artifact_count: number;
  readonly event_count: number;
}

export interface PatchInput {
  readonly ops: readonly PatchOp[];
  /** `v7` or 7: refuse where the state is at another version. */
  readonly if_match?: string | number;
  readonly idempotency_key?: string;
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

export interface ThreadEvent {
  /** Counts from 1 within the thread. */
  readonly id: string;
  readonly thread_id: string;
  readonly type: string;
  readonly payload: JsonObject;
  readonly timestamp: string;
}

export const ARTIFACT_TYPES = CONTENT_KINDS;
export type ArtifactType = (typeof ARTIFACT_TYPES)[number];

export interface Preview {
  /** Data, not instructions: what could pass for one has been neutralised. */
  readonly text: string;
  readonly line_count: number;
  readonly truncated: boolean;
  /** Bytes of the content. */
  readonly size: number;
}

export interface Provenance {
  readonly created_by: string;
  readonly created_at: string;
  readonly source_refs: readonly string[];
  readonly capability: string | null;
}

export interface ArtifactTokens {
  readonly content: number;
  readonly preview: number;
  readonly tokenizer: string;
  readonly estimated: boolean;
}

export interface Artifact {
  readonly ref: string;
  readonly thread_id: string;
  readonly type: ArtifactType;
  readonly mime: string;
  readonly name: string;
  readonly size: number;
  /** SHA-256, lowercase hex. */
  readonly hash: string;
  readonly preview: Preview;
  readonly provenance: Provenance;
  readonly tokens: ArtifactTokens;
  readonly created_at: string;
}

export interface ArtifactFields {
  readonly name?: string;
  /** Told from name and media type where it is missing. */
  readonly type?: ArtifactType;
  readonly mime?: string;
  readonly source_refs?: readonly string[];
}

export interface ArtifactInput extends ArtifactFields {
  readonly body: BlobBody;
  readonly size?: number;
  readonly idempotency_key?: string;
  /** Fields that are known only once the body has been read; they count instead of those above. */
  readonly late?: () => ArtifactFields;
}

export interface ArtifactCreated extends Artifact {
  /** The version that refers to it. */
  readonly state_ref: string;
}

export interface ArtifactContent {
  readonly artifact: Artifact;
  readonly body: BlobBody;
  readonly range?: { readonly start: number; readonly end: number };
}

export interface SearchHit {
  readonly ref: string;
  readonly thread_id: string;
  readonly name: string;
  readonly type: string;
  readonly score: number;
  /** The best passage, sanitised, with `**` around what matched. */
  readonly snippet: string;
}
