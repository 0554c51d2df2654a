import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server';
import type { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

/** Long enough for what a store or a relay answers, short enough that nothing lingers behind a client that is gone. */
const PATIENCE_MS = 1_000;

/**
 * The library drops what is under way when standard input ends. A client that writes its requests and closes its end,
 * as a shell pipe does, has asked all the same: the wire stays open until they are answered, but not for long.
 */
export class LastAnswers {
  readonly #open = new Set<RequestId>();
  #answered: (() => void) | null = null;

  constructor(
    wire: StdioServerTransport,
    stdin: { readonly readableEnded: boolean },
    stdout: { readonly writable: boolean },
  ) {
    const send = wire.send.bind(wire);
    const close = wire.close.bind(wire);
    wire.send = async (message) => {
      await send(message);
      if (!('method' in message) && message.id !== undefined) this.#settle(message.id);
    };
    wire.close = async () => {
      if (stdin.readableEnded && stdout.writable) await this.#all();
      await close();
    };
  }

  expect(message: JSONRPCMessage): void {
    if (!('method' in message)) return;
    if ('id' in message) {
      // A subscription is answered by its end, which nobody waits for here.
      if (message.method !== 'subscriptions/listen') this.#open.add(message.id);
    } else if (message.method === 'notifications/cancelled')
      this.#settle(message.params?.requestId as RequestId);
  }

  #settle(id: RequestId): void {
    this.#open.delete(id);
    if (this.#open.size === 0) this.#answered?.();
  }

  async #all(): Promise<void> {
    if (this.#open.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#answered = resolve;
    const patience = setTimeout(resolve, PATIENCE_MS);
    await promise;
    clearTimeout(patience);
  }
}
