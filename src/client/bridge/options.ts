import type { TaskInfo, TaskResult, TaskStatus } from '../../contract/tasks.ts';
import type { Runner } from './runner.ts';

export interface AgentBridgeOptions {
  /** Where tasks are pushed to; `agent-tasks` by default. */
  readonly taskChannel?: string;
  /** Where results are announced; `agent-done` by default. */
  readonly doneChannel?: string;
  /** Of the agent at this end, for `start`; others address it by this name. */
  readonly name?: string;
  /** Where tasks run, for `start`. */
  readonly runner?: Runner;
  /** Tasks at once; 1 by default. */
  readonly concurrency?: number;
  /** Obey only these senders, as the relay names them; everyone of the same tenant by default. */
  readonly from?: readonly string[];
  /** For one task, in ms; 600 000 by default. */
  readonly timeout?: number;
  /** Always give the agent one line with the pointer, or never; by default, as the runner wants it. */
  readonly pointer?: boolean;
  /** The task goes in as it was sent, and all of the output is the result: no outcome block is asked for or looked for. */
  readonly plain?: boolean;
  /** How the agent calls the relay's command; `relay` by default. */
  readonly command?: string;
  /**
   * Encrypts results; only who shares the done channel's key can read them. The result of an encrypted task is encrypted
   * wherever this side has that key.
   */
  readonly encrypted?: boolean;
  /** The same pointer as this client takes it; as it is by default. */
  readonly resolve?: (url: string) => Promise<string>;
  /** Told what happens, for a log. */
  readonly onEvent?: (event: BridgeEvent) => void;
}

export type BridgeEvent =
  | { readonly type: 'ready'; readonly name: string; readonly channels: readonly string[] }
  | { readonly type: 'task'; readonly id: string; readonly from: string; readonly attempt: number }
  /** Why the task does not go on, such as a question that a person has to answer; null once it goes on. */
  | { readonly type: 'stuck'; readonly id: string; readonly why: string | null }
  /** The summary is empty where the result was encrypted. */
  | { readonly type: 'result'; readonly id: string; readonly status: TaskStatus; readonly summary: string }
  /** Not run, or not told: somebody else has it, or it has its result already. */
  | { readonly type: 'dropped'; readonly id: string; readonly why: string }
  /** Something did not work and is tried again. */
  | { readonly type: 'trouble'; readonly what: string };

export interface SendOptions {
  /** For this agent alone. */
  readonly to?: string;
  /** One line for lists, never encrypted; the beginning of the task by default, and nothing where the task is encrypted. */
  readonly summary?: string;
  readonly encrypted?: boolean;
  /** The same key with the same task makes one task, however often it is sent. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

export interface WaitOptions {
  /** In ms; 600 000 by default. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

export type SentTask = Pick<TaskInfo, 'id' | 'url'>;

/** What came back; `url` is the result's own pointer. */
export interface TaskAnswer extends Pick<TaskResult, 'status' | 'summary' | 'url'> {
  /** Of the task. */
  readonly id: string;
  /** The outcome block, or all that the agent said where there was none. */
  readonly text: string;
}
