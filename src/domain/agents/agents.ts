import { badRequest } from '../../base/errors.ts';
import {
  AGENT_ALIVE_MS,
  AGENT_INSTANCE_CHARS,
  AGENT_KEPT_MS,
  BRIDGE_TASKS,
  TASK_STUCK_CHARS,
} from '../../base/limits.ts';
import {
  type Agent,
  agentChannel,
  agents,
  type Bridge,
  type Entered,
  type Session,
} from '../../contract/agents.ts';
import { authorize, mayUseChannel } from '../../contract/authorize.ts';
import { type Caller, doneBy } from '../../contract/caller.ts';
import { directChannel, TASK_CHANNEL } from '../../contract/tasks.ts';
import type { Deps } from '../deps.ts';
import type { FollowRecord } from '../inbox/inboxes.ts';
import { checkAgentName, checkChannelName, fromSegment, inboxesPrefix, segment } from '../names.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';
import type { Claims } from './claims.ts';
import type { Messages } from './messages.ts';
import type { SeenSession, Sessions } from './sessions.ts';

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

/** A bridge as an agent of the list. Its `channels` are the channels from which it takes tasks. */
export type ListedBridge = Agent & { readonly bridge: Bridge };

/** The bridges of a tenant, and the channels that carry tasks. */
export interface BridgesWork {
  readonly bridges: readonly ListedBridge[];
  /**
   * Each channel that carries tasks, with the channel of their results, or with null if no bridge has named one.
   */
  readonly channels: ReadonlyMap<string, string | null>;
}

interface AgentParts {
  readonly deps: Deps;
  readonly sessions: Sessions;
  readonly claims: Claims;
  messages(): Messages;
}

/**
 * The registry of agents. An agent is a bridge that sends heartbeats, a session of a coding agent that its hooks
 * report, or a follower, which has only an inbox.
 */
export class Agents {
  readonly #deps: Deps;
  readonly #parts: AgentParts;
  readonly #bridges: RecordsOf<SeenBridge>;
  readonly #taskChannels: RecordsOf<TaskChannel>;
  readonly #follows: RecordsOf<FollowRecord>;

  constructor(parts: AgentParts) {
    const { deps } = parts;
    this.#deps = deps;
    this.#parts = parts;
    this.#bridges = recordsOf(deps.engine.records);
    this.#taskChannels = recordsOf(deps.engine.records);
    this.#follows = recordsOf(deps.engine.records);
  }

