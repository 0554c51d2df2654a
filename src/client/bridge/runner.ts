import { RelayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';

/**
 * Runs the tasks of a bridge in a process, in a terminal or in another agent. The bridge runs at most `slots`
 * jobs at the same time. It turns the output of each job into a result.
 */
export interface Runner {
  /** Kind of the runner, shown to people: `exec`, `tmux`, `acp`, `a2a`. */
  readonly kind: string;
  /** Command, session or address of the agent, shown to people. */
  readonly target: string;
  /** Maximum number of jobs that run at the same time; unlimited by default. */
  readonly slots?: number;
  /**
   * Returns whether the runner can pass this text to the agent as a whole. If not, the agent gets one line
   * with the pointer instead. Without this method, every text is passed on.
   */
  inline?(text: string): boolean;
  /** Prepares the runner, once before the first job. Rejects if the agent cannot be reached. */
  open?(): Promise<void>;
  /**
   * Runs a job. If it rejects or returns `failed`, the result of the task is a failure, and the job is not
   * repeated. The runner must end the job soon after the job's signal fires.
   */
  run(job: Job): Promise<Ran>;
  close(): Promise<void>;
}

export interface Job {
  /** Id of the task. */
  readonly id: string;
  /** URL of the pointer to the task. The agent can pull the task from it. */
  readonly url: string;
  /** Name of the sender, as the relay reports it. */
  readonly from: string;
  /** Text of the task, as the sender wrote it. */
  readonly text: string;
  /** The A2A message with its ids. Undefined if the task did not come over A2A. */
  readonly message?: JobMessage;
  /**
   * Text that the agent gets: the task, usually with a request for an outcome block, or one line with the
   * pointer.
   */
  readonly prompt: string;
  /** True if the prompt is one line with the pointer. */
  readonly pointer: boolean;
  /**
   * Fires when the task times out or is canceled, when the bridge loses its lease on the task, or when the
   * bridge stops.
   */
  readonly signal: AbortSignal;
  /**
   * Fires when the task gets its result in another way, for example because the agent ran `relay task done`.
   */
  readonly settled: AbortSignal;
  /** Reports why the task is stuck, or null when the task continues. The runner may call it several times. */
  stuck?(reason: StuckReason | null): void;
}

export interface StuckReason {
  /**
   * Reason as a sentence without its full stop. The relay gets it even for an encrypted task, so it must not
   * quote the task.
   */
  readonly why: string;
  /**
   * Question of the agent to a person. It may quote the task, so the bridge does not report it if the task is
   * encrypted.
   */
  readonly asked?: string;
}

export interface JobMessage {
  readonly id: string;
  /** Id of the A2A task. It stays the same in every turn of the conversation. */
  readonly taskId: string;
  readonly contextId: string;
  /** The message in the JSON of the A2A protocol. Bytes and large parts are replaced by URLs. */
  readonly json: JsonObject;
}

export interface Ran {
  /** Whole output of the agent. It may be an A2A answer in JSON (see `readAnswer`). */
  readonly output: string;
  /** The whole output as bytes, if it is not text. The bytes are the result, unchanged. */
  readonly binary?: Uint8Array;
  /** Reason why the job failed. Undefined if it did not fail. */
  readonly failed?: string;
}

export interface TmuxOptions {
  /** Name of the tmux session, such as `work`. It may include the window, such as `work:0`. */
  readonly session: string;
  readonly window?: string;
  /**
   * Profile of the agent in the session, such as `claude`, `codex` or `gemini`. By default the profile is
   * detected.
   */
  readonly profile?: string;
  /**
   * Additional profiles by name. A profile with the name of a built-in profile overrides the fields of that profile.
   */
  readonly profiles?: { readonly [name: string]: unknown };
  /** Arguments for tmux itself, such as `-L` with a socket name. */
  readonly tmuxArgs?: readonly string[];
  /**
   * If the screen does not change for this many ms, the task is reported as stuck. The default comes from the
   * profile, and is usually 60 000.
   */
  readonly stuckAfter?: number;
  /**
   * Environment variables of the agent. By default the agent gets the variables of this process.
   * CLAUDE_CONFIG_DIR says where Claude Code writes its state.
   */
  readonly env?: { readonly [name: string]: string | undefined };
}

export interface ExecOptions {
  /**
   * Shell command to run. `{file}` is replaced by the path of a file that contains the prompt, `{url}` by
   * the pointer to the task.
   */
  readonly command: string;
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string | undefined };
}

/**
 * Options of an agent that speaks ACP. The command starts the agent, which speaks ACP on standard input and
 * output.
 */
export interface AcpOptions extends ExecOptions {
  /**
   * Which permission requests of the agent are granted: all, only requests to read, or none. All others are
   * rejected. `reads` by default.
   */
  readonly allow?: 'all' | 'reads' | 'none';
}

/** Runners that work in Node but not in a browser. */
export interface NodeRunners {
  tmux(o: TmuxOptions): Promise<Runner>;
  exec(o: ExecOptions): Promise<Runner>;
  acp(o: AcpOptions): Promise<Runner>;
}

export type RunnerOptions<K extends keyof NodeRunners> = Parameters<NodeRunners[K]>[0];

/**
 * Name of the module with the runners. It is a variable, so that bundlers for browsers do not include the
 * module.
 */
const OWN_RUNNERS: string = 'contextrelay/runners';

export async function runnerOf<K extends keyof NodeRunners>(kind: K, o: RunnerOptions<K>): Promise<Runner> {
  let runners: NodeRunners;
  try {
    runners = ((await import(OWN_RUNNERS)) as { nodeRunners: NodeRunners }).nodeRunners;
  } catch (error) {
    const hint = 'Run it in Node, or pass your own `runner` to AgentBridge.';
    throw new RelayError('failed', { what: `A bridge to ${kind} needs Node.`, hint }, error);
  }
  return (runners[kind] as (o: RunnerOptions<K>) => Promise<Runner>)(o);
}
