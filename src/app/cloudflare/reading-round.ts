import { toMessage } from '../../domain/channels/message.ts';
import type { Entry } from '../../kernel/logs.ts';

/** What many readers of a channel get at the same time: read once, and written once for each address they know the relay by. */
export class ReadingRound {
  readonly #read: (after: number) => Entry[];
  readonly #pages = new Map<number, Entry[]>();
  readonly #frames = new Map<string, string>();

  constructor(read: (after: number) => Entry[]) {
    this.#read = read;
  }

  behind(after: number): Entry[] {
    let entries = this.#pages.get(after);
    if (entries === undefined) {
      entries = this.#read(after);
      this.#pages.set(after, entries);
    }
    return entries;
  }

  /** Without the mark of a gap, which is told by itself. */
  frame(entry: Entry, base: string): string {
    const key = `${entry.seq} ${base}`;
    let frame = this.#frames.get(key);
    if (frame === undefined) {
      const { gap: _, ...message } = toMessage(entry, base)!;
      frame = JSON.stringify(message);
      this.#frames.set(key, frame);
    }
    return frame;
  }
}
