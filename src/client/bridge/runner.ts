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
