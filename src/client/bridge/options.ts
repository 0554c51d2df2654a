import type { TaskInfo, TaskResult, TaskStatus } from '../../contract/tasks.ts';
import type { Runner } from './runner.ts';

export interface AgentBridgeOptions {
  /** Channel for tasks; `agent-tasks` by default. */
  readonly taskChannel?: string;
  /** Channel for results; `agent-done` by default. */
  readonly doneChannel?: string;
  /** Name of the agent that `start` runs tasks for. Senders address tasks to this name. */
  readonly name?: string;
  /** Runner in which `start` runs the tasks. `start` rejects without a runner. */
  readonly runner?: Runner;
  /** Maximum number of tasks that run at the same time; 1 by default. */
  readonly concurrency?: number;
  /**
   * Names of the senders whose tasks the bridge accepts. The relay reports the name of each sender. By
   * default the bridge accepts tasks from everyone in the tenant.
   */
  readonly from?: readonly string[];
  /** Time limit of a task in ms; 600 000 by default. */
  readonly timeout?: number;
  /**
   * True if the agent always gets one line with the pointer, false if it always gets the text of the task.
   * By default the runner decides.
   */
  readonly pointer?: boolean;
  /**
   * True if the agent gets the text of the task unchanged, without a request for an outcome block. All its
   * output is then the result.
   */
  readonly plain?: boolean;
  /** Command with which the agent calls the relay; `relay` by default. The prompt contains this command. */
  readonly command?: string;
  /**
   * True if the bridge encrypts all results, so that only holders of the done channel's key can read them.
   * By default the bridge encrypts only the results of encrypted tasks, and only if it has the done
   * channel's key.
   */
  readonly encrypted?: boolean;
  /**
   * Converts the URL of an encrypted pointer to a URL that this client can pull, for example by adding a
   * stored key. By default the URL stays unchanged.
   */
  readonly resolve?: (url: string) => Promise<string>;
  /** Called for each event, for example to write a log. */
  readonly onEvent?: (event: BridgeEvent) => void;
}

export type BridgeEvent =
  | { readonly type: 'ready'; readonly name: string; readonly channels: readonly string[] }
  | { readonly type: 'task'; readonly id: string; readonly from: string; readonly attempt: number }
  /**
   * The task is stuck. `why` gives the reason, for example a question that a person must answer. It is null
   * when the task continues.
   */
  | { readonly type: 'stuck'; readonly id: string; readonly why: string | null }
  /** The bridge has delivered a result. `summary` is empty if the result is encrypted. */
  | { readonly type: 'result'; readonly id: string; readonly status: TaskStatus; readonly summary: string }
  /**
   * This bridge did not run the task, or did not deliver its result. `why` gives the reason: for example,
   * another bridge has the task, or the task already has a result.
   */
  | { readonly type: 'dropped'; readonly id: string; readonly why: string }
  /** A problem that does not stop the bridge, for example an unreachable relay or a dead letter. */
  | { readonly type: 'trouble'; readonly what: string };

export interface SendOptions {
  /** Name of the only agent that may take the task. By default any agent on the task channel may take it. */
  readonly to?: string;
  /**
   * Description of the task in one line, for lists. It is never encrypted. Default: the first line of the
   * task, or none if the task is encrypted.
   */
  readonly summary?: string;
  readonly encrypted?: boolean;
  /** Idempotency key. Sending the same task again with the same idempotency key creates no second task. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

export interface WaitOptions {
  /** Maximum time in ms to wait for the result; 600 000 by default. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

export type SentTask = Pick<TaskInfo, 'id' | 'url'>;

/** Result of a task. `url` is the pointer to the result. */
export interface TaskAnswer extends Pick<TaskResult, 'status' | 'summary' | 'url'> {
  /** Id of the task. */
  readonly id: string;
  /**
   * Text of the result: the outcome block, or the agent's whole output if it has no outcome block. For binary
   * output, a note with the command that downloads it.
   */
  readonly text: string;
}
