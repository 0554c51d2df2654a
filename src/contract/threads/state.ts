import type { Json } from '../../base/json.ts';

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
  /** Open by default. */
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
  /** Pending by default. */
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
export interface Header
  extends Pick<State, '$schema' | 'thread_id' | 'version' | 'last_actions' | 'metrics'> {
  readonly top_facts: readonly Fact[];
  readonly top_constraints: readonly Constraint[];
  readonly open_questions: readonly Omit<Question, 'status'>[];
  readonly next_steps: readonly Omit<PlanStep, 'status'>[];
  readonly artifact_refs: readonly ArtifactLink[];
  readonly truncated?: true;
}
