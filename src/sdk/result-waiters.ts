import { isRelayError } from '../base/errors.ts';
import { deferred } from '../base/pause.ts';
import { parsePointer } from '../contract/pointer-url.ts';
import type { Receipt } from '../contract/pointers.ts';
import { TASK_STATUSES, type TaskResult } from '../contract/tasks.ts';
import type { ContextRelay } from './context-relay.ts';
import type { ReceivedMessage, Subscription } from './subscription.ts';

/**
 * Interval in ms at which a waiter asks the relay for the task. This finds the result if the waiter missed
 * the message on the done channel.
 */
const POLL_MS = 15_000;
/**
 * Maximum number of early results per channel: results without a task id that arrived before anybody waited
 * for them.
 */
const EARLY_RESULTS = 16;

/** Result of a task, as the relay or a message on its done channel reports it. */
export type FoundResult = Pick<TaskResult, 'url' | 'status' | 'summary'>;

interface Waiter {
  readonly id: string;
  /** True if the waiter accepts a result without a task id. Old agents send such results. */
  readonly unmarked: boolean;
  found(result: FoundResult): void;
}

interface Unmarked {
  readonly result: FoundResult;
  /** Time of the message, in ms since the epoch. */
  readonly ts: number;
}

interface Listening {
  readonly subscription: Subscription;
  readonly waiters: Set<Waiter>;
  /** Results without a task id that arrived before anybody waited for them, newest last. */
  readonly early: Unmarked[];
  /** Number of `listen` calls that are not disposed yet. When it becomes 0, the subscription is closed. */
  holders: number;
}

/**
 * Waits for the results of tasks, for the SDK's bridge, the MCP tool and A2A. All waiters of a done channel share one
 * subscription.
 */
export class ResultWaiters {
  readonly #client: ContextRelay;
  readonly #listening = new Map<string, Listening>();
  #keys: Promise<boolean> | null = null;

  constructor(client: ContextRelay) {
    this.#client = client;
  }

  /**
   * Subscribes to a done channel. Resolves when the subscription is ready, so that no later result is missed. The
   * caller must dispose the returned object.
   */
  async listen(channel: string): Promise<Disposable & { wait: Wait }> {
    let listening = this.#listening.get(channel);
    if (!listening) {
      const waiters = new Set<Waiter>();
      const early: Unmarked[] = [];
      const subscription = this.#client.subscribe(channel, (message) =>
        this.#handleMessage(message, waiters, early),
      );
      listening = { subscription, waiters, early, holders: 0 };
      this.#listening.set(channel, listening);
    }
    const shared = listening;
    shared.holders++;
    const leave = () => {
      if (--shared.holders > 0) return;
      this.#listening.delete(channel);
      void shared.subscription.close();
    };
    try {
      await shared.subscription.ready;
    } catch (error) {
      leave();
      throw error;
    }
    return { wait: (id, options) => this.#wait(id, options, shared), [Symbol.dispose]: leave };
  }

