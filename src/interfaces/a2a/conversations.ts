import type { Message } from '@a2a-js/sdk';
import { A2A_TASK_TTL_MS } from '../../base/limits.ts';
import { hasMade, may, reaches } from '../../contract/authorize.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import { threads } from '../../contract/threads.ts';
import { recordsOf } from '../../domain/records.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import { summaryOf } from './messages.ts';

/** Time in ms for which the relay recognizes a repeated message. */
const REPEAT_MS = 24 * 60 * 60 * 1000;

/** The conversation that a message has started. */
interface StartedConversation {
  readonly context_id: string;
  readonly thread_id: string;
  /** How many times an identical message has started a task, including this time. */
  readonly attempt: number;
  /** Id of the task. Absent until the task exists. */
  readonly task?: string;
}

/** Maps messages and A2A contexts of one caller to threads. A repeated message gets the thread of its first arrival. */
export function conversationsOf(core: RelayCore, relay: Relay, caller: Caller) {
  const { engine, env } = core.deps;
  const prefix = `ten.${caller.tenant}/a2a/`;
  const messages = recordsOf<StartedConversation>(engine.records);
  const contexts = recordsOf<string>(engine.records);
  const messageKey = (digest: string) => `${prefix}message/${digest}`;

  async function save(
    digest: string,
    begun: StartedConversation,
    expect?: number | 'absent',
  ): Promise<boolean> {
    const expiresAt = env.now() + REPEAT_MS;
    return (await messages.put(messageKey(digest), begun, { expect, expiresAt })) !== null;
  }

  async function threadFor(message: Message): Promise<string> {
    const { contextId } = message;
    const create = async () => (await relay.threads.create({ name: summaryOf(message) })).thread_id;
    if (!contextId) return create();
    if ((await accessTo(contextId)) === 'writable') return contextId;
    const name = encodeURIComponent(contextId);
    const shared = `${prefix}context/${name}`;
    for (let key = shared; ; ) {
      const stored = await contexts.get(key);
      const access = stored ? await accessTo(stored.value) : 'absent';
      if (access === 'foreign' && key === shared) {
        // Another API key uses this context name for a thread to which this caller may not write. Store the name only
        // for the API key of this caller.
        key = `${prefix}context/${caller.keyId}/${name}`;
        continue;
      }
      const thread_id = stored && access === 'writable' ? stored.value : await create();
      const expiresAt = env.now() + A2A_TASK_TTL_MS;
      const expect = stored?.revision ?? 'absent';
      if ((await contexts.put(key, thread_id, { expect, expiresAt })) !== null) return thread_id;
      if (access !== 'writable') await relay.threads.delete(thread_id);
    }
  }

  /**
   * Returns the caller's access to a thread that a message names as its context. `writable` is for API keys
   * that may write to threads, and for the key that created the thread.
   */
  async function accessTo(id: string): Promise<'absent' | 'foreign' | 'writable'> {
    const thread = await (await core.threads()).log.find(caller.tenant, id);
    if (!thread) return 'absent';
    const by = thread.key;
    const isAllowed = may(caller, threads.record) && reaches(caller, { by });
    return isAllowed || hasMade(caller, by) ? 'writable' : 'foreign';
  }

  return {
    /**
     * Returns the conversation for a message. If the message has already started a task, `isRepeated` decides
     * whether to use that task or to start another one.
     */
    async begin(
      message: Message,
      digest: string,
      isRepeated: (task: string) => Promise<boolean>,
    ): Promise<StartedConversation> {
      for (;;) {
        const seen = await messages.get(messageKey(digest));
        const before = seen?.value;
        if (before && (before.task === undefined || (await isRepeated(before.task)))) return before;
        const thread_id = await threadFor(message);
        const context_id = message.contextId || thread_id;
        const begun = { context_id, thread_id, attempt: (before?.attempt ?? 0) + 1 };
        if (await save(digest, begun, seen?.revision ?? 'absent')) return begun;
        // A concurrent request with the same message stored its thread first. Delete our new thread; the next
        // round of the loop returns the stored one.
        if (!message.contextId) await relay.threads.delete(thread_id);
      }
    },

    /** Stores the task that the message started. */
    recordTask: (digest: string, begun: StartedConversation, task: string) =>
      save(digest, { ...begun, task }),

    /**
     * Finds the thread of a message that version 0.1.0 accepted, by the id of the message. Returns null if there is
     * none.
     */
    async legacyThread(agent: string, messageId: string): Promise<string | null> {
      const name = encodeURIComponent(`${agent} ${messageId}`).slice(0, 500);
      return (await contexts.get(`${prefix}message/${name}`))?.value ?? null;
    },
  };
}
