import { TaskNotFoundError } from '@a2a-js/sdk/errors';
import { A2A_TASK_TTL_MS, A2A_TASKS_LISTED } from '../../base/limits.ts';
import type { Deps } from '../../domain/deps.ts';
import { allRecords, type RecordsOf, recordsOf } from '../../domain/records.ts';
import { nextStep, type TaskRecord } from './task-record.ts';

/** The records of the tasks that others have given to agents of one tenant. */
export class TaskStore {
  readonly #deps: Deps;
  readonly #records: RecordsOf<TaskRecord>;
  readonly #prefix: string;

  constructor(deps: Deps, tenant: string) {
    this.#deps = deps;
    this.#records = recordsOf(deps.engine.records);
    this.#prefix = `ten.${tenant}/a2a/task/`;
  }

  get(id: string): ReturnType<RecordsOf<TaskRecord>['get']> {
    return this.#records.get(this.#prefix + id);
  }

  /** False where the task is not what was expected of it. */
  async write(record: TaskRecord, expect: 'absent' | number): Promise<boolean> {
    const expiresAt = this.#deps.env.now() + A2A_TASK_TTL_MS;
    return (await this.#records.put(this.#prefix + record.id, record, { expect, expiresAt })) !== null;
  }

  /** Writes what came of a task, and that it was something else before; null where that is not what it was. */
  async move(before: TaskRecord, next: TaskRecord, revision: number): Promise<TaskRecord | null> {
    const record = nextStep(before, next);
    return (await this.write(record, revision)) ? record : null;
  }

  /** Applies a change to the newest state of a task; null leaves it as it is. */
  async change(id: string, change: (now: TaskRecord) => TaskRecord | null): Promise<TaskRecord> {
    for (;;) {
      const kept = await this.get(id);
      if (!kept) throw new TaskNotFoundError(`Task not found: ${id}`);
      const next = change(kept.value);
      if (next === null) return kept.value;
      const moved = await this.move(kept.value, next, kept.revision);
      if (moved) return moved;
    }
  }

  /** Newest first. */
  async list(keep: (record: TaskRecord) => boolean): Promise<TaskRecord[]> {
    const found: TaskRecord[] = [];
    for await (const { value } of allRecords(this.#records, this.#prefix)) {
      found.push(value);
      if (found.length === A2A_TASKS_LISTED) break;
    }
    return found.filter(keep).sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  }
}