  async #wait(
    id: string,
    { signal, unmarked = false, strict = false }: Parameters<Wait>[1],
    { subscription, waiters, early }: Listening,
  ): Promise<FoundResult | null> {
    const { promise, resolve, reject } = deferred<FoundResult | null>();
    const waiter: Waiter = { id, unmarked, found: resolve };
    waiters.add(waiter);
    const stop = () => resolve(null);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    // Stop waiting if the subscription has ended.
    subscription.done.then(stop, reject);
    const ask = async () => {
      const result = await this.#fetchResult(id);
      if (result) resolve(result);
    };
    ask().catch((error) => {
      // An API key without the scope for tasks can read no result, so stop waiting.
      if (strict || isRelayError(error, 'forbidden')) reject(error);
    });
    if (unmarked) void this.#takeEarly(early, waiter);
    // If the relay does not answer, the next interval tries again.
    const polling = setInterval(() => ask().catch(() => {}), POLL_MS);
    try {
      return await promise;
    } finally {
      clearInterval(polling);
      signal.removeEventListener('abort', stop);
      waiters.delete(waiter);
    }
  }

  async #handleMessage(message: ReceivedMessage, waiters: ReadonlySet<Waiter>, early: Unmarked[]) {
    const { url, metadata, ts } = message;
    if (!url) return;
    const taskId = metadata?.task_id;
    const summary = typeof metadata?.summary === 'string' ? metadata.summary : null;
    const status = TASK_STATUSES.find((each) => each === metadata?.status) ?? 'done';
    const result: FoundResult = { url, status, summary };
    if (typeof taskId === 'string') {
      const waiting = [...waiters].filter(({ id }) => id === taskId.toLowerCase());
      if (waiting.length === 0) return;
      // Ask the relay, because a message alone proves no result. If the relay does not answer, the next poll
      // of the waiter tries again.
      const confirmed = await this.#fetchResult(taskId.toLowerCase(), result).catch(() => null);
      if (confirmed) for (const waiter of waiting) waiter.found(confirmed);
      return;
    }
    // On a relay with API keys, ignore a result without a task id. Any client that may push to the channel
    // could have forged it.
    if (await this.#asksForKeys().catch(() => true)) return;
    for (const waiter of waiters) {
      if (!waiter.unmarked || !(await this.#isUnclaimed(waiter.id))) continue;
      waiter.found(result);
      return;
    }
    early.push({ result, ts });
    if (early.length > EARLY_RESULTS) early.shift();
  }

  /**
   * Returns the result that the relay has stored for the task, or null. A message on the channel alone is no proof of a
   * result. `announced` is the result in such a message. If both results are the same pointer, the URL of `announced`
   * is returned, because only that URL can contain the encryption key.
   */
  async #fetchResult(id: string, announced: FoundResult | null = null): Promise<FoundResult | null> {
    try {
      const { result, receipts } = await this.#client.tasks.get(id);
      const found = result ?? resultFromReceipts(receipts);
      return found && announced && pointerOf(found) === pointerOf(announced)
        ? { ...found, url: announced.url }
        : found;
    } catch (error) {
      // The relay does not know the task. If it requires no API keys, it is probably an old relay without
      // tasks, so trust the message. If it requires API keys, somebody has deleted the task, perhaps the
      // sender of the message, so do not trust the message.
      if (announced && isOlderRelay(error) && !(await this.#asksForKeys())) return announced;
      throw error;
    }
  }

  /** Returns whether the relay requires API keys, and caches the answer. An old relay has no API keys. */
  #asksForKeys(): Promise<boolean> {
    this.#keys ??= this.#client.asksForKeys().catch((error) => {
      this.#keys = null;
      if (isOlderRelay(error)) return false;
      throw error;
    });
    return this.#keys;
  }

  /**
   * Gives the waiter the first early result that arrived after its task was created. A result that arrived
   * before belongs to another task.
   */
  async #takeEarly(early: Unmarked[], { id, found }: Waiter): Promise<void> {
    if (early.length === 0 || !(await this.#isUnclaimed(id))) return;
    const task = await this.#client.tasks.get(id).catch(() => null);
    const at = task ? early.findIndex(({ ts }) => ts >= Date.parse(task.created_at)) : -1;
    if (at >= 0) found(early.splice(at, 1)[0]!.result);
  }

  /**
   * Returns whether no bridge has taken the task yet. Current bridges take a task before they work on it, and their
   * results have a task id. So a result without a task id does not belong to a task that was taken.
   */
  async #isUnclaimed(id: string): Promise<boolean> {
    try {
      const { state, attempt } = await this.#client.tasks.get(id);
      return state === 'queued' && attempt === 0;
    } catch (error) {
      return isOlderRelay(error);
    }
  }
}

/**
 * Returns the result in the receipts of a task, or null. If a relay does not know the status of a result, it omits the
 * result from the task, but the receipts still list it. This returns such a result with the status `done`.
 */
export function resultFromReceipts(receipts: readonly Receipt[]): FoundResult | null {
  const found = receipts.find(({ rung, url }) => rung === 'result' && url !== undefined);
  if (!found) return null;
  const status = TASK_STATUSES.find((each) => each === found.status) ?? 'done';
  return { url: found.url!, status, summary: found.summary ?? null };
}

function pointerOf({ url }: FoundResult): string {
  return parsePointer(url).id;
}

/**
 * Returns whether the error means that the relay does not know the route or the task. An old relay has neither tasks
 * nor API keys.
 */
function isOlderRelay(error: unknown): boolean {
  return isRelayError(error, 'not_found') || isRelayError(error, 'no_route');
}

/**
 * Waits for the result of a task. Resolves with null if the signal aborts first. With `strict`, rejects if the first
 * request for the task fails.
 */
type Wait = (
  id: string,
  options: { readonly signal: AbortSignal; readonly unmarked?: boolean; readonly strict?: boolean },
) => Promise<FoundResult | null>;
