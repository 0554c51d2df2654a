import { toHex } from '../../base/ids.ts';
import { MEMBER_TTL_MS } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import type { GroupDetail } from '../../contract/channels.ts';
import type { Deps } from '../deps.ts';
import { channelStream, membersPrefix } from '../names.ts';
import { type RecordsOf, recordsOf } from '../records.ts';
import type { DeadLetters } from './dead-letters.ts';
import type { GroupLog } from './group-log.ts';
import { GroupRounds, type Member } from './group-rounds.ts';
import type { ChannelDeps } from './settings.ts';

/** Time in ms after an error of the store until a process looks for work again. */
const RETRY_MS = 1000;
/**
 * Maximum random delay in ms before a process looks for work that is due. Without the delay, several
 * processes would often try to claim the same work at the same moment.
 */
const SPREAD_MS = 20;

/**
 * Delivers the work of a group to the members in this process. Each process with members of the group has its
 * own instance.
 */
export class GroupDelivery {
  readonly #deps: ChannelDeps;
  readonly #log: GroupLog;
  readonly #stream: string;
  readonly #rounds: GroupRounds;
  readonly #members = new Map<string, Member>();
  #watching: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running = false;
  #again = false;

  constructor(deps: ChannelDeps, deadLetters: DeadLetters, log: GroupLog) {
    this.#deps = deps;
    this.#log = log;
    this.#stream = channelStream(log.tenant, log.channel);
    this.#rounds = new GroupRounds(deps, deadLetters, log);
  }

  get members(): Iterable<Member> {
    return this.#members.values();
  }

  get idle(): boolean {
    return this.#members.size === 0;
  }

  join(member: Member): void {
    this.#members.set(member.id, member);
    if (!this.#watching) this.#watch();
    this.wake();
  }

  /**
   * Removes a member. The member keeps its leases, because it may still be working and acknowledge its
   * messages later.
   */
  leave(member: Member): void {
    this.#members.delete(member.id);
    if (this.#members.size > 0) return;
    this.#watching?.abort();
    this.#watching = null;
    clearTimeout(this.#timer);
  }

  /** Looks for work and delivers it. Call it when something may have changed. */
  wake(): void {
    this.#again = true;
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#again && this.#members.size > 0) {
      this.#again = false;
      try {
        const { again, due } = await this.#rounds.round(this.#members);
        if (again) this.#again = true;
        else if (due !== null) this.#wakeIn(due - this.#deps.env.now());
      } catch {
        // The store did not answer. Look again later; until then the members get no work.
        this.#wakeIn(RETRY_MS);
        break;
      }
    }
    this.#running = false;
  }

  #wakeIn(ms: number): void {
    clearTimeout(this.#timer);
    if (this.idle) return;
    const spread = (this.#deps.env.randomBytes(1)[0]! / 256) * SPREAD_MS;
    this.#timer = setTimeout(() => this.wake(), Math.max(ms, 0) + spread);
  }

  /**
   * Calls `wake` for each new message of the channel and for each new entry of the group's log. Other processes write
   * to both.
   */
  #watch(): void {
    const watching = new AbortController();
    this.#watching = watching;
    const { logs } = this.#deps.engine;
    const follow = async (stream: string) => {
      while (!watching.signal.aborted) {
        try {
          const { last } = await logs.info(stream);
          this.wake();
          for await (const _ of logs.subscribe(stream, { after: last, signal: watching.signal })) this.wake();
          return;
        } catch {
          await pause(RETRY_MS, watching.signal);
        }
      }
    };
    void follow(this.#stream);
    void follow(this.#log.stream);
  }
}

/** Maximum number of members that one process lists in its record (see `GroupPresence`). */
const MAX_LISTED_MEMBERS = 200;
/**
 * Time in ms from the last join or leave of a member until the list is written. Members that join one after
 * another cause only one write.
 */
const SETTLE_MS = 50;

type ListedMember = [name: string, since: number, agent?: string];

/**
 * Stores the list of a group's members, for people who inspect the group. Each process writes one record with its own
 * members. After a crash the record expires.
 */
export class GroupPresence {
  readonly #deps: Deps;
  readonly #records: RecordsOf<ListedMember[]>;
  readonly #delivery: GroupDelivery;
  readonly #prefix: string;
  readonly #key: string;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #written = false;
  /**
   * The newest write of the record. It never rejects: the list is only informational, and the next heartbeat writes it
   * again.
   */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(deps: Deps, log: GroupLog, delivery: GroupDelivery) {
    this.#deps = deps;
    this.#records = recordsOf(deps.engine.records);
    this.#delivery = delivery;
    this.#prefix = membersPrefix(log.tenant, log.channel, log.group);
    this.#key = this.#prefix + toHex(deps.env.randomBytes(8));
  }

  changed(): void {
    this.#writeIn(SETTLE_MS);
  }

  async everyone(): Promise<GroupDetail['members']> {
    const { items } = await this.#records.list(this.#prefix, { limit: 1000 });
    const elsewhere = items.filter(({ key }) => key !== this.#key).flatMap(({ value }) => value);
    return [...this.#own(), ...elsewhere].map(([name, since, agent]) => ({
      name,
      ...(agent === undefined ? {} : { agent }),
      since: new Date(since).toISOString(),
    }));
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#written) await this.#write(true);
  }

  #own(): ListedMember[] {
    const list = ({ name, since, agent }: Member): ListedMember =>
      agent === undefined ? [name, since] : [name, since, agent];
    return Array.from(this.#delivery.members, list).slice(0, MAX_LISTED_MEMBERS);
  }

  #writeIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      void this.#write(this.#delivery.idle);
      if (!this.#delivery.idle) this.#writeIn(MEMBER_TTL_MS / 3);
    }, ms);
    (this.#timer as { unref?: () => void }).unref?.();
  }

  #write(gone: boolean): Promise<unknown> {
    const write = (): Promise<unknown> => {
      this.#written = !gone;
      if (gone) return this.#records.delete(this.#key);
      const expiresAt = this.#deps.env.now() + MEMBER_TTL_MS;
      return this.#records.put(this.#key, this.#own(), { expiresAt });
    };
    // Ignore the error of a write: the next heartbeat writes the record again.
    this.#writing = this.#writing.then(write).catch(() => {});
    return this.#writing;
  }
}
