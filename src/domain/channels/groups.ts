import { badRequest, isRelayError, RelayError } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import {
  DEAD_WHY_CHARS,
  GROUP_ATTEMPTS,
  GROUP_IDLE_MS,
  GROUP_RETRY_MAX_MS,
  GROUP_WAITING_LISTED,
  PREFETCH_MAX,
  WAITING_WHY_CHARS,
} from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type {
  Claim,
  GroupDetail,
  GroupOptions,
  Nacked,
  Since,
  SubscribeOptions,
} from '../../contract/channels.ts';
import { Background } from '../background.ts';
import { channelStream, checkChannelName, checkCount, checkGroupName } from '../names.ts';
import { entriesBehind } from '../records.ts';
import { DeadLetters } from './dead-letters.ts';
import type { Directory } from './directory.ts';
import { GroupDelivery, GroupPresence } from './group-delivery.ts';
import { GroupLog } from './group-log.ts';
import { type DeliveredWork, GroupRounds, type Member } from './group-rounds.ts';
import { floor, type GroupState, heldWork, waitBefore } from './group-state.ts';
import { channelEntry } from './message.ts';
import { findStart, startAt } from './reader.ts';
import type { ChannelDeps } from './settings.ts';

/**
 * Number of groups in memory above which a group without members is dropped from memory. Groups stay in memory, so that
 * an acknowledgement over HTTP does not read the state again.
 */
const OPEN_GROUPS = 1000;

interface OpenGroup {
  readonly log: GroupLog;
  readonly delivery: GroupDelivery;
  readonly presence: GroupPresence;
}

/**
 * Position of a group in a channel. Messages after the cursor are new to the group. A message up to the
 * cursor is settled, unless it is in `open`.
 */
export interface GroupPosition extends Readonly<Pick<GroupState, 'cursor' | 'open'>> {
  readonly group: string;
}

/**
 * Groups of consumers that share a channel's messages. Some methods of this class implement verbs of the channels
 * API.
 */
export class Groups {
  readonly #deps: ChannelDeps;
  readonly #directory: Directory;
  readonly deadLetters: DeadLetters;
  readonly #background: Background;
  readonly #open = new Map<string, OpenGroup>();

  constructor(deps: ChannelDeps, directory: Directory) {
    this.#deps = deps;
    this.#directory = directory;
    this.deadLetters = new DeadLetters(deps, directory);
    this.#background = new Background(deps);
  }

