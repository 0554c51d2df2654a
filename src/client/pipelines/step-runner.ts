import type { JsonObject } from '../../base/json.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import type { Answered } from '../prompts/answering.ts';
import type { Bundle } from '../prompts/types.ts';
import type { Agent, AgentKind } from './definition.ts';

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

/** Where a step is done. What it throws is the reason of a failure; when the signal fires it stops and throws. */
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