  async beat(caller: Caller, rawName: string, bridge: Bridge): Promise<void> {
    const name = checkAgentName(rawName);
    const beat = checkBridge(bridge);
    const now = this.#deps.env.now();
    const key = agentKey(caller.tenant, name, beat.instance);
    const before = (await this.#bridges.get(key))?.value;
    authorize(caller, agents.beat, { ...beat, channel: before?.task_channel });
    await this.#bridges.put(key, { ...beat, at: now }, { expiresAt: now + AGENT_KEPT_MS });
    await this.#noteChannel(caller, beat);
    if (!before) this.#noteActivity(caller, 'agent.came', name, beat.task_channel);
  }

  async enter(caller: Caller, baseName: string, session: Session): Promise<Entered> {
    const { tenant } = caller;
    const before = await this.#parts.sessions.get(tenant, baseName);
    const name = await this.#parts.sessions.put(tenant, checkAgentName(baseName), session);
    if (before?.session !== session.session || before.ended)
      this.#noteActivity(caller, 'agent.came', name, agentChannel(name));
    await this.#parts.claims.renew(tenant, name);
    const { unread, held } = await this.#parts.messages().count(tenant, name);
    return { name, unread, held };
  }

  async leave(caller: Caller, name: string, instance: string): Promise<void> {
    if (
      mayUseChannel(caller, agentChannel(name)) &&
      (await this.#parts.sessions.end(caller.tenant, name, instance))
    )
      return this.#noteActivity(caller, 'agent.left', name, agentChannel(name));
    const key = agentKey(caller.tenant, checkAgentName(name), checkInstance(instance));
    const bridge = (await this.#bridges.get(key))?.value;
    authorize(caller, agents.leave, { channel: bridge?.task_channel });
    if ((await this.#bridges.delete(key)) && bridge)
      this.#noteActivity(caller, 'agent.left', name, bridge.task_channel);
  }

  #noteActivity(caller: Caller, kind: 'agent.came' | 'agent.left', agent: string, channel: string): void {
    this.#deps.activity.note(caller.tenant, { kind, ...doneBy(caller), agent, channel });
  }

  /**
   * Lists bridges first, then sessions and then followers. Each kind is sorted by name. Leaves out an agent if the
   * caller may use none of its channels.
   */
  async list(caller: Caller): Promise<{ agents: Agent[] }> {
    const kinds = [this.#present(caller), this.#sessions(caller), this.#followers(caller)];
    const seen = (await Promise.all(kinds)).flat().map((agent) => ({
      ...agent,
      channels: agent.channels.filter((channel) => mayUseChannel(caller, channel)),
    }));
    return { agents: seen.filter(({ channels }) => channels.length > 0) };
  }

  /** Returns the agents that are not sessions. */
  async others(caller: Caller): Promise<Agent[]> {
    return [...(await this.#present(caller)), ...(await this.#followers(caller))];
  }

  async #sessions(caller: Caller): Promise<Agent[]> {
    const { claims } = await this.#parts.claims.claims(caller);
    const list: Agent[] = [];
    for await (const [name, seen] of this.#parts.sessions.all(caller.tenant)) {
      const { at, ended: _, ...session } = seen;
      const alive = this.#parts.sessions.isAlive(seen);
      const { unread, heldCount } = await this.#parts.messages().count(caller.tenant, name);
      list.push({
        name,
        kind: 'session',
        alive,
        state: sessionState(seen, alive),
        last_seen: new Date(at).toISOString(),
        channels: [agentChannel(name)],
        session: alive ? session : { ...session, reach: session.reach === 'no' ? 'no' : 'start' },
        unread,
        held: heldCount,
        claims: claims.filter(({ by }) => by === name).map(({ what }) => what),
      });
    }
    return list;
  }

  async #present(caller: Caller): Promise<ListedBridge[]> {
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
    for await (const { key, value } of allRecords(this.#taskChannels, prefix)) {
      channels.set(fromSegment(key.slice(prefix.length)), value.done_channel);
    }
    const bridges = await this.#present(caller);
    for (const { name, bridge } of bridges)
      channels.set(directChannel(bridge.task_channel, name), bridge.done_channel);
    return { bridges, channels };
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
   * Stores the task channel of a bridge and the channel of its results. The record stays after the bridge has left, so
   * that tasks on the channel are still listed.
   */
  async #noteChannel(caller: Caller, { task_channel, done_channel }: Bridge): Promise<void> {
    const key = taskChannelsPrefix(caller.tenant) + segment(task_channel);
    const entry = (await this.#taskChannels.get(key))?.value;
    const now = this.#deps.env.now();
    if (entry?.done_channel === done_channel && entry.until > now + AGENT_KEPT_MS / 2) return;
    const until = now + AGENT_KEPT_MS;
    await this.#taskChannels.put(key, { done_channel, until }, { expiresAt: until });
  }
}

function sessionState({ busy, waiting_for }: SeenSession, alive: boolean): NonNullable<Agent['state']> {
  if (!alive) return 'silent';
  if (waiting_for !== undefined) return 'stuck';
  return busy ? 'working' : 'idle';
}

function stateOf({ running, stuck }: Bridge, alive: boolean): NonNullable<Agent['state']> {
  if (running.length > 0) return alive && stuck === undefined ? 'working' : 'stuck';
  return alive ? 'idle' : 'silent';
}

/**
 * Checks the names in a heartbeat and shortens long values, because every caller of the tenant can see the record of
 * the bridge.
 */
function checkBridge(bridge: Bridge): Bridge {
  const running = bridge.running.slice(0, BRIDGE_TASKS).map((id) => id.slice(0, 64));
  const stuck = Object.entries(bridge.stuck ?? {}).filter(([id]) => running.includes(id));
  return {
    ...bridge,
    instance: checkInstance(bridge.instance),
    runner: bridge.runner.slice(0, 64),
    target: bridge.target.slice(0, 256),
    task_channel: checkChannelName(bridge.task_channel),
    done_channel: checkChannelName(bridge.done_channel),
    running,
    stuck:
      stuck.length > 0
        ? Object.fromEntries(stuck.map(([id, why]) => [id, why.slice(0, TASK_STUCK_CHARS)]))
        : undefined,
    started_at: bridge.started_at.slice(0, 40),
  };
}

function checkInstance(instance: string): string {
  if (instance !== '' && instance.length <= AGENT_INSTANCE_CHARS) return instance;
  throw badRequest(`"instance" must be a string of 1 to ${AGENT_INSTANCE_CHARS} characters.`);
}
