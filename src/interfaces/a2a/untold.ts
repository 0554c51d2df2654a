import type { Caller } from '../../contract/caller.ts';

/**
 * Tasks with webhooks that have yet to be told how the task ended. It outlives the server, and a task is put down before
 * whoever named the webhook gets an answer.
 */
export interface Untold {
  add(task: string): Promise<void>;
  /** Changes whenever the task is added again; null where it is not there. */
  mark(task: string): Promise<number | null>;
  /** False: it was added again since, and something may be left to tell. */
  remove(task: string, mark: number): Promise<boolean>;
}

/** Enough to go on where another server stopped. */
export interface UntoldTask {
  readonly task: string;
  /** Who named the webhook. */
  readonly caller: Caller;
  readonly base: string;
}
