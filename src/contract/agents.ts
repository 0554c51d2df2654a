import { type Api, verbs } from './verb.ts';

/** Field names are those on the wire, so that local and remote are one type. */

/** Somebody who can be given work, or who reads what is sent. */
export interface Agent {
  readonly name: string;
  readonly kind: 'bridge' | 'follower';
  /** A bridge that was heard of lately. Of a follower nobody can tell: it reads when it reads. */
  readonly alive: boolean | null;
  /**
   * Of a bridge. `working`, `idle`. `stuck`: a task does not go on, because it waits for a person or the bridge was not heard of
   * since it took the task. `silent`: not heard of, without a task. Null for a follower.
   */
  readonly state: 'working' | 'idle' | 'stuck' | 'silent' | null;
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
  /** Task id → why the task does not go on, such as a question that a person has to answer. */
  readonly stuck?: { readonly [task: string]: string };
  readonly done: number;
  readonly failed: number;
  readonly started_at: string;
}

const verb = verbs({ scope: 'tasks', args: [] });

export const agents = {
  list: verb<() => Promise<{ readonly agents: readonly Agent[] }>>('agents.list')({
    summary: 'Who is there: bridges and followers, with their last sign of life',
    route: 'GET /agents',
  }),
  /** A bridge is there, and at this. */
  beat: verb<(name: string, bridge: Bridge) => Promise<void>>('agents.beat')({
    summary: 'A bridge’s heartbeat',
    route: 'POST /agents/:name',
    args: ['name'],
    channels: ({ task_channel, done_channel, channel }) => [task_channel, done_channel, channel],
    status: 204,
    repeatable: true,
  }),
  /** A bridge goes, and says so. */
  leave: verb<(name: string, instance: string) => Promise<void>>('agents.leave')({
    summary: 'A bridge goes',
    route: 'DELETE /agents/:name/:instance',
    args: ['name', 'instance'],
    channels: ({ channel }) => [channel],
    status: 204,
    repeatable: true,
  }),
};

export interface AgentsApi extends Api<typeof agents> {}
