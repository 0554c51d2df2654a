import type { Worker } from 'node:worker_threads';
import type { TokenCount, TokenCounter } from '../../base/tokens.ts';

/** Counts in this process, and loads the tokenizer when there is something to count. For a command that ends soon. */
export const ownTokenCounter: TokenCounter = {
  count: async (text) => (await import('../../text/token-count.ts')).countTokens(text),
};

export interface TokenQuestion {
  readonly id: number;
  readonly text: string;
}

export type TokenAnswer = { readonly id: number } & (TokenCount | { readonly error: string });

/**
 * Counts in a thread of its own, so that a long text does not hold up those who ask a server for something else. The
 * thread begins with the first question; should it end, the next question begins another.
 */
export class ThreadTokenCounter implements TokenCounter, AsyncDisposable {
  #worker: Promise<Worker> | null = null;
  readonly #waiting = new Map<number, PromiseWithResolvers<TokenCount>>();
  #asked = 0;

  async count(text: string): Promise<TokenCount> {
    this.#worker ??= this.#start().catch((error) => {
      this.#worker = null;
      throw error;
    });
    const worker = await this.#worker;
    const waiter = Promise.withResolvers<TokenCount>();
    const id = ++this.#asked;
    this.#waiting.set(id, waiter);
    worker.ref();
    worker.postMessage({ id, text } satisfies TokenQuestion);
    return waiter.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const worker = await this.#worker?.catch(() => null);
    await worker?.terminate();
  }

  async #start(): Promise<Worker> {
    const { Worker } = await import('node:worker_threads');
    // The sources run as they are; what is built lies beside this file under the name the build gives it.
    const name = import.meta.url.endsWith('.ts') ? './token-worker.ts' : './token-worker.js';
    const worker = new Worker(new URL(name, import.meta.url), { name: 'tokens' });
    worker.unref();
    worker.on('message', ({ id, ...answer }: TokenAnswer) => {
      const waiter = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) worker.unref();
      if ('error' in answer) waiter?.reject(new Error(answer.error));
      else waiter?.resolve(answer);
    });
    worker.on('error', (error: Error) => this.#end(error));
    worker.on('exit', () => this.#end(new Error('the counting thread ended')));
    return worker;
  }

  #end(error: Error): void {
    this.#worker = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(error);
  }
}
