import type { Message } from '@a2a-js/sdk';
import { isRelayError } from '../../base/errors.ts';
import { A2A_TASK_TTL_MS, DEFAULT_TTL_MS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import type { Deps } from '../../domain/deps.ts';
import { type RecordsOf, recordsOf } from '../../domain/records.ts';
import { summaryOf } from './parts.ts';

/** A message that begins a task. */
export interface Begun {
  readonly context_id: string;
  readonly thread_id: string;
  /** Which time this is that the very same message begins a task. */
  readonly attempt: number;
  /** The task that it has begun. */
  readonly task?: string;
}

/** Whether the caller may write to a thread of its tenant, by its own rights. */
type MayWrite = (thread: string) => Promise<boolean>;

/** Which thread a message belongs to, for one tenant: a conversation is a thread, however often a message comes. */
export class Conversations {
  readonly #deps: Deps;
  readonly #relay: Relay;
  readonly #caller: Caller;
  readonly #mayWrite: MayWrite;
  readonly #prefix: string;
  readonly #messages: RecordsOf<Begun>;
  readonly #contexts: RecordsOf<string>;

  constructor(deps: Deps, relay: Relay, caller: Caller, mayWrite: MayWrite) {
    this.#deps = deps;
    this.#relay = relay;
    this.#caller = caller;
    this.#mayWrite = mayWrite;
    this.#prefix = `ten.${caller.tenant}/a2a/`;
    this.#messages = recordsOf(deps.engine.records);
    this.#contexts = recordsOf(deps.engine.records);
  }

  /** `isRepeated`: whether the task that the same message has begun before is what it asks for again. */
  async begin(
    message: Message,
    digest: string,
    isRepeated: (task: string) => Promise<boolean>,
  ): Promise<Begun> {
    for (;;) {
      const seen = await this.#messages.get(this.#message(digest));
      const before = seen?.value;
      if (before && (before.task === undefined || (await isRepeated(before.task)))) return before;
      const thread_id = await this.#thread(message);
      const context_id = message.contextId || thread_id;
      const begun = { context_id, thread_id, attempt: (before?.attempt ?? 0) + 1 };
      if (await this.#note(digest, begun, seen?.revision ?? 'absent')) return begun;
      // The same message has come twice at once.
      if (!message.contextId) await this.#relay.threads.delete(thread_id);
    }
  }

  async began(digest: string, begun: Begun, task: string): Promise<void> {
    await this.#note(digest, { ...begun, task });
  }

  /** The thread that a message began which 0.1.0 took; null where it took none of this id. */
  async begunByOlder(agent: string, messageId: string): Promise<string | null> {
    const name = encodeURIComponent(`${agent} ${messageId}`).slice(0, 500);
    return (await this.#contexts.get(`${this.#prefix}message/${name}`))?.value ?? null;
  }

  async #thread(message: Message): Promise<string> {
    const { contextId } = message;
    if (!contextId) return (await this.#relay.threads.create({ name: summaryOf(message) })).thread_id;
    const own = await this.#existing(contextId);
    if (own !== null && (await this.#mayWrite(own))) return own;
    const name = encodeURIComponent(contextId);
    const shared = `${this.#prefix}context/${name}`;
    for (let key = shared; ; ) {
      const kept = await this.#contexts.get(key);
      const found = kept && (await this.#existing(kept.value));
      const known = found && (await this.#mayWrite(found)) ? found : null;
      if (found && !known && key === shared) {
        // Somebody else's conversation has the same name: this one is known by it to its own key alone.
        key = `${this.#prefix}context/${this.#caller.keyId}/${name}`;
        continue;
      }
      const thread_id = known ?? (await this.#relay.threads.create({ name: summaryOf(message) })).thread_id;
      const expiresAt = this.#deps.env.now() + A2A_TASK_TTL_MS;
      const expect = kept?.revision ?? 'absent';
      if ((await this.#contexts.put(key, thread_id, { expect, expiresAt })) !== null) return thread_id;
      if (known === null) await this.#relay.threads.delete(thread_id);
    }
  }

  /** Null where there is no such thread, or it is not this tenant's. */
  async #existing(thread: string): Promise<string | null> {
    try {
      return (await this.#relay.threads.get(thread)).thread_id;
    } catch (error) {
      if (isRelayError(error) && error.status < 500) return null;
      throw error;
    }
  }

  async #note(digest: string, begun: Begun, expect?: number | 'absent'): Promise<boolean> {
    const expiresAt = this.#deps.env.now() + DEFAULT_TTL_MS;
    return (await this.#messages.put(this.#message(digest), begun, { expect, expiresAt })) !== null;
  }

  #message(digest: string): string {
    return `${this.#prefix}message/${digest}`;
  }
}
