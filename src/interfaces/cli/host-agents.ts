import type { JsonObject } from '../../base/json.ts';
import type { Pipelines } from '../../client/pipelines/pipelines.ts';
import type { Prompts } from '../../client/prompts/prompts.ts';
import type { Model, ModelChoice } from '../../client/prompts/types.ts';
import type { ThreadsApi } from '../../contract/threads.ts';

/** Where agents are put to work: prompts, programs and pipelines on the threads of a relay. */
export interface AgentWork extends AsyncDisposable {
  readonly threads: ThreadsApi;
  readonly prompts: Prompts;
  readonly pipelines: Pipelines;
  /** The model that flags and environment lead to; an error that says what to set where there is none. */
  model(choice: ModelChoice): Model;
  readonly programs: Programs;
}

export interface Programs {
  /** Coding agents that are known by name. */
  known(): readonly { readonly name: string; readonly about: string; readonly installed: boolean }[];
  /** Whether it converses when nothing is asked of it. */
  converses(cli: string): boolean;
  run(run: ProgramRun): Promise<{ readonly code: number; readonly signal: string | null }>;
}

export interface ProgramRun {
  readonly cli: string;
  readonly args: readonly string[];
  readonly promptBy?: 'stdin' | 'argument' | 'file';
  /** Null where it is not asked anything. */
  readonly prompt: string | null;
  /** It gets the terminal itself; otherwise its output comes here and goes on from here. */
  readonly terminal: boolean;
  readonly thread: string;
  onOutput?(chunk: Uint8Array): Promise<void> | void;
}

/** An agent elsewhere, spoken to by A2A. */
export interface RemoteAgent {
  readonly card: JsonObject;
  /** Gives it a task and waits for the end. */
  run(task: AgentTask): Promise<AgentOutcome>;
  /** Gives it a task and does not wait. */
  submit(task: AgentTask): Promise<AgentOutcome>;
  find(id: string): Promise<AgentOutcome>;
  list(o: { readonly contextId?: string }): Promise<AgentOutcome[]>;
  cancel(id: string): Promise<AgentOutcome>;
  /** A part of an outcome as bytes; what is behind a URL is fetched. */
  read(part: AgentPart): Promise<Uint8Array>;
}

export interface AgentTask {
  readonly text: string;
  readonly attached?: readonly string[];
  readonly contextId?: string;
  onState?(outcome: AgentOutcome): void;
}

export interface AgentOutcome {
  readonly task_id: string | null;
  readonly context_id: string;
  readonly state: string;
  readonly note: string | null;
  readonly parts: readonly AgentPart[];
}

export type AgentPart =
  | { readonly text: string }
  | { readonly url: string; readonly name: string; readonly media_type: string };
