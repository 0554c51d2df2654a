import { GROUP_IN_FLIGHT } from '../../base/limits.ts';
import { type Caller, doneBy } from '../../contract/caller.ts';
import type { DeadLetter } from '../../contract/channels.ts';
import { TASK_GROUP } from '../../contract/tasks.ts';
import type { Entry } from '../../kernel/logs.ts';
import { channelStream } from '../names.ts';
import type { DeadLetters } from './dead-letters.ts';
import type { GroupLog } from './group-log.ts';
import { type GroupState, nextDue, returned, type Step, type Work } from './group-state.ts';
import { channelEntry, entryAt } from './message.ts';
import type { ChannelDeps } from './settings.ts';

/** A message that is delivered to the member that claimed it. */
export interface DeliveredWork extends Readonly<Pick<Work, 'token' | 'attempt' | 'until'>> {
  readonly entry: Entry;
}

export interface Member extends Pick<Caller, 'name' | 'agent'> {
  readonly id: string;
  readonly since: number;
  /** Maximum number of messages that are leased to the member at the same time. */
  readonly prefetch: number;
  deliver(work: DeliveredWork): void;
}

/** A message that a round hands out to a member or settles. */
interface Candidate {
  readonly entry: Entry;
  /** State of the message in the group before the round. Absent if the message is new to the group. */
  readonly before?: Work;
  readonly dead?: DeadLetter['reason'] | 'canceled';
  readonly member?: Member;
}

/** Hands out the work of a group to its members, in rounds. Between rounds it remembers only which member is next. */
export class GroupRounds {
  readonly #deps: ChannelDeps;
  readonly #deadLetters: DeadLetters;
  readonly #log: GroupLog;
  readonly #stream: string;
  #next = 0;

  constructor(deps: ChannelDeps, deadLetters: DeadLetters, log: GroupLog) {
    this.#deps = deps;
    this.#deadLetters = deadLetters;
    this.#log = log;
    this.#stream = channelStream(log.tenant, log.channel);
  }

