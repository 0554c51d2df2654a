import { isRelayError } from '../../base/errors.ts';
import type { ThreadsApi } from '../../contract/threads.ts';
import type { PatchOp } from '../../formats/json-patch/apply.ts';
import type { Step } from './definition.ts';
import type { StepStatus } from './runner.ts';

/**
 * Keeps the plan in the state of a run up to date. The log is the truth and this is a view of it, so changes that come
 * while one is being written go together into the next.
 */
export class StepRecorder {
  readonly #threads: ThreadsApi;
  readonly #run: string;
  readonly #places: ReadonlyMap<string, number>;
  readonly #statuses = new Map<string, StepStatus>();
  #actions: { description: string; result_ref?: string }[] = [];
  #writing: Promise<void> | null = null;
  #failure: unknown = null;

  constructor(threads: ThreadsApi, run: string, steps: readonly Step[]) {
    this.#threads = threads;
    this.#run = run;
    this.#places = new Map(steps.map(({ id }, index) => [id, index]));
  }

  /** The plan as it is at the beginning. */
  static plan(steps: readonly Step[]): PatchOp {
    const value = steps.map(({ id, agent }) => ({ id, step: `${id} (${agent})`, status: 'pending' }));
    return { op: 'add', path: '/plan', value };
  }

  status(step: string, status: StepStatus): void {
    this.#statuses.set(step, status);
    this.#write();
  }

  action(description: string, result_ref?: string): void {
    this.#actions.push({ description, ...(result_ref ? { result_ref } : {}) });
    this.#write();
  }

  /** Resolves once everything said so far is written. */
  async settle(): Promise<void> {
    while (this.#writing) await this.#writing;
    if (this.#failure) throw this.#failure;
  }

  #write(): void {
    this.#writing ??= this.#drain()
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => {
        this.#writing = null;
      });
  }

  async #drain(): Promise<void> {
    await Promise.resolve();
    while (this.#statuses.size > 0 || this.#actions.length > 0) {
      const ops: PatchOp[] = [];
      for (const [id, status] of this.#statuses) {
        const at = this.#places.get(id);
        if (at === undefined) continue;
        ops.push({ op: 'test', path: `/plan/${at}/id`, value: id });
        ops.push({ op: 'replace', path: `/plan/${at}/status`, value: status });
      }
      for (const action of this.#actions) ops.push({ op: 'add', path: '/last_actions/-', value: action });
      this.#statuses.clear();
      this.#actions = [];
      try {
        if (ops.length > 0) await this.#threads.patch(this.#run, { ops });
      } catch (error) {
        // Somebody changed the plan by hand; it is theirs then.
        if (!isRelayError(error)) throw error;
      }
    }
  }
}
