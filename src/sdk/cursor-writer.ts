import type { InboxApi } from '../contract/inbox.ts';

/** How long what was handled may go unwritten: a crash gives it once more. */
const WRITE_AFTER_MS = 200;

/** Tells the relay now and then how far a durable subscriber has come. */
export class CursorWriter {
  readonly #inbox: InboxApi;
  readonly #agent: string;
  readonly #channel: string;
  #reached = 0;
  #written = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(inbox: InboxApi, agent: string, channel: string) {
    this.#inbox = inbox;
    this.#agent = agent;
    this.#channel = channel;
  }

  move(seq: number): void {
    if (seq <= this.#reached) return;
    this.#reached = seq;
    this.#timer ??= setTimeout(() => {
      // The relay is out of reach: the next message, or the end, tries again.
      this.#write().catch(() => {});
    }, WRITE_AFTER_MS);
  }

  async flush(): Promise<void> {
    await this.#write();
  }

  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing
      .catch(() => {})
      .then(async () => {
        const reached = this.#reached;
        if (reached <= this.#written) return;
        await this.#inbox.markRead(this.#agent, { [this.#channel]: reached });
        this.#written = reached;
      });
    return this.#writing;
  }
}
