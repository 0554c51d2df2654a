import type { TaskInfo, TaskResult, TaskStatus } from '../../contract/tasks.ts';
import type { Runner } from './runner.ts';

export interface AgentBridgeOptions {
  /** Channel for tasks; `agent-tasks` by default. */
  readonly taskChannel?: string;
  /** Channel for results; `agent-done` by default. */
  readonly doneChannel?: string;
  /** Name of the agent, for `start`. Others address it by this name. */
  readonly name?: string;
  /** Where tasks run, for `start`. */
  readonly runner?: Runner;
  /** Maximum of concurrent tasks; 1 by default. */
  readonly concurrency?: number;
  /** Accept tasks only from these senders, as the relay names them; by default from everyone of the same tenant. */
  readonly from?: readonly string[];
  /** Time limit of a task in ms; 600 000 by default. */
  readonly timeout?: number;
  /** Always give the agent one line with the pointer, or never. By default the runner decides. */
  readonly pointer?: boolean;
  /** Pass the task unchanged and use all output as the result, without an outcome block. */
  readonly plain?: boolean;
  /** How the agent calls the relay's command; `relay` by default. */
  readonly command?: string;
  /**
   * Encrypts results, which only holders of the done channel's key can read. The result of an encrypted task is
   * encrypted if this side has that key.
   */
  readonly encrypted?: boolean;
  /** Maps a pointer's URL to one that this client can pull; unchanged by default. */
  readonly resolve?: (url: string) => Promise<string>;
  /** Called for each event, for a log. */
  readonly onEvent?: (event: BridgeEvent) => void;
}

export type BridgeEvent =
  | { readonly type: 'ready'; readonly name: string; readonly channels: readonly string[] }
  | { readonly type: 'task'; readonly id: string; readonly from: string; readonly attempt: number }
  /** Why the task is stuck, such as a question that a person must answer; null when it continues. */
  | { readonly type: 'stuck'; readonly id: string; readonly why: string | null }
  /** The summary is empty if the result was encrypted. */
  | { readonly type: 'result'; readonly id: string; readonly status: TaskStatus; readonly summary: string }
  /** Not run or not reported: another bridge has the task, or it has a result already. */
  | { readonly type: 'dropped'; readonly id: string; readonly why: string }
  /** Something failed and is retried. */
  | { readonly type: 'trouble'; readonly what: string };

export interface SendOptions {
  /** Send to this agent alone. */
  readonly to?: string;
  /** One line for lists, never encrypted. By default the beginning of the task; nothing if the task is encrypted. */
  readonly summary?: string;
  readonly encrypted?: boolean;
  /** Sending the same task with the same key again creates no second task. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

export interface WaitOptions {
  /** Time limit in ms; 600 000 by default. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

export type SentTask = Pick<TaskInfo, 'id' | 'url'>;

/** A result; `url` is its own pointer. */
export interface TaskAnswer extends Pick<TaskResult, 'status' | 'summary' | 'url'> {
  /** Id of the task. */
  readonly id: string;
  /** The outcome block, or the agent's whole output if there was none. */
  readonly text: string;
}
