import type { DeadLetter } from '../../contract/channels.ts';
import type { Entry } from '../../kernel/logs.ts';
import { channelStream, deadLetterChannel } from '../names.ts';
import { asJson, entriesBehind } from '../records.ts';
import { appendMessage } from './channel-storage.ts';
import type { Directory } from './directory.ts';
import type { GroupLog } from './group-log.ts';
import { floor, type GroupState, isUnclaimed, type Step } from './group-state.ts';
import { channelEntry, entryAt } from './message.ts';
import type { ChannelDeps } from './settings.ts';

/** Messages that are moved in one go. */
const AT_ONCE = 100;

/** Work that a group could not do is moved to a channel of its own, where people can look at it. */
export class DeadLetters {
  readonly #deps: ChannelDeps;
  readonly #directory: Directory;

  constructor(deps: ChannelDeps, directory: Directory) {
    this.#deps = deps;
    this.#directory = directory;
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
    await appendMessage(this.#deps, tenant, target, asJson({ ...letter, dead }), id);
    await this.#directory.note(tenant, target);
    this.#deps.onDead(tenant, { ...letter, dead });
  }

  /** Moves what nobody had claimed by the cutoff, or what came back and waits. Gives the state after that. */
  async moveExpired(log: GroupLog, cutoff: number): Promise<GroupState> {
    const { engine, env } = this.#deps;
    const state = await log.state();
    const now = env.now();
    const stream = channelStream(log.tenant, log.channel);
    const old: number[] = [];
    for await (const { seq, at } of entriesBehind(engine.logs, stream, floor(state) - 1)) {
      if (at >= cutoff) break;
      if (isUnclaimed(state, seq, now)) old.push(seq);
    }
    for (let at = 0; at < old.length; at += AT_ONCE) await this.move(log, old.slice(at, at + AT_ONCE), 'age');
    return log.state();
  }

  /** Moves messages, which are given in the order of the channel and without a hole: the group's cursor passes over nothing. */
  async move(log: GroupLog, seqs: readonly number[], reason: DeadLetter['reason']): Promise<void> {
    const stream = channelStream(log.tenant, log.channel);
    const state = await log.state();
    for (const seq of seqs) {
      const entry = await entryAt(this.#deps.engine.logs, stream, seq);
      if (entry) await this.put(log, entry, state.open.get(seq)?.attempt ?? 0, reason);
    }
    await log.propose((current, now) =>
      seqs.filter((seq) => isUnclaimed(current, seq, now)).map((seq): Step => ['dead', seq]),
    );
  }
}
