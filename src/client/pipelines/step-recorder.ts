import { isRelayError } from '../../base/errors.ts';
import type { ThreadsApi } from '../../contract/threads.ts';
import type { PatchOp } from '../../formats/json-patch/apply.ts';
import type { Step } from './definition.ts';
import type { StepStatus } from './step-runner.ts';

/**
 * Keeps the plan in the state of a run up to date. The log is the truth and this is a view of it, so changes that come
 * while one is being written go together into the next.
 */
export class StepRecorder {
  readonly #threads: ThreadsApi;
  readonly #run: string;
  readonly #places: ReadonlyMap<string, number>;
  #ops: PatchOp[] = [];
  /** Rejected, and no longer tried, once the store has failed. */
  #writing: Promise<void> | null = null;

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
    const at = `/plan/${this.#places.get(step)}`;
    this.#write(
      { op: 'test', path: `${at}/id`, value: step },
      { op: 'replace', path: `${at}/status`, value: status },
    );
  }

  action(description: string, result_ref?: string): void {
    const value = { description, ...(result_ref ? { result_ref } : {}) };
    this.#write({ op: 'add', path: '/last_actions/-', value });
  }

  /** Resolves once everything said so far is written. */
  async settle(): Promise<void> {
    await this.#writing;
  }

  #write(...ops: readonly PatchOp[]): void {
    this.#ops.push(...ops);
    if (this.#writing) return;
    this.#writing = this.#drain();
    // Whoever settles hears of a failure.
    this.#writing.catch(() => {});
  }

  async #drain(): Promise<void> {
    await Promise.resolve();
    while (this.#ops.length > 0) {
      const ops = this.#ops;
      this.#ops = [];
      try {
        await this.#threads.patch(this.#run, { ops });
      } catch (error) {
        // Somebody changed the plan by hand; it is theirs then.
        if (!isRelayError(error)) throw error;
      }
    }
    this.#writing = null;
  }
}
