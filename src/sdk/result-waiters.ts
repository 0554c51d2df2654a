import { isRelayError } from '../base/errors.ts';
import type { TaskResult, TaskStatus } from '../contract/tasks.ts';
import type { ContextRelay } from './context-relay.ts';
import type { ReceivedMessage, Subscription } from './subscription.ts';

/** The channel tells at once; asking by id now and then makes up for whatever it could have missed. */
const ASK_EVERY_MS = 15_000;

export interface FoundResult {
  readonly url: string;
  readonly status: TaskStatus;
  readonly summary: string | null;
}

interface Waiter {
  readonly id: string;
  /** Takes a result that names no task, as older agents send it. */
  readonly unmarked: boolean;
  found(result: FoundResult): void;
}

interface Listening {
  readonly subscription: Subscription;
  readonly waiters: Set<Waiter>;
}

/**
 * Brings the results of tasks to those who wait for them: the SDK's bridge, the MCP tool and A2A. There is one subscription
 * for each done channel, however many wait on it.
 */
export class ResultWaiters {
  readonly #client: ContextRelay;
  readonly #listening = new Map<string, Listening>();

  constructor(client: ContextRelay) {
    this.#client = client;
  }

  /** Resolves once no result on this channel can be missed. Whoever holds it must let go of it. */
  async listen(channel: string): Promise<Disposable & { wait: Wait }> {
    let listening = this.#listening.get(channel);
    if (!listening) {
      const waiters = new Set<Waiter>();
      const subscription = this.#client.subscribe(channel, (message) => this.#told(message, waiters));
      listening = { subscription, waiters };
      this.#listening.set(channel, listening);
    }
    const { subscription, waiters } = listening;
    // Stands for its holder until that one waits, so that the subscription is kept.
    const place: Waiter = { id: '', unmarked: false, found: () => {} };
    waiters.add(place);
    const leave = () => {
      waiters.delete(place);
      if (waiters.size > 0 || this.#listening.get(channel)?.waiters !== waiters) return;
      this.#listening.delete(channel);
      void subscription.close();
    };
    try {
      await subscription.ready;
    } catch (error) {
      leave();
      throw error;
    }
    const wait: Wait = (id, o) => this.#wait(id, o, { subscription, waiters });
    return { wait, [Symbol.dispose]: leave };
  }

  async #wait(
    id: string,
    { signal, unmarked = false, strict = false }: Parameters<Wait>[1],
    { subscription, waiters }: Listening,
  ): Promise<FoundResult | null> {
    let stop = () => {};
    let waiter: Waiter | undefined;
    let asking: ReturnType<typeof setInterval> | undefined;
    try {
      return await new Promise<FoundResult | null>((resolve, reject) => {
        waiter = { id, unmarked, found: resolve };
        waiters.add(waiter);
        stop = () => resolve(null);
        signal.addEventListener('abort', stop);
        if (signal.aborted) stop();
        // A subscription that ended for good leaves nothing to wait for.
        subscription.done.then(stop, reject);
        const ask = () => this.#ask(id).then((result) => result && resolve(result));
        ask().catch((error) => strict && reject(error));
        asking = setInterval(() => ask().catch(() => {}), ASK_EVERY_MS);
      });
    } finally {
      clearInterval(asking);
      signal.removeEventListener('abort', stop);
      if (waiter) waiters.delete(waiter);
    }
  }

  async #ask(id: string): Promise<TaskResult | null> {
    return (await this.#client.tasks.get(id)).result;
  }

  async #told(message: ReceivedMessage, waiters: ReadonlySet<Waiter>): Promise<void> {
    const { url, metadata } = message;
    if (!url) return;
    const about = metadata?.task_id;
    const summary = typeof metadata?.summary === 'string' ? metadata.summary : null;
    const result: FoundResult = { url, status: metadata?.status === 'failed' ? 'failed' : 'done', summary };
    if (typeof about === 'string') {
      for (const waiter of waiters) if (waiter.id === about.toLowerCase()) waiter.found(result);
      return;
    }
    for (const waiter of waiters) {
      if (!waiter.unmarked || !(await this.#untouched(waiter.id))) continue;
      waiter.found(result);
      return;
    }
  }

  /** No bridge that marks its results has taken it, so that a result without a mark may be its. */
  async #untouched(id: string): Promise<boolean> {
    try {
      const { state, attempt } = await this.#client.tasks.get(id);
      return state === 'queued' && attempt === 0;
    } catch (error) {
      // An older relay knows no tasks.
      return isRelayError(error, 'not_found') || isRelayError(error, 'no_route');
    }
  }
}

/** Null when the signal came first. `strict`: rejects where there is no such task. */
type Wait = (
  id: string,
  o: { readonly signal: AbortSignal; readonly unmarked?: boolean; readonly strict?: boolean },
) => Promise<FoundResult | null>;
