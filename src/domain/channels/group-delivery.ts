import { pause } from '../../base/pause.ts';
import { channelStream } from '../names.ts';
import type { DeadLetters } from './dead-letters.ts';
import type { GroupLog } from './group-log.ts';
import { GroupRounds, type Member } from './group-rounds.ts';
import type { ChannelDeps } from './settings.ts';

/** How long to wait after the store failed. */
const RETRY_MS = 1000;
/** A random delay up to this, so that several processes do not claim the same work at the same moment. */
const SPREAD_MS = 20;

/** Delivers a group's work to its members in this process. Every process with members has one. */
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

  /** The member's leases stay its own: it may still be at work, and acknowledge later. */
  leave(member: Member): void {
    this.#members.delete(member.id);
    if (this.#members.size > 0) return;
    this.#watching?.abort();
    this.#watching = null;
    clearTimeout(this.#timer);
  }

  /** To be called when something may have changed: looks for work and delivers it. */
  wake(): void {
    this.#again = true;
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#again && this.#members.size > 0) {
      this.#again = false;
      try {
        await this.#round();
      } catch {
        // The store did not answer. Members wait; whoever asks for something gets the error.
        this.#wakeIn(RETRY_MS);
        break;
      }
    }
    this.#running = false;
  }

  async #round(): Promise<void> {
    const { again, due } = await this.#rounds.round(this.#members);
    if (again) this.#again = true;
    else if (due !== null) this.#wakeIn(due - this.#deps.env.now());
  }

  #wakeIn(ms: number): void {
    clearTimeout(this.#timer);
    if (this.idle) return;
    const spread = (this.#deps.env.randomBytes(1)[0]! / 256) * SPREAD_MS;
    this.#timer = setTimeout(() => this.wake(), Math.max(ms, 0) + spread);
  }

  /** Wakes up for new messages, and for what other processes do in the group. */
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
