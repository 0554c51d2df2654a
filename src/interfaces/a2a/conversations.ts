import type { Message } from '@a2a-js/sdk';
import { A2A_TASK_TTL_MS, DEFAULT_TTL_MS } from '../../base/limits.ts';
import { hasMade, may, reaches } from '../../contract/authorize.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import { threads } from '../../contract/threads.ts';
import { recordsOf } from '../../domain/records.ts';
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

/** Which thread a message belongs to, for one caller: a conversation is a thread, however often a message comes. */
export function conversationsOf(core: RelayCore, relay: Relay, caller: Caller) {
  const { engine, env } = core.deps;
  const prefix = `ten.${caller.tenant}/a2a/`;
  const messages = recordsOf<Begun>(engine.records);
  const contexts = recordsOf<string>(engine.records);
  const messageKey = (digest: string) => `${prefix}message/${digest}`;

  async function note(digest: string, begun: Begun, expect?: number | 'absent'): Promise<boolean> {
    const expiresAt = env.now() + DEFAULT_TTL_MS;
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
      const kept = await contexts.get(key);
      const access = kept ? await accessTo(kept.value) : 'absent';
      if (access === 'foreign' && key === shared) {
        // Somebody else's conversation has the same name: this one is known by it to its own key alone.
        key = `${prefix}context/${caller.keyId}/${name}`;
        continue;
      }
      const thread_id = kept && access === 'writable' ? kept.value : await create();
      const expiresAt = env.now() + A2A_TASK_TTL_MS;
      const expect = kept?.revision ?? 'absent';
      if ((await contexts.put(key, thread_id, { expect, expiresAt })) !== null) return thread_id;
      if (access !== 'writable') await relay.threads.delete(thread_id);
    }
  }

  /** A context may be the id of a thread. The relay writes there only for who may, or who began it over A2A. */
  async function accessTo(id: string): Promise<'absent' | 'foreign' | 'writable'> {
    const thread = await (await core.threads()).log.find(caller.tenant, id);
    if (!thread) return 'absent';
    const by = thread.key;
    const isAllowed = may(caller, threads.record) && reaches(caller, { by });
    return isAllowed || hasMade(caller, by) ? 'writable' : 'foreign';
  }

  return {
    /** `isRepeated`: whether the task that the same message has begun before is what it asks for again. */
    async begin(
      message: Message,
      digest: string,
      isRepeated: (task: string) => Promise<boolean>,
    ): Promise<Begun> {
      for (;;) {
        const seen = await messages.get(messageKey(digest));
        const before = seen?.value;
        if (before && (before.task === undefined || (await isRepeated(before.task)))) return before;
        const thread_id = await threadFor(message);
        const context_id = message.contextId || thread_id;
        const begun = { context_id, thread_id, attempt: (before?.attempt ?? 0) + 1 };
        if (await note(digest, begun, seen?.revision ?? 'absent')) return begun;
        // The same message has come twice at once.
        if (!message.contextId) await relay.threads.delete(thread_id);
      }
    },

    began: (digest: string, begun: Begun, task: string) => note(digest, { ...begun, task }),

    /** The thread that a message began which 0.1.0 took; null where it took none of this id. */
    async begunByOlder(agent: string, messageId: string): Promise<string | null> {
      const name = encodeURIComponent(`${agent} ${messageId}`).slice(0, 500);
      return (await contexts.get(`${prefix}message/${name}`))?.value ?? null;
    },
  };
}
