import { tooLarge } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { STEP_OUTPUT_BYTES } from '../../base/limits.ts';
import type { Artifact } from '../../contract/threads.ts';
import type { Answered } from '../prompts/thread-tools.ts';
import type { Bundle } from '../prompts/types.ts';
import type { Agent, AgentKind, Step } from './definition.ts';

/** One attempt at a step, by an agent of some kind. */
export interface StepCall<A extends Agent = Agent> {
  /** The thread that is the run. */
  readonly run: string;
  /** `review`, or `review[3]` for one of many. */
  readonly step: string;
  /** The same for every attempt, also after a crash: whoever works may use it to do a thing once. */
  readonly key: string;
  /** From 1. */
  readonly attempt: number;
  readonly agent: A;
  /** The words, with every place filled. */
  readonly prompt: string;
  /** What the places of a command stand for, by the name of the variable. */
  readonly values: { readonly [name: string]: string };
  /** The arguments of a capability. */
  readonly args: JsonObject;
  /** Results that it is shown: their refs and previews. */
  readonly context: readonly Artifact[];
}

export interface StepResult extends Pick<Answered, 'billed' | 'cut' | 'pulls'> {
  readonly content: string | Uint8Array;
  /** Who said it; by default the agent's name. */
  readonly by?: string;
  readonly source_refs?: readonly string[];
  /** What a model was shown, and what the same with everything pasted would have cost. */
  readonly prompt?: Pick<Bundle, 'tokens' | 'pasted'>;
}

/** A step's agent failed after it had printed something. Carries that output, which the run keeps as an artifact. */
export class StepFailure extends Error {
  readonly output: string | Uint8Array;

  constructor(message: string, output: string | Uint8Array) {
    super(message);
    this.output = output;
  }
}

/** The result as the step wants it, or a failure with what was said instead. */
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

/** What an attempt said before it failed; empty where nothing is known of it. */
export function outputOf(error: unknown): string | Uint8Array {
  return error instanceof StepFailure ? error.output : '';
}

/**
 * Where a step is done. What it throws is the reason of a failure, with the output in a `StepFailure`; when the signal fires it
 * stops and throws.
 */
export type StepRunner<A extends Agent = Agent> = (
  call: StepCall<A>,
  o: { readonly signal: AbortSignal; said(text: string): void },
) => Promise<StepResult>;

export type StepRunners = { readonly [K in AgentKind]: StepRunner<Extract<Agent, { kind: K }>> };

export type StepStatus = 'pending' | 'running' | 'done' | 'failed' | 'skipped' | 'blocked' | 'interrupted';

/** What is reported to whoever watches a run. */
export interface Progress {
  readonly step: string;
  readonly status: StepStatus | 'retrying' | 'said';
  readonly attempt?: number;
  readonly duration_ms?: number;
  readonly ref?: string;
  readonly cached?: boolean;
  /** Already recorded before this run began. */
  readonly known?: boolean;
  readonly why?: string;
  readonly text?: string;
}
