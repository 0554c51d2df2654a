import { isRelayError } from '../base/errors.ts';
import { deferred } from '../base/pause.ts';
import { parsePointer } from '../contract/pointer-url.ts';
import type { Receipt } from '../contract/pointers.ts';
import { TASK_STATUSES, type TaskResult } from '../contract/tasks.ts';
import type { ContextRelay } from './context-relay.ts';
import type { ReceivedMessage, Subscription } from './subscription.ts';

/** The channel tells at once; asking by id now and then makes up for whatever it could have missed. */
const ASK_EVERY_MS = 15_000;
/** Of results without a mark that nobody took: whoever waits for one does so a moment later. */
const EARLY_KEPT = 16;

export type FoundResult = Pick<TaskResult, 'url' | 'status' | 'summary'>;

interface Waiter {
  readonly id: string;
  /** Takes a result that names no task, as older agents send it. */
  readonly unmarked: boolean;
  found(result: FoundResult): void;
}

interface Unmarked {
  readonly result: FoundResult;
  /** When it came to the channel, in ms. */
  readonly ts: number;
}

interface Listening {
  readonly subscription: Subscription;
  readonly waiters: Set<Waiter>;
  /** Results that name no task and that nobody waited for when they came, the newest last. */
  readonly early: Unmarked[];
  /** Those who listen, whether they wait already or not: as long as there is one, the subscription is kept. */
  holders: number;
}

/**
 * Brings the results of tasks to those who wait for them: the SDK's bridge, the MCP tool and A2A. There is one subscription
 * for each done channel, however many wait on it.
 */
export class ResultWaiters {
  readonly #client: ContextRelay;
  readonly #listening = new Map<string, Listening>();
  #keys: Promise<boolean> | null = null;

  constructor(client: ContextRelay) {
    this.#client = client;
  }

  /** Resolves once no result on this channel can be missed. Whoever holds it must let go of it. */
  async listen(channel: string): Promise<Disposable & { wait: Wait }> {
    let listening = this.#listening.get(channel);
    if (!listening) {
      const waiters = new Set<Waiter>();
      const early: Unmarked[] = [];
      const subscription = this.#client.subscribe(channel, (message) => this.#told(message, waiters, early));
      listening = { subscription, waiters, early, holders: 0 };
      this.#listening.set(channel, listening);
    }
    const held = listening;
    held.holders++;
    const leave = () => {
      if (--held.holders > 0) return;
      this.#listening.delete(channel);
      void held.subscription.close();
    };
    try {
      await held.subscription.ready;
    } catch (error) {
      leave();
      throw error;
    }
    return { wait: (id, o) => this.#wait(id, o, held), [Symbol.dispose]: leave };
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
    // A subscription that ended for good leaves nothing to wait for.
    subscription.done.then(stop, reject);
    const ask = async () => {
      const result = await this.#confirmed(id);
      if (result) resolve(result);
    };
    ask().catch((error) => {
      // Without the scope for tasks nothing that comes can be confirmed.
      if (strict || isRelayError(error, 'forbidden')) reject(error);
    });
    if (unmarked) void this.#among(early, waiter);
    // A relay that does not answer now is asked again at the next interval.
    const asking = setInterval(() => ask().catch(() => {}), ASK_EVERY_MS);
    try {
      return await promise;
    } finally {
      clearInterval(asking);
      signal.removeEventListener('abort', stop);
      waiters.delete(waiter);
    }
  }

  async #told(message: ReceivedMessage, waiters: ReadonlySet<Waiter>, early: Unmarked[]): Promise<void> {
    const { url, metadata, ts } = message;
    if (!url) return;
    const about = metadata?.task_id;
    const summary = typeof metadata?.summary === 'string' ? metadata.summary : null;
    const status = TASK_STATUSES.find((each) => each === metadata?.status) ?? 'done';
    const result: FoundResult = { url, status, summary };
    if (typeof about === 'string') {
      const waiting = [...waiters].filter(({ id }) => id === about.toLowerCase());
      if (waiting.length === 0) return;
      // A relay that does not answer now is asked again soon.
      const confirmed = await this.#confirmed(about.toLowerCase(), result).catch(() => null);
      if (confirmed) for (const waiter of waiting) waiter.found(confirmed);
      return;
    }
    // Where keys are on, whoever may push to the channel could say anything.
    if (await this.#asksForKeys().catch(() => true)) return;
    for (const waiter of waiters) {
      if (!waiter.unmarked || !(await this.#untouched(waiter.id))) continue;
      waiter.found(result);
      return;
    }
    early.push({ result, ts });
    if (early.length > EARLY_KEPT) early.shift();
  }

  /**
   * The result that the relay has for the task, null where it has none: a message on the channel alone proves nothing. `told` is what
   * a message says. Its URL is taken where it names the same pointer, because it may have the key of an encrypted result.
   */
  async #confirmed(id: string, told: FoundResult | null = null): Promise<FoundResult | null> {
    try {
      const { result, receipts } = await this.#client.tasks.get(id);
      const found = result ?? resultIn(receipts);
      return found && told && pointerOf(found) === pointerOf(told) ? { ...found, url: told.url } : found;
    } catch (error) {
      // A relay with keys knows tasks: there the task is gone, and whoever deleted it may have sent the message.
      if (told && isOlderRelay(error) && !(await this.#asksForKeys())) return told;
      throw error;
    }
  }

  /** Asked once. A relay that knows no keys asks for none. */
  #asksForKeys(): Promise<boolean> {
    this.#keys ??= this.#client.asksForKeys().catch((error) => {
      this.#keys = null;
      if (isOlderRelay(error)) return false;
      throw error;
    });
    return this.#keys;
  }

  /** A result may be faster than whoever has just sent the task; one that came before the task is another's. */
  async #among(early: Unmarked[], { id, found }: Waiter): Promise<void> {
    if (early.length === 0 || !(await this.#untouched(id))) return;
    const task = await this.#client.tasks.get(id).catch(() => null);
    const at = task ? early.findIndex(({ ts }) => ts >= Date.parse(task.created_at)) : -1;
    if (at >= 0) found(early.splice(at, 1)[0]!.result);
  }

  /** No bridge that marks its results has taken it, so that a result without a mark may be its. */
  async #untouched(id: string): Promise<boolean> {
    try {
      const { state, attempt } = await this.#client.tasks.get(id);
      return state === 'queued' && attempt === 0;
    } catch (error) {
      return isOlderRelay(error);
    }
  }
}

/** A push that names the task without a status of the table is no result to the relay, and still what came of it. */
export function resultIn(receipts: readonly Receipt[]): FoundResult | null {
  const found = receipts.find(({ rung, url }) => rung === 'result' && url !== undefined);
  if (!found) return null;
  const status = TASK_STATUSES.find((each) => each === found.status) ?? 'done';
  return { url: found.url!, status, summary: found.summary ?? null };
}

function pointerOf({ url }: FoundResult): string {
  return parsePointer(url).id;
}

/** An older relay knows neither tasks nor keys. */
function isOlderRelay(error: unknown): boolean {
  return isRelayError(error, 'not_found') || isRelayError(error, 'no_route');
}

/** Null when the signal came first. `strict`: rejects where there is no such task. */
type Wait = (
  id: string,
  o: { readonly signal: AbortSignal; readonly unmarked?: boolean; readonly strict?: boolean },
) => Promise<FoundResult | null>;
