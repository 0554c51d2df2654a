import { badRequest, isRelayError } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import { PIPELINE_STEPS } from '../../base/limits.ts';
import { ConcurrencyLimit } from '../../base/map-concurrent.ts';
import type { Artifact, ThreadsApi } from '../../contract/threads.ts';
import type { PatchOp } from '../../formats/json-patch/apply.ts';
import type { FrameSecret } from '../../text/frame.ts';
import type { Pipeline, Step } from './definition.ts';
import { parseExpression, referencesOf } from './expression.ts';
import { withNeeds } from './graph.ts';
import type { RunRecord } from './journal.ts';
import { type Item, Scope, type ScopeParts, type StepView } from './scope.ts';
import type { StepStatus } from './step-runner.ts';
import { type Outcome, StepWork, type WorkParts } from './step-work.ts';

export interface RunParts extends WorkParts {
  readonly inputs: RunRecord['inputs'];
  readonly maxParallel: number;
  readonly frameSecret: FrameSecret;
  readonly trigger?: Json;
  /** Returns the environment variables of a step. Placeholders in their values are already replaced. */
  envOf(step: Step): { readonly [name: string]: string };
  /** Ids of the steps to run. All steps that they need run too. By default all steps run. */
  readonly only?: readonly string[];
}

/** Results that were recorded before this execution of the run, by instance id. */
export type RecordedResults = ReadonlyMap<string, { readonly artifact: Artifact; readonly settled: boolean }>;

const OK: ReadonlySet<StepStatus> = new Set(['done', 'skipped']);

/**
 * One execution of a run. A step starts when all steps that it needs are done and a slot is free. If it
 * fails, only the steps that depend on it do not run. A step with a recorded result does not run again.
 */
export class Run {
  readonly #parts: RunParts;
  readonly #pipeline: Pipeline;
  readonly #recorded: RecordedResults;
  readonly #slots: ConcurrencyLimit;
  readonly #recorder: StepRecorder;
  readonly #views = new Map<string, StepView>();
  readonly #steps = new Map<string, Promise<void>>();
  /** Fires when a step rejects, for example because the store failed. The other steps then stop. */
  readonly #stop = new AbortController();
  #instances = 0;

  constructor(parts: RunParts, pipeline: Pipeline, recorded: RecordedResults) {
    this.#parts = { ...parts, signal: AbortSignal.any([parts.signal, this.#stop.signal]) };
    this.#pipeline = pipeline;
    this.#recorded = recorded;
    this.#slots = new ConcurrencyLimit(parts.maxParallel);
    this.#recorder = new StepRecorder(parts.threads('pipeline'), parts.run, pipeline.steps);
  }

  /** Runs the steps. Resolves with the final status when no step is running any more. */
  async execute(): Promise<Exclude<RunRecord['status'], 'running'>> {
    const { steps } = this.#pipeline;
    const selected = withNeeds(steps, this.#parts.only ?? steps.map(({ id }) => id));
    for (const step of steps) if (selected.has(step.id)) this.#begin(step);
    const ended = await Promise.allSettled(this.#steps.values());
    await this.#recorder.settle();
    const broken = ended.find((end) => end.status === 'rejected');
    if (broken) throw (broken as PromiseRejectedResult).reason;
    const statuses = [...selected].map((id) => this.#views.get(id)?.status ?? 'pending');
    if (statuses.some((status) => status === 'failed' || status === 'blocked')) return 'failed';
    if (statuses.some((status) => !OK.has(status))) return 'interrupted';
    return selected.size === steps.length ? 'done' : 'partial';
  }

  /**
   * Starts a step and returns its promise. If the step was already started, returns its existing promise: a step
   * starts the steps that it needs, even if they come later in the file.
   */
  #begin(step: Step): Promise<void> {
    let going = this.#steps.get(step.id);
    if (!going) {
      going = this.#step(step).catch((error: unknown) => {
        this.#stop.abort();
        throw error;
      });
      this.#steps.set(step.id, going);
      // Handle a rejection here, otherwise the runtime reports it as unhandled. `execute` reports the failure
      // after every step has ended.
      going.catch(() => {});
    }
    return going;
  }

