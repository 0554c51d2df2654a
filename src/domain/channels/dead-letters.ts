import type { DeadLetter } from '../../contract/channels.ts';
import type { Entry } from '../../kernel/logs.ts';
import type { Ground } from '../ground.ts';
import { channelStream, deadLetterChannel } from '../names.ts';
import { asJson } from '../records.ts';
import type { Directory } from './directory.ts';
import { type ChannelEntry, channelEntry } from './message.ts';

/** Told of every letter, once it is where people can look at it. */
export type OnDead = (tenant: string, letter: ChannelEntry & { readonly dead: DeadLetter }) => void;

/** Work that a group could not do, kept where people can look at it. */
export class DeadLetters {
  readonly #ground: Ground;
  readonly #directory: Directory;

  readonly #onDead: OnDead | undefined;

  constructor(ground: Ground, directory: Directory, onDead?: OnDead) {
    this.#ground = ground;
    this.#directory = directory;
    this.#onDead = onDead;
  }

  /** Before the group settles it, and under an id: a crash in between puts it here once, not never and not twice. */
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
    await this.#ground.engine.logs.append(channelStream(tenant, target), asJson({ ...letter, dead }), { id });
    await this.#directory.note(tenant, target);
    this.#onDead?.(tenant, { ...letter, dead });
  }
}
