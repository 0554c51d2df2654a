import { tooLarge } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { STEP_OUTPUT_BYTES } from '../../base/limits.ts';
import type { Artifact } from '../../contract/threads.ts';
import type { Answered } from '../prompts/thread-tools.ts';
import type { Bundle } from '../prompts/types.ts';
import type { Agent, AgentKind, Step } from './definition.ts';

/** One attempt of a step by an agent. */
export interface StepCall<A extends Agent = Agent> {
  /** Thread of the run. */
  readonly run: string;
  /** `review`, or `review[3]` for one of many. */
  readonly step: string;
  /** Equal in every attempt, also after a crash, so that the agent can be idempotent. */
  readonly key: string;
  /** Starts at 1. */
  readonly attempt: number;
  readonly agent: A;
  /** The prompt with all placeholders filled. */
  readonly prompt: string;
  /** Values of a command's placeholders, by variable name. */
  readonly values: { readonly [name: string]: string };
  /** Arguments of a capability. */
  readonly args: JsonObject;
  /** Results to include: their refs and previews. */
  readonly context: readonly Artifact[];
  /** How much a model may pull while it answers. */
  readonly pulls: Step['pulls'];
}

export interface StepResult extends Pick<Answered, 'billed' | 'cut' | 'pulls'> {
  readonly content: string | Uint8Array;
  /** Author; the agent's name by default. */
  readonly by?: string;
  readonly source_refs?: readonly string[];
  /** Tokens that a model was shown, and the cost of pasting everything instead. */
  readonly prompt?: Pick<Bundle, 'tokens' | 'pasted'>;
}

/**
 * Thrown if a step's agent failed after it had printed something. Contains that output, which the run stores as an
 * artifact.
 */
export class StepFailure extends Error {
  readonly output: string | Uint8Array;

  constructor(message: string, output: string | Uint8Array) {
    super(message);
    this.output = output;
  }
}

/** Returns the result in the format that the step requires, or throws a failure with the output. */
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

/** Returns the output of a failed attempt; empty if unknown. */
export function outputOf(error: unknown): string | Uint8Array {
  return error instanceof StepFailure ? error.output : '';
}

/**
 * Runs a step. It throws the reason of a failure, with output in a `StepFailure`. When the signal fires it stops and
 * throws.
 */
export type StepRunner<A extends Agent = Agent> = (
  call: StepCall<A>,
  o: { readonly signal: AbortSignal; onOutput(text: string): void },
) => Promise<StepResult>;

export type StepRunners = { readonly [K in AgentKind]: StepRunner<Extract<Agent, { kind: K }>> };

export type StepStatus = 'pending' | 'running' | 'done' | 'failed' | 'skipped' | 'blocked' | 'interrupted';

/** Progress of a run, for people who watch. */
export interface Progress {
  readonly step: string;
  readonly status: StepStatus | 'retrying' | 'said';
  readonly attempt?: number;
  readonly duration_ms?: number;
  readonly ref?: string;
  readonly cached?: boolean;
  /** Recorded before this run began. */
  readonly known?: boolean;
  readonly why?: string;
  readonly text?: string;
}
