import { toMessage } from '../../domain/channels/message.ts';
import type { EntryPage } from '../../engines/cloudflare/log-rows.ts';
import { entriesOf } from '../../engines/cloudflare/logs.ts';
import type { Entry } from '../../kernel/logs.ts';

interface Page {
  readonly after: number;
  readonly entries: readonly Entry[];
  readonly more: boolean;
}

/** What readers of a channel get who are at the same place: read once, and written once for each address they know the relay by. Only the last page is kept. */
export class ReadingRound {
  readonly #read: (after: number) => EntryPage;
  #page: Page | null = null;
  readonly #frames = new Map<string, string>();

  constructor(read: (after: number) => EntryPage) {
    this.#read = read;
  }

  behind(after: number): Page {
    if (this.#page?.after !== after) {
      const page = this.#read(after);
      this.#page = { after, entries: entriesOf(page), more: page.more };
      this.#frames.clear();
    }
    return this.#page;
  }

  /** Of the last page. Without the mark of a gap, which is told by itself. */
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