  async #step(step: Step): Promise<void> {
    // Wait one microtask before starting the steps that this step needs. Then `#steps` contains the promise
    // of this step.
    await Promise.resolve();
    const byId = new Map(this.#pipeline.steps.map((other) => [other.id, other]));
    await Promise.all(step.needs.map((need) => this.#begin(byId.get(need)!)));
    const stopper = this.#stopper(step);
    if (stopper !== null) {
      const { status } = this.#views.get(stopper)!;
      if (status === 'interrupted') return this.#end(step, 'interrupted', [], false);
      const ended = status === 'skipped' ? status : 'blocked';
      const how = { skipped: 'was skipped', failed: 'failed' }[status as string] ?? 'could not run';
      await this.#note(step, ended, { why: `${stopper} ${how}` });
      return this.#end(step, ended, [], false);
    }
    this.#views.set(step.id, { status: 'running', results: [], many: step.forEach !== undefined });
    this.#recorder.status(step.id, 'running');
    const items = await this.#items(step);
    if (items === null) return this.#end(step, 'failed', [], true);
    const outcomes = await Promise.all(items.map((item) => this.#instance(step, item)));
    const results = outcomes.flatMap((outcome) => (outcome.status === 'done' ? [outcome.artifact] : []));
    this.#end(step, combinedStatus(outcomes), results, step.forEach !== undefined);
  }

  /**
   * Returns the id of a needed step that prevents this step from running, or null. If there are several, a failed
   * step is returned before a skipped one. A needed step whose status is used in the condition of this step
   * prevents this step only if the needed step was interrupted.
   */
  #stopper(step: Step): string | null {
    const readByCondition = new Set(
      (step.when === undefined ? [] : referencesOf(parseExpression(step.when)))
        .filter((path) => path[0] === 'steps' && path[2] === 'status')
        .map((path) => path[1]),
    );
    const statusOf = (need: string) => this.#views.get(need)?.status ?? 'pending';
    const stopped = (need: string) =>
      statusOf(need) === 'interrupted' || (!OK.has(statusOf(need)) && !readByCondition.has(need));
    const skipped = (need: string) => statusOf(need) === 'skipped' && !readByCondition.has(need);
    return step.needs.find(stopped) ?? step.needs.find(skipped) ?? null;
  }

  /**
   * Returns one entry per instance of a step: a single null, or one entry per item of the step's list. If the
   * list is invalid or too long, records a failure and returns null.
   */
  async #items(step: Step): Promise<readonly (Item | null)[] | null> {
    if (step.forEach === undefined) {
      this.#instances++;
      return [null];
    }
    try {
      const list = await new Scope(this.#scopeParts()).list(step.forEach);
      this.#instances += list.length;
      if (this.#instances > PIPELINE_STEPS) throw badRequest(`A run has at most ${PIPELINE_STEPS} steps.`);
      return list.map((item, index) => ({ item, index }));
    } catch (error) {
      const why = (error as Error).message;
      await this.#note(step, 'failed', { why, attempts: 0 });
      return null;
    }
  }

  async #instance(step: Step, item: Item | null): Promise<Outcome> {
    const id = item === null ? step.id : `${step.id}[${item.index}]`;
    const work = new StepWork(this.#parts, {
      id,
      step,
      agent: step.own ?? this.#pipeline.agents[step.agent]!,
      env: this.#parts.envOf(step),
      scope: new Scope(this.#scopeParts(), item),
      context: step.context.flatMap((name) => this.#views.get(name)?.results ?? []),
    });
    const recorded = this.#recorded.get(id);
    if (recorded) {
      if (!recorded.settled) await work.finish(recorded.artifact);
      this.#parts.progress({ step: id, status: 'done', ref: recorded.artifact.ref, known: true });
      return { status: 'done', artifact: recorded.artifact };
    }
    const outcome = await work.run(this.#slots);
    if (outcome.status === 'done')
      this.#recorder.action(`${id} completed by ${step.agent}`, outcome.artifact.ref);
    else if (outcome.status === 'failed') this.#recorder.action(`${id} failed: ${outcome.why.slice(0, 120)}`);
    return outcome;
  }

  /** Fills the templates of `outputs`. Call it after `execute`. */
  async outputs(): Promise<{ [name: string]: string }> {
    const scope = new Scope(this.#scopeParts());
    const filled: { [name: string]: string } = {};
    for (const [name, prompt] of Object.entries(this.#pipeline.outputs))
      filled[name] = await scope.plain({ prompt });
    return filled;
  }

  #end(step: Step, status: StepStatus, results: readonly Artifact[], many: boolean): void {
    this.#views.set(step.id, { status, results, many });
    this.#recorder.status(step.id, status === 'interrupted' ? 'pending' : status);
  }

  /** Records that a step ended without a call of its agent. */
  async #note(step: Step, status: 'blocked' | 'failed' | 'skipped', o: { why: string; attempts?: number }) {
    const { run, threads, progress } = this.#parts;
    await threads('pipeline').record(run, `step.${status}`, { step: step.id, ...o });
    progress({ step: step.id, status, why: o.why });
  }

  #scopeParts(): ScopeParts {
    const { run, inputs, threads, frameSecret, trigger } = this.#parts;
    const api = threads('pipeline');
    return { run, inputs, threads: api, frameSecret, trigger, view: (step) => this.#views.get(step) };
  }
}

function combinedStatus(outcomes: readonly Outcome[]): StepStatus {
  for (const status of ['failed', 'interrupted'] as const)
    if (outcomes.some((outcome) => outcome.status === status)) return status;
  const skipped = outcomes.length > 0 && outcomes.every(({ status }) => status === 'skipped');
  return skipped ? 'skipped' : 'done';
}

/**
 * Updates the plan and the last actions in the state of a run. Changes that arrive during a write are
 * combined into the next write. The state may miss changes, but the log contains all of them.
 */
export class StepRecorder {
  readonly #threads: ThreadsApi;
  readonly #run: string;
  readonly #places: ReadonlyMap<string, number>;
  readonly #ops: PatchOp[] = [];
  /** All writes so far. If the store fails, this promise stays rejected, so that nothing more is written. */
  #writing: Promise<void> = Promise.resolve();

  constructor(threads: ThreadsApi, run: string, steps: readonly Step[]) {
    this.#threads = threads;
    this.#run = run;
    this.#places = new Map(steps.map(({ id }, index) => [id, index]));
  }

  /** Returns the operation that creates the initial plan. */
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

  /** Resolves when all changes so far are written. Rejects if the store failed. */
  settle(): Promise<void> {
    return this.#writing;
  }

  #write(...ops: readonly PatchOp[]): void {
    this.#ops.push(...ops);
    this.#writing = this.#writing.then(() => this.#flush());
    // Handle a rejection here, otherwise the runtime reports it as unhandled. The caller of `settle` gets
    // the failure.
    this.#writing.catch(() => {});
  }

  async #flush(): Promise<void> {
    const ops = this.#ops.splice(0);
    if (ops.length === 0) return;
    try {
      await this.#threads.patch(this.#run, { ops });
    } catch (error) {
      // If the patch does not fit, someone has edited the plan by hand. Leave the plan as it is.
      if (!isRelayError(error)) throw error;
    }
  }
}