  /**
   * Hands out as much work as the members can take. `again` is true if there may be more work now. Otherwise
   * `due` is the time in ms when the next lease or wait ends; null if there is none.
   */
  async round(members: ReadonlyMap<string, Member>): Promise<{ again: boolean; due: number | null }> {
    const state = await this.#log.state();
    const candidates = await this.#candidates(state, members);
    if (candidates.length > 0) {
      await this.#handOut(candidates, members);
      return { again: true, due: null };
    }
    return { again: false, due: nextDue(state, this.#deps.env.now()) };
  }

  /**
   * Runs rounds until there is nothing to hand out. Returns the time in ms when the next lease or wait ends;
   * null if there is none.
   */
  async run(members: ReadonlyMap<string, Member>): Promise<number | null> {
    for (;;) {
      const { again, due } = await this.round(members);
      if (!again) return due;
    }
  }

  /**
   * Returns the messages to hand out and the messages to settle. Messages whose lease or wait has ended come
   * first, then new messages. The messages to hand out are at most as many as the members can take.
   */
  async #candidates(state: GroupState, members: ReadonlyMap<string, Member>): Promise<Candidate[]> {
    const { logs } = this.#deps.engine;
    const now = this.#deps.env.now();
    const slots = this.#freeSlots(state, members, now);
    const list: Candidate[] = [];
    for (const seq of returned(state, now)) {
      const before = { ...state.open.get(seq)! };
      // If the message is no longer in the log, use an empty entry, so that the group settles the message
      // without a dead letter.
      const entry = (await entryAt(logs, this.#stream, seq)) ?? { seq, at: 0, data: null };
      const dead = await this.#whyDead(entry, before);
      if (dead) list.push({ entry, before, dead });
      else if (slots.length > 0) list.push({ entry, before, member: take(slots, before.member) });
    }
    const room = Math.min(slots.length, GROUP_IN_FLIGHT - state.open.size);
    if (room <= 0) return list;
    const { entries } = await logs.read(this.#stream, { after: state.cursor, limit: room });
    for (const entry of entries) {
      const dead = await this.#whyDead(entry);
      list.push(dead ? { entry, dead } : { entry, member: take(slots) });
    }
    return list;
  }

  async #handOut(candidates: readonly Candidate[], members: ReadonlyMap<string, Member>): Promise<void> {
    for (const { entry, dead, before } of candidates) {
      if (dead && dead !== 'canceled') await this.#deadLetters.put(this.#log, entry, before, dead);
    }
    let until = 0;
    let good: Candidate[] = [];
    const token = await this.#log.propose((state, now) => {
      until = now + this.#deps.settings.leaseMs;
      good = candidates.filter((candidate) => stillOpen(state, candidate, now));
      return good.map(({ entry, member }): Step => {
        if (!member) return ['dead', entry.seq];
        const claim = ['claim', entry.seq, until, member.id, member.name.slice(0, 64)] as const;
        return member.agent === undefined ? claim : [...claim, member.agent];
      });
    });
    for (const { entry, before, member } of good) {
      if (!member) continue;
      const attempt = (before?.attempt ?? 0) + 1;
      this.#noteClaim(entry, member);
      if (members.has(member.id)) member.deliver({ entry, token, attempt, until });
      else await this.#log.free(entry.seq, token);
    }
  }

  #noteClaim({ seq, data }: Entry, member: Member): void {
    const { tenant, channel, group } = this.#log;
    const task = group === TASK_GROUP ? channelEntry(data)?.pointer : undefined;
    const claimed = { ...doneBy(member), channel, group, seq };
    this.#deps.activity.note(
      tenant,
      task === undefined ? { ...claimed, kind: 'group.claimed' } : { ...claimed, kind: 'task.claimed', task },
    );
  }

  /**
   * Returns the members that can take messages, in the order in which they get them. A member is in the list
   * once for each message that it can still take.
   */
  #freeSlots(state: GroupState, all: ReadonlyMap<string, Member>, now: number): Member[] {
    const held = new Map<string, number>();
    for (const { member, until } of state.open.values()) {
      if (until > now) held.set(member, (held.get(member) ?? 0) + 1);
    }
    const members = [...all.values()];
    const turn = this.#next++ % Math.max(members.length, 1);
    const inTurn = [...members.slice(turn), ...members.slice(0, turn)];
    const slots: Member[] = [];
    for (let level = 0; ; level++) {
      const able = inTurn.filter((member) => (held.get(member.id) ?? 0) + level < member.prefetch);
      if (able.length === 0) return slots;
      slots.push(...able);
    }
  }

  /**
   * Returns why a message must not be handed out; undefined if it may be handed out. Reasons: it was
   * canceled, it has used all its attempts, no member claimed it within the retention, or it or its pointer
   * no longer exists.
   */
  async #whyDead(entry: Entry, before?: Work): Promise<Candidate['dead']> {
    const { env, settings, pointers, isCanceled } = this.#deps;
    const message = channelEntry(entry.data);
    if (message?.pointer !== undefined && (await isCanceled(message.pointer))) return 'canceled';
    if (before && before.attempt >= settings.attempts) return 'attempts';
    if (!before && entry.at < env.now() - settings.retentionMs) return 'age';
    if (message === null) return 'gone';
    if (message.pointer === undefined) return undefined;
    return (await pointers.find(message.pointer)) === null ? 'gone' : undefined;
  }
}

/**
 * Removes the next member from the list and returns it. If possible, takes another member than `last`, which
 * had the message before.
 */
function take(slots: Member[], last?: string): Member {
  const other = last === undefined ? 0 : slots.findIndex((member) => member.id !== last);
  return slots.splice(Math.max(other, 0), 1)[0]!;
}

/** Returns whether nobody has claimed or settled the message since the round chose it. */
function stillOpen(state: GroupState, { entry, before }: Candidate, now: number): boolean {
  if (!before) return entry.seq > state.cursor;
  const work = state.open.get(entry.seq);
  return work !== undefined && work.token === before.token && work.until <= now;
}
