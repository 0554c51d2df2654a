import type { JsonObject } from '../../base/json.ts';
import type { Receipt } from '../receipts/types.ts';

/** Field names are those on the wire, so that local and remote are one type. */

/**
 * `queued`: nobody has it. `running`: somebody holds a lease on it. `acked`: somebody said that it is done and brought no
 * result. `done`, `failed`: there is a result.
 */
export const TASK_STATES = ['queued', 'running', 'acked', 'done', 'failed'] as const;
export type TaskState = (typeof TASK_STATES)[number];

export const TASK_STATUSES = ['done', 'failed'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** A piece of work handed to an agent: a pointer on a task channel. */
export interface TaskInfo {
  /** The pointer's. */
  readonly id: string;
  readonly url: string;
  readonly channel: string;
  /** Where the result is announced. */
  readonly done_channel: string;
  readonly from: string;
  readonly created_at: string;
  readonly state: TaskState;
  /** How often it has been handed out. */
  readonly attempt: number;
  /** As the sender put it; null where it said nothing. */
  readonly summary: string | null;
  /** The bridge that says it is at it. */
  readonly agent: string | null;
  readonly lease: TaskLease | null;
  readonly result: TaskResult | null;
}

export interface Task extends TaskInfo {
  /** Of the payload, in bytes. */
  readonly size: number;
  readonly metadata: JsonObject;
  /** The ladder; empty once the pointer itself is gone. */
  readonly receipts: readonly Receipt[];
}

export interface TaskLease {
  readonly group: string;
  readonly member: string;
  readonly attempt: number;
  readonly lease_until: string;
}

export interface TaskResult {
  readonly task_id: string;
  readonly url: string;
  readonly status: TaskStatus;
  readonly summary: string | null;
  readonly by: string;
  readonly at: string;
}

export interface TaskQuery {
  /** One channel; without it, every channel that a bridge has worked on, and `agent-tasks`. */
  readonly channel?: string;
  readonly state?: TaskState;
  readonly limit?: number;
}

export interface Settlement {
  /** The result itself; the summary stands for it where it is left out. */
  readonly data?: string;
  readonly summary?: string;
}

export interface TasksApi {
  /** Newest first. */
  list(o?: TaskQuery): Promise<{ readonly tasks: readonly TaskInfo[] }>;
  get(id: string): Promise<Task>;
  /** Brings the result. The same again gives the first one; another one is refused with `conflict`. */
  done(id: string, o?: Settlement): Promise<TaskResult>;
  fail(id: string, o?: Settlement): Promise<TaskResult>;
}

/** Somebody who can be given work, or who reads what is sent. */
export interface Agent {
  readonly name: string;
  readonly kind: 'bridge' | 'follower';
  /** A bridge that was heard of lately. Of a follower nobody can tell: it reads when it reads. */
  readonly alive: boolean | null;
  /** A bridge's last heartbeat, a follower's last reading. */
  readonly last_seen: string | null;
  /** What a bridge serves, what a follower follows. */
  readonly channels: readonly string[];
  readonly bridge?: Bridge;
}

/** What a bridge says of itself with each heartbeat. */
export interface Bridge {
  /** Tells two of the same name apart. */
  readonly instance: string;
  /** `exec`, `tmux`, `acp`, `a2a`. */
  readonly runner: string;
  /** The command, the session or the address. */
  readonly target: string;
  readonly task_channel: string;
  readonly done_channel: string;
  readonly concurrency: number;
  /** The ids of the tasks it is at. */
  readonly running: readonly string[];
  readonly done: number;
  readonly failed: number;
  readonly started_at: string;
}

export interface AgentsApi {
  list(): Promise<{ readonly agents: readonly Agent[] }>;
  /** A bridge is there, and at this. */
  beat(name: string, bridge: Bridge): Promise<void>;
  /** A bridge goes, and says so. */
  leave(name: string, instance: string): Promise<void>;
}
