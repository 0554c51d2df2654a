import type { JsonObject } from '../../base/json.ts';

export const RUN_STATUSES = ['running', 'done', 'failed', 'interrupted', 'partial'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export const INSTANCE_STATUSES = ['pending', 'running', 'done', 'failed', 'skipped', 'blocked'] as const;

/** A run of a pipeline in a list. */
export interface RunItem {
  /** The thread that it is. */
  readonly run: string;
  readonly pipeline: string;
  readonly status: RunStatus;
  readonly started_at: string;
  readonly finished_at: string | null;
}

export interface RunPage {
  readonly runs: readonly RunItem[];
  /** Pass as `after` to go on; a page may be short and have one all the same. */
  readonly next?: string;
}

/** A run with its steps, as the events of its thread tell it. */
export interface PipelineRun extends RunItem {
  readonly inputs: JsonObject;
  /** Who is at it now; null where nobody is, though it may say that it runs. */
  readonly held_by: string | null;
  /** The run whose results it began with, and the step from which on it does its own. */
  readonly of: { readonly run: string; readonly from: string } | null;
  /** In the order of the file. */
  readonly steps: readonly PipelineStep[];
  readonly instances: readonly StepInstance[];
}

export interface PipelineStep {
  readonly id: string;
  /** Null, and no needs, for a run of before they were noted. */
  readonly agent: string | null;
  readonly needs: readonly string[];
}

/** What a step did once: itself, or for one of a list. */
export interface StepInstance {
  /** `review`, or `review[3]`. */
  readonly step: string;
  readonly of: string;
  readonly status: (typeof INSTANCE_STATUSES)[number];
  readonly attempts: number;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly duration_ms: number | null;
  readonly cached: boolean;
  /** Why it failed, was skipped or could not run. */
  readonly why: string | null;
  /** The event of the thread that has its prompt; null where it has not begun, or began before prompts were noted. */
  readonly prompt_event: string | null;
  /** The artifact that is its result. */
  readonly ref: string | null;
  readonly model: string | null;
  readonly prompt_tokens: number | null;
  readonly pasted_tokens: number | null;
  readonly output_tokens: number | null;
  /** Where the step failed: the artifact with the output of its last attempt. */
  readonly output_ref?: string;
  /** `output_ref`: the artifact with the output of the attempt. */
  readonly retries: readonly { readonly at: string; readonly why: string; readonly output_ref?: string }[];
}
