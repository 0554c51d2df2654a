import { RelayError } from '../../base/errors.ts';
import { type Caller, type CallerAt, doneBy } from '../../contract/caller.ts';
import type { BuriedMessage, DeadLetter, RevivedLetter } from '../../contract/channels.ts';
import type { Entry } from '../../kernel/logs.ts';
import { channelStream, checkChannelName, deadLetterChannel, segment } from '../names.ts';
import { allRecords, asJson, entriesBehind, type RecordsOf, recordsOf } from '../records.ts';
import { appendMessage } from './channel-storage.ts';
import type { Directory } from './directory.ts';
import { GroupLog } from './group-log.ts';
import { floor, type GroupState, isUnclaimed, type Step, type Work } from './group-state.ts';
import { channelEntry, entryAt, toMessage } from './message.ts';
import type { ChannelDeps, LetterEntry } from './settings.ts';

/** Number of messages that are moved per batch. */
const AT_ONCE = 100;
/** A mark (see `settledPrefix`) expires this many ms after its dead letter. */
const MARK_MARGIN_MS = 60_000;

/**
 * Prefix of the record keys of marks. A mark says that a dead letter was retried or dropped. The rest of its
 * key is the sequence of the dead letter.
 */
const settledPrefix = (tenant: string, channel: string) => `ten.${tenant}/dead/${segment(channel)}/`;

/**
 * Dead letters: messages that a group could not process. They are moved to a separate channel, where people can list,
 * retry and drop them.
 */
export class DeadLetters {
  readonly #deps: ChannelDeps;
  readonly #directory: Directory;
  readonly #settled: RecordsOf<{ readonly by: string }>;

  constructor(deps: ChannelDeps, directory: Directory) {
    this.#deps = deps;
    this.#settled = recordsOf(deps.engine.records);
    this.#directory = directory;
  }

