import { RelayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';

/**
 * Runs tasks in a process, a terminal or another agent. A bridge gives it one job per slot at a time and turns the
 * output into a result.
 */
export interface Runner {
  /** Kind for people: `exec`, `tmux`, `acp`, `a2a`. */
  readonly kind: string;
  /** Command, session or address, for people. */
  readonly target: string;
  /** Maximum of concurrent jobs; unlimited by default. */
  readonly slots?: number;
  /**
   * Returns whether this text may be passed as a whole; by default always. Otherwise the prompt is one line with the
   * pointer.
   */
  inline?(text: string): boolean;
  /** Rejects if the agent cannot be reached. Called once, before the first job. */
  open?(): Promise<void>;
  /**
   * Runs the job. A rejection, or `failed` in the return value, becomes a failed result; the bridge never retries. It
   * must end soon after the job's signal fires.
   */
  run(job: Job): Promise<Ran>;
  close(): Promise<void>;
}

export interface Job {
  /** Id of the task. */
  readonly id: string;
  /** Pointer to the task, as the agent can pull it. */
  readonly url: string;
  /** Sender, as the relay knows it. */
  readonly from: string;
  /** The task as it was sent. */
  readonly text: string;
  /** Message of a task that came over A2A, with the protocol's ids. */
  readonly message?: JobMessage;
  /** Text for the agent: the task with the request for an outcome block, or one line with the pointer. */
  readonly prompt: string;
  /** True if the prompt is one line with the pointer. */
  readonly pointer: boolean;
  /** Fires on timeout, if the task is canceled, or if the bridge stops. */
  readonly signal: AbortSignal;
  /** Fires when the task got its result another way: the agent called `relay task done`. */
  readonly settled: AbortSignal;
  /** Reports why the task is stuck; null when it continues. May be called repeatedly. */
  stuck?(reason: StuckReason | null): void;
}

export interface StuckReason {
  /** A sentence without its full stop; everyone may read it. */
  readonly why: string;
  /** The agent's question to a person. Not passed on for an encrypted task, because it may quote the task. */
  readonly asked?: string;
}

export interface JobMessage {
  readonly id: string;
  /** Id of the A2A task, which stays the same in every turn. */
  readonly taskId: string;
  readonly contextId: string;
  /** The message in the protocol's JSON; bytes and large parts are URLs. */
  readonly json: JsonObject;
}

export interface Ran {
  /** The agent's whole output. It may be an answer in A2A's JSON (see `readAnswer`). */
  readonly output: string;
  /** Why it failed, as text. */
  readonly failed?: string;
}

export interface TmuxOptions {
  /** `work`, or `work:0` including the window. */
  readonly session: string;
  readonly window?: string;
  /** Which agent runs there: `claude`, `codex`, `gemini`… Detected by default. */
  readonly profile?: string;
  /** Additional profiles, which replace built-in ones of the same name. */
  readonly profiles?: { readonly [name: string]: unknown };
  /** Arguments of tmux itself, such as `-L` and a socket name. */
  readonly tmuxArgs?: readonly string[];
  /** Time in ms without a change of the screen after which a task is reported as stuck; 60 000 by default. */
  readonly stuckAfter?: number;
  /** The agent's environment; this process's by default. CLAUDE_CONFIG_DIR says where Claude Code writes its state. */
  readonly env?: { readonly [name: string]: string | undefined };
}

export interface ExecOptions {
  /** A shell command. `{file}` and `{url}` are replaced by a file with the task, and by its pointer. */
  readonly command: string;
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string | undefined };
}

/** The command starts an agent that speaks ACP on standard input and output. */
export interface AcpOptions extends ExecOptions {
  /** What the agent may do without asking a person: everything, only read, or nothing. `reads` by default. */
  readonly allow?: 'all' | 'reads' | 'none';
}

/** Runners that need more than a browser has. */
export interface NodeRunners {
  tmux(o: TmuxOptions): Promise<Runner>;
  exec(o: ExecOptions): Promise<Runner>;
  acp(o: AcpOptions): Promise<Runner>;
}

export type RunnerOptions<K extends keyof NodeRunners> = Parameters<NodeRunners[K]>[0];

/** The entry point of the published package. It is a variable so that bundlers for browsers do not include it. */
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
