import { badRequest } from '../../base/errors.ts';
import {
  AGENT_ALIVE_MS,
  AGENT_INSTANCE_CHARS,
  AGENT_KEPT_MS,
  BRIDGE_TASKS,
  TASK_STUCK_CHARS,
} from '../../base/limits.ts';
import { authorize, mayUseChannel } from '../../contract/authorize.ts';
import { type Caller, doneBy } from '../../contract/caller.ts';
import { type Agent, agents, type Bridge, directChannel, TASK_CHANNEL } from '../../contract/tasks.ts';
import type { Deps } from '../deps.ts';
import type { FollowRecord } from '../inbox/inboxes.ts';
import { checkAgentName, checkChannelName, fromSegment, inboxesPrefix, segment } from '../names.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';

const agentsPrefix = (tenant: string) => `ten.${tenant}/agent/`;
const agentKey = (tenant: string, name: string, instance: string) =>
  `${agentsPrefix(tenant)}${segment(name)}/${segment(instance)}`;
const taskChannelsPrefix = (tenant: string) => `ten.${tenant}/tasks/`;

/** A bridge with the time of its last heartbeat. */
type SeenBridge = Bridge & { readonly at: number };

/** A channel that bridges have served. */
interface TaskChannel {
  readonly done_channel: string;
  readonly until: number;
}

/** What bridges report about tasks. */
export interface BridgesWork {
  /**
   * Channels that carry tasks. Each is mapped to the channel of its results, or to null if no bridge has
   * named one.
   */
  readonly channels: ReadonlyMap<string, string | null>;
  /** Id of a running task → agent whose bridge is working on it. */
  readonly running: ReadonlyMap<string, string>;
  /** Id of a stuck task → reason that its bridge reports. */
  readonly stuck: ReadonlyMap<string, string>;
  /** Id of a task → agent whose bridge worked on it and no longer sends heartbeats. */
  readonly lost: ReadonlyMap<string, string>;
  /** Channels that a bridge with heartbeats serves now. */
  readonly served: ReadonlySet<string>;
}

