import type { Pipelines } from '../../client/pipelines/pipelines.ts';
import type { Prompts } from '../../client/prompts/prompts.ts';
import type { Model, ModelChoice, PromptWay } from '../../client/prompts/types.ts';
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
  readonly promptBy?: PromptWay;
  /** Null where it is not asked anything. */
  readonly prompt: string | null;
  /** It gets the terminal itself; otherwise its output comes here and goes on from here. */
  readonly terminal: boolean;
  /** What it is about; without one, RELAY_THREAD is as it was. */
  readonly thread?: string;
  onOutput?(chunk: Uint8Array): Promise<void> | void;
  /** Its standard error, which by default goes where that of this program goes. */
  onComplaint?(chunk: Uint8Array): void;
}
