import { isUuid } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import { AGENT_NAME_CHARS, RESULT_SUMMARY_CHARS } from '../../base/limits.ts';
import { authorize, may } from '../../contract/authorize.ts';
import type { Caller } from '../../contract/caller.ts';
import { pointerUrl } from '../../contract/pointer-url.ts';
import { resultKey, settledTask, type TaskResult, tasks } from '../../contract/tasks.ts';
import type { FromRecord } from '../../contract/verb.ts';
import type { Deps } from '../deps.ts';
import type { PointerLookup, PointerRecord } from '../pointers/record.ts';
import { type RecordsOf, recordsOf } from '../records.ts';

const resultRecord = (taskId: string) => `ptr.${taskId}/result`;

/**
 * Stored result of a task. It contains enough of the task to describe it after the pointer of the task has
 * expired.
 */
export interface KeptResult extends Pick<TaskResult, 'status' | 'summary' | 'by'> {
  readonly pointer: string;
  readonly at: number;
  readonly tenant: string;
  /** Name of the agent that did the task. Absent if the result does not name it. */
  readonly agent?: string;
  readonly task: Pick<PointerRecord, 'from' | 'created' | 'size' | 'metadata'> & { readonly channel: string };
}

/** Stores the result of each task. Only the first result counts. */
export class TaskResults {
  readonly #deps: Deps;
  readonly #records: RecordsOf<KeptResult>;
  readonly #pointers: PointerLookup;

  constructor(deps: Deps, pointers: PointerLookup) {
    this.#deps = deps;
    this.#records = recordsOf(deps.engine.records);
    this.#pointers = pointers;
  }

  /**
   * Stores the result of a task. It is called for a push that names a task, after the commit and before the
   * announcement: a subscriber that gets the announcement can then find the result by the task's id. After a crash, a
   * retry of the push stores the result. Returns false if the caller may not settle the task, so the push does not
   * count as the result.
   */
  async note(
    caller: Caller,
    pointer: string,
    pushed: { metadata: JsonObject; expires: number },
  ): Promise<boolean> {
    const { task_id, summary, agent } = pushed.metadata;
    const task = await this.#task(caller, task_id);
    if (!may(caller, tasks.done, channelsOf(task))) return false;
    const outcome = settledTask(pushed.metadata);
    if (!outcome || !task || task.channel === null) return true;
    const { channel, from, created, size, metadata } = task;
    const record: KeptResult = {
      pointer,
      status: outcome.status,
      summary: typeof summary === 'string' ? summary.slice(0, RESULT_SUMMARY_CHARS) : null,
      by: caller.name,
      at: this.#deps.env.now(),
      tenant: caller.tenant,
      ...(typeof agent === 'string' ? { agent: agent.slice(0, AGENT_NAME_CHARS) } : {}),
      task: { channel, from, created, size, metadata },
    };
    await this.#records.put(resultRecord(outcome.id), record, {
      expect: 'absent',
      expiresAt: Math.max(pushed.expires, task.expires),
    });
    return true;
  }

  /**
   * Called when the pointer of a task is renewed. Keeps the result at least as long as the pointer. Otherwise
   * the task would count as open again.
   */
  async keep(taskId: string, expires: number): Promise<void> {
    const stored = await this.#records.get(resultRecord(taskId));
    if (!stored) return;
    const { value, revision: expect } = stored;
    const result = await this.#pointers.find(value.pointer);
    const expiresAt = Math.max(expires, result?.expires ?? 0);
    await this.#records.put(resultRecord(taskId), value, { expect, expiresAt });
  }

  /**
   * Returns the idempotency key for the result that a push contains. Returns null if the push settles no
   * task. Rejects with `forbidden` if the caller may not settle the task.
   */
  async admit(caller: Caller, metadata: JsonObject): Promise<{ readonly key: string } | null> {
    const settled = settledTask(metadata);
    if (!settled) return null;
    authorize(caller, tasks.done, channelsOf(await this.#task(caller, settled.id)));
    return { key: resultKey(settled.id) };
  }

  /**
   * Returns the record of the task that a push names. Returns null if the caller's tenant has no such task.
   */
  async #task(caller: Caller, id: unknown): Promise<PointerRecord | null> {
    const task = typeof id === 'string' && isUuid(id) ? await this.#pointers.find(id.toLowerCase()) : null;
    return task?.tenant === caller.tenant ? task : null;
  }

  async isCanceled(taskId: string): Promise<boolean> {
    return (await this.#records.get(resultRecord(taskId)))?.value.status === 'canceled';
  }

  /** Returns the result of a task. Returns null if there is none or it belongs to another tenant. */
  async find(caller: Caller, taskId: string): Promise<KeptResult | null> {
    if (!isUuid(taskId)) return null;
    const record = (await this.#records.get(resultRecord(taskId.toLowerCase())))?.value;
    return record?.tenant === caller.tenant ? record : null;
  }
}

/** Returns the channels that a caller must have access to in order to settle a task. */
function channelsOf(task: PointerRecord | null): FromRecord {
  const wished = task?.metadata.done_channel;
  return { channel: task?.channel, done_channel: typeof wished === 'string' ? wished : null };
}

export function toResult(taskId: string, record: KeptResult, base: string): TaskResult {
  const { pointer, status, summary, by, at } = record;
  const url = pointerUrl(base, pointer);
  return { task_id: taskId, url, status, summary, by, at: new Date(at).toISOString() };
}