  /**
   * Joins a group and yields work until the signal is aborted. By default, a new group starts with all
   * messages that the channel keeps.
   */
  async *work(
    caller: Caller,
    channel: string,
    group: string,
    o: Pick<SubscribeOptions, 'since' | 'prefetch'> & { readonly signal: AbortSignal },
  ): AsyncGenerator<DeliveredWork> {
    const { env } = this.#deps;
    const { log, delivery, presence } = this.#openGroup(caller, channel, group);
    await this.begin(caller, channel, group, o.since);
    const waiting: DeliveredWork[] = [];
    let wake = () => {};
    const prefetch = checkCount('prefetch', o.prefetch ?? 1, PREFETCH_MAX);
    const member: Member = {
      id: toHex(env.randomBytes(6)),
      since: env.now(),
      prefetch,
      name: caller.name,
      agent: caller.agent,
      deliver: (work) => {
        waiting.push(work);
        wake();
      },
    };
    // Leave immediately when the signal is aborted, even while the consumer is busy with a message. Otherwise the group
    // would give this member work that it never processes.
    const leave = () => {
      delivery.leave(member);
      presence.changed();
      this.#giveBack(log, waiting.splice(0));
      wake();
    };
    o.signal.addEventListener('abort', leave);
    try {
      if (o.signal.aborted) return;
      delivery.join(member);
      presence.changed();
      while (!o.signal.aborted) {
        const next = waiting.shift();
        if (next) yield next;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      o.signal.removeEventListener('abort', leave);
      leave();
    }
  }

  /**
   * Creates the group if it does not exist. By default, it starts with all messages that the channel keeps.
   */
  async begin(caller: Caller, channel: string, group: string, since: Since | undefined): Promise<void> {
    const { log } = this.#openGroup(caller, channel, group);
    const created = await log.create(() => this.#beginning(caller.tenant, channel, since));
    if (created) await this.#directory.note(caller.tenant, channel);
  }

  /** Returns the object that hands out the work of a group, for code that manages the members itself. */
  rounds(caller: Caller, channel: string, group: string): GroupRounds {
    return new GroupRounds(this.#deps, this.deadLetters, this.#openGroup(caller, channel, group).log);
  }

  async ack(caller: Caller, channel: string, group: string, { seq, token }: Claim): Promise<{ seq: number }> {
    const { log, delivery } = this.#openGroup(caller, channel, group);
    const entry = await log.propose((state) => {
      // A repeated acknowledgement succeeds too, because the answer to the first one may have been lost.
      if (state.acked.get(seq) === token) return [];
      heldWork(state, seq, token);
      return [['ack', seq, token]];
    });
    if (entry > 0) {
      delivery.wake();
      this.#deps.onAcked(caller, { channel, group, seq });
    }
    return { seq };
  }

  async nack(
    caller: Caller,
    channel: string,
    group: string,
    { seq, token, why }: Claim & { readonly why?: string },
  ): Promise<Nacked> {
    const { log, delivery } = this.#openGroup(caller, channel, group);
    let again = 0;
    await log.propose((state, now) => {
      const { attempt } = heldWork(state, seq, token);
      again = attempt < this.#deps.settings.attempts ? now + this.#wait(state, attempt) : 0;
      const nack = ['nack', seq, token, again] as const;
      const most = again === 0 ? DEAD_WHY_CHARS : WAITING_WHY_CHARS;
      return [why ? [...nack, why.slice(0, most)] : nack];
    });
    // Move the message to the dead letters here. Otherwise a member would move it later, and the group may
    // have no members.
    if (again === 0) await this.deadLetters.move(log, [seq], 'attempts');
    delivery.wake();
    return again === 0 ? { seq, dead: true } : { seq, dead: false, retry_at: again };
  }

  async extend(caller: Caller, channel: string, group: string, { seq, token }: Claim) {
    const { log } = this.#openGroup(caller, channel, group);
    let until = 0;
    await log.propose((state, now) => {
      heldWork(state, seq, token);
      until = now + this.#deps.settings.leaseMs;
      return [['extend', seq, token, until]];
    });
    return { seq, lease_until: until };
  }

  async setGroup(caller: Caller, channel: string, group: string, { retry }: GroupOptions = {}) {
    const { log } = this.#openGroup(caller, channel, group);
    if (retry && (retry.length > GROUP_ATTEMPTS || !retry.every(isWait))) {
      throw badRequest(
        `"retry" must be a list of at most ${GROUP_ATTEMPTS} waits, each from 0 to ${GROUP_RETRY_MAX_MS} ms.`,
      );
    }
    if (retry !== undefined) await log.propose(() => [['retry', 0, retry]]);
    return { retry: (await log.state()).retry ?? this.#deps.settings.retryMs };
  }

  async removeGroup(caller: Caller, channel: string, group: string): Promise<void> {
    const { log, presence } = this.#openGroup(caller, channel, group);
    const members = await presence.everyone();
    if (members.length > 0) {
      throw new RelayError('conflict', {
        what: `The group ${JSON.stringify(group)} still has active members (${members.length}).`,
        hint: 'Stop them first.',
      });
    }
    await log.remove();
  }

  async detail(caller: Caller, channel: string, group: string): Promise<GroupDetail> {
    const { engine, env } = this.#deps;
    const { log, presence } = this.#at(caller.tenant, channel, group);
    const state = await log.state();
    const stream = channelStream(caller.tenant, channel);
    const now = env.now();
    const open = [...state.open].sort(([a], [b]) => a - b);
    const leased = open.filter(([, work]) => work.until > now);
    const returned = open.filter(([, work]) => work.until <= now);
    const waiting: GroupDetail['waiting'][number][] = returned.map(([seq, { attempt, again, why }]) => ({
      seq,
      attempt,
      retry_at: again > now ? new Date(again).toISOString() : null,
      ...(why === undefined ? {} : { why }),
    }));
    let unclaimed = 0;
    for await (const { seq, data } of entriesBehind(engine.logs, stream, state.cursor)) {
      if (!channelEntry(data)) continue;
      unclaimed++;
      if (waiting.length < GROUP_WAITING_LISTED) waiting.push({ seq, attempt: 0, retry_at: null });
    }
    return {
      name: group,
      backlog: unclaimed + returned.length,
      waiting: waiting.slice(0, GROUP_WAITING_LISTED),
      members: await presence.everyone(),
      leases: leased.map(([seq, { token, attempt, by, agent, until }]) => ({
        seq,
        token,
        attempt,
        member: by,
        ...(agent === undefined ? {} : { agent }),
        lease_until: new Date(until).toISOString(),
      })),
    };
  }

  /**
   * Returns the position of each group of a channel, so that the caller can check many messages with one
   * read.
   */
  async positions(tenant: string, channel: string): Promise<GroupPosition[]> {
    const positions: GroupPosition[] = [];
    for (const group of await this.#directory.groups(tenant, channel)) {
      const state = await this.#at(tenant, channel, group).log.state().catch(ifRemoved);
      if (state) positions.push({ group, cursor: state.cursor, open: new Map(state.open) });
    }
    return positions;
  }

  /** Returns whether any group of the channel still needs the message. */
  async isNeeded(tenant: string, channel: string, seq: number): Promise<boolean> {
    const positions = await this.positions(tenant, channel);
    return positions.some(({ cursor, open }) => seq > cursor || open.has(seq));
  }

  /**
   * If a message is older than the cutoff and no member holds it, it becomes a dead letter. Removes groups that had no
   * activity for a week and have no members and no open messages. Returns the lowest sequence that a group still needs.
   */
  async sweep(tenant: string, channel: string, cutoff: number): Promise<number> {
    let lowest = Number.POSITIVE_INFINITY;
    for (const group of await this.#directory.groups(tenant, channel)) {
      const { log, delivery, presence } = this.#at(tenant, channel, group);
      const state = await this.deadLetters.moveExpired(log, cutoff).catch(ifRemoved);
      if (!state) continue;
      const idle = state.active < this.#deps.env.now() - GROUP_IDLE_MS && state.open.size === 0;
      if (idle && delivery.idle && (await presence.everyone()).length === 0) await log.remove();
      else lowest = Math.min(lowest, floor(state));
    }
    return lowest;
  }

  async close(): Promise<void> {
    await this.#background.settle();
    await Promise.all(Array.from(this.#open.values(), ({ presence }) => presence.close()));
  }

  #wait({ retry }: GroupState, attempt: number): number {
    const { settings, env } = this.#deps;
    return waitBefore(retry ?? settings.retryMs, attempt, env.randomBytes(1)[0]! / 256);
  }

  /**
   * Returns the sequence after which a new group starts. By default, it starts with all messages, but never
   * with messages older than the retention.
   */
  async #beginning(tenant: string, channel: string, since: Since = 'all'): Promise<number> {
    const { engine, env, settings } = this.#deps;
    const stream = channelStream(tenant, channel);
    const requestedStart = await findStart(engine.logs, stream, since);
    const retentionStart = await startAt(engine.logs, stream, env.now() - settings.retentionMs);
    return Math.max(requestedStart.after, retentionStart.after);
  }

  /** Gives back messages whose member left before it saw them. If this fails, the leases of the messages expire. */
  #giveBack(log: GroupLog, undelivered: readonly DeliveredWork[]): void {
    for (const { entry, token } of undelivered) {
      this.#background.run(() => log.free(entry.seq, token));
    }
  }

  #openGroup(caller: Caller, channel: string, group: string): OpenGroup {
    return this.#at(caller.tenant, checkChannelName(channel), checkGroupName(group));
  }

  #at(tenant: string, channel: string, group: string): OpenGroup {
    const key = JSON.stringify([tenant, channel, group]);
    let found = this.#open.get(key);
    if (!found) {
      const log = new GroupLog(this.#deps, tenant, channel, group);
      const delivery = new GroupDelivery(this.#deps, this.deadLetters, log);
      found = { log, delivery, presence: new GroupPresence(this.#deps, log, delivery) };
    }
    // The map is in the order of use. So the group that was not used for the longest time is closed first.
    this.#open.delete(key);
    this.#open.set(key, found);
    if (this.#open.size > OPEN_GROUPS) this.#closeOne();
    return found;
  }

  #closeOne(): void {
    for (const [key, { delivery }] of this.#open) {
      if (!delivery.idle) continue;
      this.#open.delete(key);
      return;
    }
  }
}

function isWait(ms: unknown): boolean {
  return typeof ms === 'number' && Number.isInteger(ms) && ms >= 0 && ms <= GROUP_RETRY_MAX_MS;
}

/** Returns null if another process has removed the group meanwhile. Throws any other error. */
function ifRemoved(error: unknown): null {
  if (isRelayError(error, 'not_found')) return null;
  throw error;
}
