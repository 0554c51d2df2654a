import type { DeadLetter } from '../../contract/channels.ts';
import type { Entry } from '../../kernel/logs.ts';
import type { Ground } from '../ground.ts';
import { channelStream } from '../names.ts';
import type { DeadLetters } from './dead-letters.ts';
import type { GroupLedger } from './group-ledger.ts';
import { floor, type GroupState, type Step } from './group-state.ts';

/** Messages that are moved in one go. */
const AT_ONCE = 100;
const PAGE = 500;

/** Moves a group's work among the dead letters, without a member at hand who would find it there. */
export class GroupBurial {
  readonly #ground: Ground;
  readonly #deadLetters: DeadLetters;

  constructor(ground: Ground, deadLetters: DeadLetters) {
    this.#ground = ground;
    this.#deadLetters = deadLetters;
  }

  /** What nobody had claimed by the cutoff, or what came back and waits. Gives the state after that. */
  async ageOut(ledger: GroupLedger, cutoff: number): Promise<GroupState> {
    const old = await this.#unclaimed(ledger, cutoff);
    for (let at = 0; at < old.length; at += AT_ONCE)
      await this.bury(ledger, old.slice(at, at + AT_ONCE), 'age');
    return ledger.state();
  }

  /** `seqs` in the order of the channel and without a hole, so that the group's cursor passes over nothing. */
  async bury(ledger: GroupLedger, seqs: readonly number[], reason: DeadLetter['reason']): Promise<void> {
    const { logs } = this.#ground.engine;
    const stream = channelStream(ledger.tenant, ledger.channel);
    const state = await ledger.state();
    for (const seq of seqs) {
      const [entry] = (await logs.read(stream, { after: seq - 1, limit: 1 })).entries;
      if (entry?.seq !== seq) continue;
      await this.#deadLetters.put(ledger, entry, state.open.get(seq)?.attempt ?? 0, reason);
    }
    await ledger.propose((current, now) => {
      const open = seqs.filter((seq) => {
        const work = current.open.get(seq);
        return work ? work.until <= now : seq > current.cursor;
      });
      return { steps: open.map((seq): Step => ['dead', seq]), result: () => undefined };
    });
  }

  /** Oldest first. */
  async #unclaimed(ledger: GroupLedger, cutoff: number): Promise<number[]> {
    const state = await ledger.state();
    const now = this.#ground.env.now();
    const old: number[] = [];
    for (const entry of await this.#before(ledger, floor(state) - 1, cutoff)) {
      const work = state.open.get(entry.seq);
      if (entry.seq > state.cursor || (work && work.until <= now)) old.push(entry.seq);
    }
    return old;
  }

  async #before(ledger: GroupLedger, after: number, cutoff: number): Promise<Entry[]> {
    const stream = channelStream(ledger.tenant, ledger.channel);
    const old: Entry[] = [];
    for (;;) {
      const from = old.at(-1)?.seq ?? Math.max(after, 0);
      const { entries } = await this.#ground.engine.logs.read(stream, { after: from, limit: PAGE });
      for (const entry of entries) {
        if (entry.at >= cutoff) return old;
        old.push(entry);
      }
      if (entries.length < PAGE) return old;
    }
  }
}
