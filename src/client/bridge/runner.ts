import { RelayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';

/**
 * Where a task runs: a process, a terminal, another agent. A bridge gives it one job at a time for each slot, and turns
 * whatever comes of it into a result.
 */
export interface Runner {
  /** `exec`, `tmux`, `acp`, `a2a`: shown to people. */
  readonly kind: string;
  /** The command, session or address: shown to people. */
  readonly target: string;
  /** How many jobs it can do at once; by default as many as wanted. */
  readonly slots?: number;
  /** Whether this text may go in whole; by default it always may. Where not, the prompt is one line with the pointer. */
  inline?(text: string): boolean;
  /** Rejects where the agent cannot be reached at all. Called once, before the first job. */
  open?(): Promise<void>;
  /**
   * Does the job. Rejecting, or `failed` in what comes back, makes a failed result of it; neither is ever tried again by
   * the bridge. Must end soon after the job's signal fires.
   */
  run(job: Job): Promise<Ran>;
  close(): Promise<void>;
}

export interface Job {
  /** The task's id. */
  readonly id: string;
  /** The pointer to the task, as the agent can pull it. */
  readonly url: string;
  /** Whom it is from, as the relay knows it. */
  readonly from: string;
  /** The task as it was sent. */
  readonly text: string;
  /** Of a task that came over A2A: the message, with what the protocol calls it. */
  readonly message?: JobMessage;
  /** What to give to the agent: the task with the request for an outcome block, or one line with the pointer. */
  readonly prompt: string;
  /** The prompt is one line with the pointer. */
  readonly pointer: boolean;
  /** Fires when time is up, the task was called off or the bridge stops. */
  readonly signal: AbortSignal;
  /** Fires when the task has got its result from elsewhere: the agent has called `relay task done`. */
  readonly settled: AbortSignal;
  /** Reports why the task does not go on; null once it does. May be called as often as wanted. */
  stuck?(reason: StuckReason | null): void;
}

export interface StuckReason {
  /** A sentence without its full stop; everybody may read it. */
  readonly why: string;
  /** What the agent asks a person. Not passed on for an encrypted task, because it may quote the task. */
  readonly asked?: string;
}

export interface JobMessage {
  readonly id: string;
  /** Of the A2A task, which stays the same from turn to turn. */
  readonly taskId: string;
  readonly contextId: string;
  /** In the protocol's JSON; bytes and large parts are behind URLs. */
  readonly json: JsonObject;
}

export interface Ran {
  /** Everything the agent said. It may be an answer in A2A's own JSON, as `readAnswer` has it. */
  readonly output: string;
  /** Why it counts as failed, in words. */
  readonly failed?: string;
}

export interface TmuxOptions {
  /** `work`, or `work:0` with the window in it. */
  readonly session: string;
  readonly window?: string;
  /** Which agent runs there: `claude`, `codex`, `gemini`… Found out by itself by default. */
  readonly profile?: string;
  /** More profiles, or others in place of those there are. */
  readonly profiles?: { readonly [name: string]: unknown };
  /** Arguments of tmux itself, such as `-L` and a socket's name. */
  readonly tmuxArgs?: readonly string[];
  /** How long the screen may be still before the task is reported as stuck, in ms; 60 000 by default. */
  readonly stuckAfter?: number;
  /** The agent's environment. CLAUDE_CONFIG_DIR says where Claude Code writes its state. This process's by default. */
  readonly env?: { readonly [name: string]: string | undefined };
}

export interface ExecOptions {
  /** A line for the shell. `{file}` and `{url}` stand for the task in a file, and for its pointer. */
  readonly command: string;
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string | undefined };
}

/** The command starts an agent which speaks ACP on its standard input and output. */
export interface AcpOptions extends ExecOptions {
  /** What the agent may do without a person to ask: everything, only look, or nothing. `reads` by default. */
  readonly allow?: 'all' | 'reads' | 'none';
}

/** Runners that need more than a browser has. */
export interface NodeRunners {
  tmux(o: TmuxOptions): Promise<Runner>;
  exec(o: ExecOptions): Promise<Runner>;
  acp(o: AcpOptions): Promise<Runner>;
}

export type RunnerOptions<K extends keyof NodeRunners> = Parameters<NodeRunners[K]>[0];

/** Where the published package keeps them. Not in sight of bundlers: what is made for a browser must not hold them. */
const OWN_RUNNERS: string = 'contextrelay/runners';

export async function runnerOf<K extends keyof NodeRunners>(kind: K, o: RunnerOptions<K>): Promise<Runner> {
  let runners: NodeRunners;
  try {
    runners = ((await import(OWN_RUNNERS)) as { nodeRunners: NodeRunners }).nodeRunners;
  } catch (error) {
    const hint = 'Run it in Node, or pass a `runner` of your own to AgentBridge.';
    throw new RelayError('failed', { what: `A bridge to ${kind} needs Node.`, hint }, error);
  }
  return (runners[kind] as (o: RunnerOptions<K>) => Promise<Runner>)(o);
}