  /** Returns the dead letters that nobody has retried or dropped, oldest first. */
  async deadLetters({ tenant, base }: Pick<CallerAt, 'tenant' | 'base'>, name: string) {
    const letters: BuriedMessage[] = [];
    for await (const { entry, letter } of this.#letters(tenant, checkChannelName(name)))
      letters.push({ ...toMessage(entry, base)!, dead: letter.dead });
    return { letters };
  }

  async *#letters(tenant: string, channel: string): AsyncGenerator<{ entry: Entry; letter: LetterEntry }> {
    const target = deadLetterChannel(channel);
    if (target === null) return;
    const prefix = settledPrefix(tenant, channel);
    const settled = new Set<number>();
    for await (const { key } of allRecords(this.#settled, prefix))
      settled.add(Number(key.slice(prefix.length)));
    const { engine, env, settings } = this.#deps;
    for await (const entry of entriesBehind(engine.logs, channelStream(tenant, target), 0)) {
      if (settled.has(entry.seq) || entry.at < env.now() - settings.retentionMs) continue;
      const letter = channelEntry(entry.data);
      if (letter?.dead) yield { entry, letter: { ...letter, dead: letter.dead } };
    }
  }

  /**
   * Retries a dead letter. A task is sent again as a new task. Any other message goes back to its group at
   * its original position in the channel, so that no other group gets it. Afterwards the dead letter is
   * removed from the list. If a crash prevents the removal, the dead letter stays in the list and can be
   * retried again.
   */
  async retryDead(caller: Caller, name: string, seq: number): Promise<RevivedLetter> {
    const { tenant } = caller;
    const { entry, letter } = await this.#letter(tenant, name, seq);
    const { channel, group, seq: message } = letter.dead;
    const task = await this.#deps.resend(caller, letter);
    if (task === null) await this.#revive(tenant, letter);
    await this.#settle(caller, channel, entry);
    const { activity } = this.#deps;
    activity.note(tenant, { kind: 'group.revived', ...doneBy(caller), channel, group, seq: message });
    return { channel, group, seq: message, ...(task === null ? {} : { task }) };
  }

  async dropDead(caller: Caller, name: string, seq: number): Promise<void> {
    const { entry, letter } = await this.#letter(caller.tenant, name, seq);
    await this.#settle(caller, letter.dead.channel, entry);
  }

  async #revive(tenant: string, { dead }: LetterEntry): Promise<void> {
    const { channel, group, seq, reason } = dead;
    const { logs } = this.#deps.engine;
    const entry = reason === 'attempts' && (await entryAt(logs, channelStream(tenant, channel), seq));
    if (!entry) {
      throw new RelayError('conflict', {
        what: `Message ${seq} of ${channel} cannot be delivered again: ${WHY_NOT[reason]}.`,
        hint: `Send the message again, then delete the dead letter: relay channel dead drop ${channel}`,
      });
    }
    const log = new GroupLog(this.#deps, tenant, channel, group);
    await log.propose((state) => (state.open.has(seq) ? [] : [['revive', seq]]));
  }

  async #letter(tenant: string, name: string, seq: number): Promise<{ entry: Entry; letter: LetterEntry }> {
    const channel = checkChannelName(name);
    for await (const found of this.#letters(tenant, channel)) if (found.entry.seq === seq) return found;
    throw new RelayError('not_found', {
      what: `the dead letter ${seq} of ${channel}`,
      hint: `List the dead letters with: relay channel dead list ${channel}`,
    });
  }

  async #settle({ tenant, name }: Caller, channel: string, { seq, at }: Entry): Promise<void> {
    const { retentionMs } = this.#deps.settings;
    const expiresAt = Math.max(at + retentionMs, this.#deps.env.now()) + MARK_MARGIN_MS;
    await this.#settled.put(`${settledPrefix(tenant, channel)}${seq}`, { by: name }, { expiresAt });
  }

  /**
   * Adds a dead letter. The group settles the message afterwards. If a crash prevents this, the message is added
   * again, and the id of the entry prevents a second dead letter.
   */
  async put(
    at: { tenant: string; channel: string; group: string },
    entry: Entry,
    work: Pick<Work, 'attempt' | 'why'> | undefined,
    reason: DeadLetter['reason'],
  ): Promise<void> {
    const { attempt: attempts = 0, why } = work ?? {};
    const { tenant, channel, group } = at;
    const target = deadLetterChannel(channel);
    const letter = channelEntry(entry.data);
    if (target === null || letter === null) return;
    const dead: DeadLetter = {
      channel,
      group,
      seq: entry.seq,
      ts: entry.at,
      attempts,
      reason,
      ...(why ? { why } : {}),
    };
    const id = `dead:${entry.seq}:${group}`;
    await appendMessage(this.#deps, tenant, target, asJson({ ...letter, dead }), { id, again: true });
    await this.#directory.note(tenant, target);
    this.#deps.onDead(tenant, { ...letter, dead });
  }

  /**
   * Finds messages that are older than the cutoff and that no member holds now, and moves them to the dead letters.
   * Messages that wait for another attempt are moved too. Returns the new state of the group.
   */
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

  /**
   * Moves messages to the dead letters. `seqs` is in ascending order. The cursor of the group moves to the last new
   * message in `seqs`, so `seqs` must also contain all new messages before the last one. Otherwise the group would skip
   * them.
   */
  async move(log: GroupLog, seqs: readonly number[], reason: DeadLetter['reason']): Promise<void> {
    const stream = channelStream(log.tenant, log.channel);
    const state = await log.state();
    for (const seq of seqs) {
      const entry = await entryAt(this.#deps.engine.logs, stream, seq);
      if (entry) await this.put(log, entry, state.open.get(seq), reason);
    }
    await log.propose((current, now) =>
      seqs.filter((seq) => isUnclaimed(current, seq, now)).map((seq): Step => ['dead', seq]),
    );
  }
}

const WHY_NOT: { readonly [K in DeadLetter['reason']]: string } = {
  attempts: 'the channel has deleted it',
  age: 'no member claimed it before it expired',
  gone: 'its pointer has expired or was revoked',
};
