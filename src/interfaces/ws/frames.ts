import { shownError } from '../../base/errors.ts';
import type { Message } from '../../contract/channels.ts';
import { channelEntry, type Entry, toMessage } from '../../domain/channels/message.ts';

/** Text frames, as they are. */
export const TEXT = { binary: false, compress: false, fin: true } as const;

/** Close codes. 1001 and 1008 are the protocol's own. */
export const GOING_AWAY = 1001;
export const REFUSED = 1008;
/** The reader does not keep up. */
export const TOO_SLOW = 4008;

/** A message on its way to many sockets: written out once for each address that its readers know the relay by. */
export class SharedFrame {
  readonly entry: Entry;
  /** The pointer it is about, for the receipt. */
  readonly pointer: string | null;
  readonly #byBase = new Map<string, Buffer>();

  constructor(entry: Entry) {
    this.entry = entry;
    this.pointer = channelEntry(entry.data)?.pointer ?? null;
  }

  for(base: string): Buffer {
    let frame = this.#byBase.get(base);
    if (!frame) {
      frame = messageFrame(toMessage(this.entry, base)!);
      this.#byBase.set(base, frame);
    }
    return frame;
  }
}

/** A gap has a frame of its own, so that a message looks the same to everyone. */
export function messageFrame({ gap: _, ...message }: Message): Buffer {
  return Buffer.from(JSON.stringify(message));
}

/** Messages behind `after` and before `next` are no longer kept. */
export function gapFrame(after: number, next: number): Buffer {
  return Buffer.from(JSON.stringify({ gap: true, after, next }));
}

export function errorFrame(error: unknown, about: { seq?: number; token?: number }): Buffer {
  return Buffer.from(JSON.stringify({ ...shownError(error).toJSON(), ...about }));
}
