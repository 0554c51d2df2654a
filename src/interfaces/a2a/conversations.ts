import type { Message } from '@a2a-js/sdk';
import { A2A_TASK_TTL_MS, DEFAULT_TTL_MS } from '../../base/limits.ts';
import { hasMade, may, reaches } from '../../contract/authorize.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import { threads } from '../../contract/threads.ts';
import { type RecordsOf, recordsOf } from '../../domain/records.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import { summaryOf } from './messages.ts';

/** A message that begins a task. */
export interface Begun {
  readonly context_id: string;
  readonly thread_id: string;
  /** Which time this is that the very same message begins a task. */
  readonly attempt: number;
  /** The task that it has begun. */
  readonly task?: string;
}

/** Which thread a message belongs to, for one tenant: a conversation is a thread, however often a message comes. */
export class Conversations {
  readonly #core: RelayCore;
  readonly #relay: Relay;
  readonly #caller: Caller;
  readonly #prefix: string;
  readonly #messages: RecordsOf<Begun>;
  readonly #contexts: RecordsOf<string>;

  constructor(core: RelayCore, relay: Relay, caller: Caller) {
    this.#core = core;
    this.#relay = relay;
    this.#caller = caller;
    this.#prefix = `ten.${caller.tenant}/a2a/`;
    this.#messages = recordsOf(core.deps.engine.records);
    this.#contexts = recordsOf(core.deps.engine.records);
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
    const create = async () => (await this.#relay.threads.create({ name: summaryOf(message) })).thread_id;
    if (!contextId) return create();
    if ((await this.#access(contextId)) === 'writable') return contextId;
    const name = encodeURIComponent(contextId);
    const shared = `${this.#prefix}context/${name}`;
    for (let key = shared; ; ) {
      const kept = await this.#contexts.get(key);
      const access = kept ? await this.#access(kept.value) : 'absent';
      if (access === 'foreign' && key === shared) {
        // Somebody else's conversation has the same name: this one is known by it to its own key alone.
        key = `${this.#prefix}context/${this.#caller.keyId}/${name}`;
        continue;
      }
      const thread_id = kept && access === 'writable' ? kept.value : await create();
      const expiresAt = this.#core.deps.env.now() + A2A_TASK_TTL_MS;
      const expect = kept?.revision ?? 'absent';
      if ((await this.#contexts.put(key, thread_id, { expect, expiresAt })) !== null) return thread_id;
      if (access !== 'writable') await this.#relay.threads.delete(thread_id);
    }
  }

  /** A context may be the id of a thread. The relay writes there only for who may, or who began it over A2A. */
  async #access(id: string): Promise<'absent' | 'foreign' | 'writable'> {
    const thread = await (await this.#core.threads()).log.find(this.#caller.tenant, id);
    if (!thread) return 'absent';
    const by = thread.key;
    const isAllowed = may(this.#caller, threads.record) && reaches(this.#caller, { by });
    return isAllowed || hasMade(this.#caller, by) ? 'writable' : 'foreign';
  }

  async #note(digest: string, begun: Begun, expect?: number | 'absent'): Promise<boolean> {
    const expiresAt = this.#core.deps.env.now() + DEFAULT_TTL_MS;
    return (await this.#messages.put(this.#message(digest), begun, { expect, expiresAt })) !== null;
  }

  #message(digest: string): string {
    return `${this.#prefix}message/${digest}`;
  }
}