/** Lists agents: bridges, which send heartbeats, and followers, which have inboxes. */
export class Agents {
  readonly #deps: Deps;
  readonly #bridges: RecordsOf<SeenBridge>;
  readonly #taskChannels: RecordsOf<TaskChannel>;
  readonly #follows: RecordsOf<FollowRecord>;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#bridges = recordsOf(deps.engine.records);
    this.#taskChannels = recordsOf(deps.engine.records);
    this.#follows = recordsOf(deps.engine.records);
  }

  async beat(caller: Caller, rawName: string, bridge: Bridge): Promise<void> {
    const name = checkAgentName(rawName);
    const known = checkBridge(bridge);
    const now = this.#deps.env.now();
    const key = agentKey(caller.tenant, name, known.instance);
    const before = (await this.#bridges.get(key))?.value;
    authorize(caller, agents.beat, { ...known, channel: before?.task_channel });
    await this.#bridges.put(key, { ...known, at: now }, { expiresAt: now + AGENT_KEPT_MS });
    await this.#noteChannel(caller, known);
    if (!before) this.#tell(caller, 'agent.came', name, known.task_channel);
  }

  async leave(caller: Caller, name: string, instance: string): Promise<void> {
    const key = agentKey(caller.tenant, checkAgentName(name), checkInstance(instance));
    const known = (await this.#bridges.get(key))?.value;
    authorize(caller, agents.leave, { channel: known?.task_channel });
    if ((await this.#bridges.delete(key)) && known)
      this.#tell(caller, 'agent.left', name, known.task_channel);
  }

  #tell(caller: Caller, kind: 'agent.came' | 'agent.left', agent: string, channel: string): void {
    this.#deps.activity.note(caller.tenant, { kind, ...doneBy(caller), agent, channel });
  }

  /** Lists bridges first and then followers. Both are sorted by name. */
  async list(caller: Caller): Promise<{ agents: Agent[] }> {
    const all = [...(await this.#present(caller)), ...(await this.#followers(caller))];
    const seen = all.map((agent) => ({
      ...agent,
      channels: agent.channels.filter((channel) => mayUseChannel(caller, channel)),
    }));
    return { agents: seen.filter(({ channels }) => channels.length > 0) };
  }

  async #present(caller: Caller): Promise<(Agent & { bridge: Bridge })[]> {
    const prefix = agentsPrefix(caller.tenant);
    const now = this.#deps.env.now();
    return Array.fromAsync(allRecords(this.#bridges, prefix), ({ key, value }) => {
      const { at, ...bridge } = value;
      const name = fromSegment(key.slice(prefix.length).split('/')[0]!);
      return {
        name,
        kind: 'bridge',
        alive: at > now - AGENT_ALIVE_MS,
        state: stateOf(bridge, at > now - AGENT_ALIVE_MS),
        last_seen: new Date(at).toISOString(),
        channels: [bridge.task_channel, directChannel(bridge.task_channel, name)],
        bridge,
      };
    });
  }

  async work(caller: Caller): Promise<BridgesWork> {
    const prefix = taskChannelsPrefix(caller.tenant);
    const channels = new Map<string, string | null>([[TASK_CHANNEL, null]]);
    const running = new Map<string, string>();
    const stuck = new Map<string, string>();
    const lost = new Map<string, string>();
    const served = new Set<string>();
    for await (const { key, value } of allRecords(this.#taskChannels, prefix)) {
      channels.set(fromSegment(key.slice(prefix.length)), value.done_channel);
    }
    for (const { name, alive, bridge } of await this.#present(caller)) {
      channels.set(directChannel(bridge.task_channel, name), bridge.done_channel);
      for (const id of bridge.running) (alive ? running : lost).set(id, name);
      if (!alive) continue;
      for (const [id, why] of Object.entries(bridge.stuck ?? {})) stuck.set(id, why);
      served.add(bridge.task_channel);
      served.add(directChannel(bridge.task_channel, name));
    }
    return { channels, running, stuck, lost, served };
  }

  async #followers(caller: Caller): Promise<Agent[]> {
    const prefix = inboxesPrefix(caller.tenant);
    const found = new Map<string, { channels: string[]; seen: number | null }>();
    for await (const { key, value } of allRecords(this.#follows, prefix)) {
      const [agent, channel] = key.slice(prefix.length).split('/').map(fromSegment) as [string, string];
      const follower = found.get(agent) ?? { channels: [], seen: null };
      follower.channels.push(channel);
      if (value.read !== undefined) follower.seen = Math.max(follower.seen ?? 0, value.read);
      found.set(agent, follower);
    }
    return Array.from(found, ([name, { channels, seen }]) => ({
      name,
      kind: 'follower',
      alive: null,
      state: null,
      last_seen: seen === null ? null : new Date(seen).toISOString(),
      channels,
    }));
  }

  /**
   * Stores the channels of a bridge. The record stays after the bridge has left, so that its tasks are still
   * listed.
   */
  async #noteChannel(caller: Caller, { task_channel, done_channel }: Bridge): Promise<void> {
    const key = taskChannelsPrefix(caller.tenant) + segment(task_channel);
    const known = (await this.#taskChannels.get(key))?.value;
    const now = this.#deps.env.now();
    if (known?.done_channel === done_channel && known.until > now + AGENT_KEPT_MS / 2) return;
    const until = now + AGENT_KEPT_MS;
    await this.#taskChannels.put(key, { done_channel, until }, { expiresAt: until });
  }
}

function stateOf({ running, stuck }: Bridge, alive: boolean): NonNullable<Agent['state']> {
  if (running.length > 0) return alive && stuck === undefined ? 'working' : 'stuck';
  return alive ? 'idle' : 'silent';
}

/**
 * Keeps only the known fields and shortens long values, because every caller of the tenant can see the
 * record.
 */
function checkBridge(bridge: Bridge): Bridge {
  const { runner, target, concurrency, done, failed, started_at } = bridge;
  const running = bridge.running.slice(0, BRIDGE_TASKS).map((id) => String(id).slice(0, 64));
  const stuck = Object.entries(bridge.stuck ?? {}).filter(([id]) => running.includes(id));
  return {
    instance: checkInstance(bridge.instance),
    runner: String(runner).slice(0, 64),
    target: String(target).slice(0, 256),
    task_channel: checkChannelName(bridge.task_channel),
    done_channel: checkChannelName(bridge.done_channel),
    concurrency: Number(concurrency),
    running,
    ...(stuck.length > 0
      ? { stuck: Object.fromEntries(stuck.map(([id, why]) => [id, String(why).slice(0, TASK_STUCK_CHARS)])) }
      : {}),
    done: Number(done),
    failed: Number(failed),
    started_at: String(started_at).slice(0, 40),
  };
}

function checkInstance(instance: unknown): string {
  if (typeof instance === 'string' && instance !== '' && instance.length <= AGENT_INSTANCE_CHARS)
    return instance;
  throw badRequest(`"instance" must be a string of 1 to ${AGENT_INSTANCE_CHARS} characters.`);
}
