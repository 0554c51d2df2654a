import type { DeadLetter } from '../../contract/channels.ts';
import type { Entry } from '../../kernel/logs.ts';
import type { Deps } from '../deps.ts';
import { channelStream, deadLetterChannel } from '../names.ts';
import { asJson } from '../records.ts';
import type { Directory } from './directory.ts';
import type { GroupLog } from './group-log.ts';
import { floor, type GroupState, type Step } from './group-state.ts';
import { type ChannelEntry, channelEntry } from './message.ts';

/** Messages that are moved in one go. */
const AT_ONCE = 100;
const PAGE = 500;

/** Called for every dead letter, once it is where people can look at it. */
export type OnDead = (tenant: string, letter: ChannelEntry & { readonly dead: DeadLetter }) => void;

/** Work that a group could not do is moved to a channel of its own, where people can look at it. */
export class DeadLetters {
  readonly #deps: Deps;
  readonly #directory: Directory;
  readonly #onDead: OnDead | undefined;

  constructor(deps: Deps, directory: Directory, onDead?: OnDead) {
    this.#deps = deps;
    this.#directory = directory;
    this.#onDead = onDead;
  }

  /** To be called before the group settles the message. The id makes that a crash in between puts it here exactly once. */
  async put(
    at: { tenant: string; channel: string; group: string },
    entry: Entry,
    attempts: number,
    reason: DeadLetter['reason'],
  ): Promise<void> {
    const { tenant, channel, group } = at;
    const target = deadLetterChannel(channel);
    const letter = channelEntry(entry.data);
    if (target === null || letter === null) return;
    const dead: DeadLetter = { channel, group, seq: entry.seq, ts: entry.at, attempts, reason };
    const id = `dead:${entry.seq}:${group}`;
    await this.#deps.engine.logs.append(channelStream(tenant, target), asJson({ ...letter, dead }), { id });
    await this.#directory.note(tenant, target);
    this.#onDead?.(tenant, { ...letter, dead });
  }

  /** Moves what nobody had claimed by the cutoff, or what came back and waits. Gives the state after that. */
  async moveExpired(log: GroupLog, cutoff: number): Promise<GroupState> {
    const old = await this.#unclaimed(log, cutoff);
    for (let at = 0; at < old.length; at += AT_ONCE) await this.move(log, old.slice(at, at + AT_ONCE), 'age');
    return log.state();
  }

  /** Moves messages, which are given in the order of the channel and without a hole: the group's cursor passes over nothing. */
  async move(log: GroupLog, seqs: readonly number[], reason: DeadLetter['reason']): Promise<void> {
    const { logs } = this.#deps.engine;
    const stream = channelStream(log.tenant, log.channel);
    const state = await log.state();
    for (const seq of seqs) {
      const [entry] = (await logs.read(stream, { after: seq - 1, limit: 1 })).entries;
      if (entry?.seq !== seq) continue;
      await this.put(log, entry, state.open.get(seq)?.attempt ?? 0, reason);
    }
    await log.propose((current, now) => {
      const open = seqs.filter((seq) => {
        const work = current.open.get(seq);
        return work ? work.until <= now : seq > current.cursor;
      });
      return { steps: open.map((seq): Step => ['dead', seq]), result: () => undefined };
    });
  }

  /** Oldest first. */
  async #unclaimed(log: GroupLog, cutoff: number): Promise<number[]> {
    const state = await log.state();
    const now = this.#deps.env.now();
    const old: number[] = [];
    for (const entry of await this.#before(log, floor(state) - 1, cutoff)) {
      const work = state.open.get(entry.seq);
      if (entry.seq > state.cursor || (work && work.until <= now)) old.push(entry.seq);
    }
    return old;
  }

  async #before(log: GroupLog, after: number, cutoff: number): Promise<Entry[]> {
    const stream = channelStream(log.tenant, log.channel);
    const old: Entry[] = [];
    for (;;) {
      const from = old.at(-1)?.seq ?? Math.max(after, 0);
      const { entries } = await this.#deps.engine.logs.read(stream, { after: from, limit: PAGE });
      for (const entry of entries) {
        if (entry.at >= cutoff) return old;
        old.push(entry);
      }
      if (entries.length < PAGE) return old;
    }
  }
}
