import type { Incomplete } from '../../base/enums.ts';
import { tooLarge } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { STEP_OUTPUT_BYTES } from '../../base/limits.ts';
import type { Artifact } from '../../contract/threads.ts';
import type { Answered } from '../prompts/thread-tools.ts';
import type { Billed, Bundle } from '../prompts/types.ts';
import type { Agent, AgentKind, Step } from './definition.ts';

/** One attempt of an agent to do a step. */
export interface StepCall<A extends Agent = Agent> {
  /** Id of the run, which is the id of its thread. */
  readonly run: string;
  /** Instance id: `review`, or `review[3]` for an item of a list. */
  readonly step: string;
  /**
   * Idempotency key of the step. All attempts have the same key, also after a crash, so that the agent can
   * detect a repetition.
   */
  readonly key: string;
  /** Number of the attempt, counted from 1. */
  readonly attempt: number;
  readonly agent: A;
  /** The prompt with all placeholders filled. */
  readonly prompt: string;
  /** Environment variables that hold the values of the placeholders in a command. */
  readonly values: { readonly [name: string]: string };
  /** Arguments of a capability. */
  readonly args: JsonObject;
  /** Results of other steps that the prompt shows, as refs and previews. */
  readonly context: readonly Artifact[];
  /** Limits for the tool calls of a model while it answers. */
  readonly pulls: Step['pulls'];
  /** Environment variables of the step. They may contain secrets. */
  readonly env: { readonly [name: string]: string };
  /**
   * Returns whether a budget is used up if the call has used the tokens in `billed`. Then the model must
   * answer without more tool calls.
   */
  enough(model: string, billed: Billed | undefined): boolean;
}

export interface StepResult extends Pick<Answered, 'billed' | 'cut' | 'pulls'> {
  readonly content: string | Uint8Array;
  /** Author of the result; the name of the agent by default. */
  readonly by?: string;
  readonly source_refs?: readonly string[];
  /** Descriptions of context that the agent saw only in part, such as `3 of 8 items of the state`. */
  readonly partial?: readonly string[];
  readonly incomplete?: Incomplete;
  /** Token counts of the prompt: what the model got, and what the prompt would have with everything pasted. */
  readonly prompt?: Pick<Bundle, 'tokens' | 'pasted'>;
}

/**
 * Thrown if an attempt failed. It contains the output until then, which may be empty. The run stores the
 * output as an artifact.
 */
export class StepFailure extends Error {
  readonly output: string | Uint8Array;
  /** Exit code of the command that failed. */
  readonly code: number | undefined;

  constructor(message: string, output: string | Uint8Array, code?: number) {
    super(message);
    this.output = output;
    this.code = code;
  }
}

/** Thrown if another attempt makes no sense: a person rejected the step, or a budget is used up. */
export class FinalFailure extends StepFailure {}

/**
 * Checks the size of a result, and its syntax if the step requires JSON. Returns the result, with JSON taken
 * out of its code fence. Throws a `StepFailure` with the output if a check fails.
 */
export function checkOutput(step: Step, result: StepResult): StepResult {
  if (result.content.length > STEP_OUTPUT_BYTES) {
    const { message } = tooLarge('the output of a step', STEP_OUTPUT_BYTES);
    throw new StepFailure(message, result.content.slice(0, STEP_OUTPUT_BYTES));
  }
  if (step.output.type !== 'json' || typeof result.content !== 'string') return result;
  const bare = /^\s*(?:```|~~~)\w*\n([\s\S]*?)\n?(?:```|~~~)\s*$/.exec(result.content)?.[1] ?? result.content;
  try {
    JSON.parse(bare);
  } catch (error) {
    throw new StepFailure(`its output is not JSON: ${(error as Error).message}`, result.content);
  }
  return { ...result, content: bare.trim() };
}

/** Returns the output of a failed attempt. Empty if the error contains no output. */
export function outputOf(error: unknown): string | Uint8Array {
  return error instanceof StepFailure ? error.output : '';
}

/**
 * Runs one attempt of a step. Rejects if the attempt fails or the signal fires. If the agent has printed
 * output before, the error is a `StepFailure` with this output.
 */
export type StepRunner<A extends Agent = Agent> = (
  call: StepCall<A>,
  o: { readonly signal: AbortSignal; onOutput(text: string): void },
) => Promise<StepResult>;

/** Kinds of agents that need a runner. Questions to people and nested pipelines need none. */
export type RunnerKind = Exclude<AgentKind, 'person' | 'pipeline'>;
export type StepRunners = { readonly [K in RunnerKind]: StepRunner<Extract<Agent, { kind: K }>> };

export type StepStatus = 'pending' | 'running' | 'done' | 'failed' | 'skipped' | 'blocked' | 'interrupted';

/** Progress of a run, for people who watch it. */
export interface Progress {
  readonly step: string;
  readonly status: StepStatus | 'retrying' | 'said' | 'waiting';
  readonly attempt?: number;
  readonly duration_ms?: number;
  readonly ref?: string;
  readonly cached?: boolean;
  /** True if the result is not new: it was recorded before this execution of the run began. */
  readonly known?: boolean;
  readonly why?: string;
  readonly text?: string;
}
