import { isRelayError, RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { PIPELINE_EVENT_BYTES } from '../../base/limits.ts';
import { everyItem } from '../../base/pages.ts';
import { sourceOf } from '../../contract/run-fold.ts';
import type { Artifact } from '../../contract/threads.ts';
import { addSpent, Meter, NOTHING_SPENT, type Prices } from './budget.ts';
import type { Pipeline, PipelineAgent, PipelineFile, Secret } from './definition.ts';
import { graphOf, lastSteps, withDependents } from './graph.ts';
import { artifactText, type RunRecord, readRun, type StepRecord } from './journal.ts';
import { soundPipeline } from './read-pipeline.ts';
import { type RecordedResults, Run, type RunParts, StepRecorder } from './run.ts';
import { type LeaseOptions, type LeaseParts, RunLease } from './run-lease.ts';
import { Scope } from './scope.ts';
import { fillVariables, Mask } from './secrets.ts';
import { type Progress, type StepCall, StepFailure, type StepResult } from './step-runner.ts';
import { stepKey } from './step-work.ts';

export type PipelineParts = LeaseParts &
  Pick<RunParts, 'cache' | 'runners' | 'frameSecret' | 'ask'> & {
    readonly prices: Prices;
    /** Environment variables of this process, for `${NAME}` in `env`. */
    readonly variables: { readonly [name: string]: string | undefined };
    readSecret(name: string, secret: Secret): Promise<string>;
  };

export interface RunOptions extends LeaseOptions {
  readonly maxParallel?: number;
  readonly only?: readonly string[];
  /** Data of the trigger that starts the run. */
  readonly trigger?: Json;
  /** Meter of the parent run, if this run is a step of another pipeline. */
  readonly outer?: Meter;
  progress?(progress: Progress): void;
  /** Called when the run has an id, before the first step starts. */
  onStart?(run: string, pipeline: Pipeline): void;
}

export type RunSummary = Readonly<ReturnType<typeof summary>> & {
  /** Values of the pipeline's `outputs`. They are set only in the process that finished the run. */
  readonly outputs?: { readonly [name: string]: string };
};

const THREAD_NAME = 'pipeline ';
const threadName = ({ name }: Pick<Pipeline, 'name'>) => `${THREAD_NAME}${name}`.slice(0, 200);
const ENDED: ReadonlySet<string> = new Set(['failed', 'cancelled', 'partial']);
/**
 * Interval in ms at which a waiting process asks for a lease again. A queued run waits for the lease of its
 * concurrency key, and a server waits for the lease of a pipeline.
 */
const TURN_POLL_MS = 500;

interface Secrets {
  readonly mask: Mask;
  readonly values: { readonly [name: string]: string };
}

/**
 * Starts, resumes and lists runs of pipelines. A run is a thread: its events are the log, and its artifacts
 * are the results.
 */
export class Pipelines {
  readonly #parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  async start(file: PipelineFile, inputs: { [name: string]: Json }, o: RunOptions): Promise<RunSummary> {
    const pipeline = soundPipeline(file, o.only);
    return this.#begin(file, pipeline, takeInputs(pipeline, inputs), null, o);
  }

  /**
   * Starts a new run that takes over the results of an earlier run. Only the step `from` and all steps that
   * depend on it run again.
   */
  async rerun(of: string, from: string, file: PipelineFile | null, o: RunOptions): Promise<RunSummary> {
    const record = await this.#record(of);
    const stored = file ?? (await this.#stored(record));
    const pipeline = soundPipeline(stored, o.only);
    if (!pipeline.steps.some(({ id }) => id === from)) {
      const hint = `Its steps are: ${pipeline.steps.map(({ id }) => id).join(', ')}.`;
      throw new RelayError('bad_usage', { what: `The pipeline has no step "${from}".`, hint });
    }
    return this.#begin(stored, pipeline, record.inputs, { record, from }, o);
  }

  /**
   * Starts at most one run per key. If an unfinished run has this key, resumes it. Returns null if the run has ended,
   * or if another process works on it. With `again`, also resumes a run that has ended. Resuming a run that is `done`
   * fills its outputs again and runs no step.
   */
  async startOnce(
    key: string,
    file: PipelineFile,
    inputs: { [name: string]: Json },
    o: RunOptions & { readonly again?: boolean },
  ): Promise<RunSummary | null> {
    const pipeline = soundPipeline(file);
    const threads = this.#parts.threads('pipeline');
    const { thread_id: run } = await threads.create({ name: threadName(pipeline), idempotency_key: key });
    const earlier = await readRun(threads, run);
    if (earlier && !o.again && (earlier.status === 'done' || ENDED.has(earlier.status))) return null;
    try {
      if (earlier) return await this.resume(run, file, o);
      return await this.#begin(file, pipeline, takeInputs(pipeline, inputs), null, o, run);
    } catch (error) {
      if (isRelayError(error, 'run_held')) return null;
      throw error;
    }
  }

  /** Cancels a run. The process that works on the run stops, and nothing resumes the run automatically. */
  async cancel(run: string, why: string, signal: AbortSignal): Promise<void> {
    await this.#record(run);
    await using lease = await RunLease.take(this.#parts, run, { signal, takeOver: true });
    const threads = lease.fence(this.#parts.threads)('pipeline');
    if ((await this.#record(run)).status !== 'done')
      await threads.record(run, 'pipeline.finished', { status: 'cancelled', why });
  }

  async #begin(
    file: PipelineFile,
    pipeline: Pipeline,
    inputs: RunRecord['inputs'],
    earlier: { readonly record: RunRecord; readonly from: string } | null,
    o: RunOptions,
    created?: string,
  ): Promise<RunSummary> {
    const secrets = await this.#secrets(pipeline);
    const threads = secrets.mask.guard(this.#parts.threads)('pipeline');
    const run = created ?? (await threads.create({ name: threadName(pipeline) })).thread_id;
    await using lease = await RunLease.take(this.#parts, run, o);
    const started = created === undefined ? null : await readRun(threads, run);
    if (started) {
      await lease[Symbol.asyncDispose]();
      return this.resume(run, file, o);
    }
    const stored = await this.#keep(run, file);
    await threads.patch(run, { ops: [StepRecorder.plan(pipeline.steps)] });
    await threads.record(run, 'pipeline.started', {
      pipeline: pipeline.name,
      ...stored,
      inputs,
      steps: pipeline.steps.map(({ id }) => id),
      graph: graphOf(pipeline),
      ...(earlier ? { of: { run: earlier.record.run, from: earlier.from } } : {}),
      ...(o.trigger === undefined ? {} : { trigger: o.trigger }),
    });
    const recorded = earlier ? await this.#takeOver(run, pipeline, earlier.record, earlier.from) : new Map();
    o.onStart?.(run, pipeline);
    const record = await this.#record(run);
    return await this.#go({ ...record, inputs }, file, pipeline, recorded, { lease, secrets }, o);
  }

  /**
   * Copies the results of an earlier run into a new run, except the results of `from` and of all steps that
   * depend on it.
   */
  async #takeOver(run: string, pipeline: Pipeline, record: RunRecord, from: string) {
    const again = withDependents(pipeline.steps, from);
    const steps = new Set(pipeline.steps.map(({ id }) => id));
    const results = new Map<string, { artifact: Artifact; settled: boolean }>();
    for (const [id, { artifact }] of await this.#recordedResults(record)) {
      if (again.has(stepOf(id)) || !steps.has(stepOf(id))) continue;
      const { name, type, mime, provenance } = artifact;
      const threads = this.#parts.threads(provenance.created_by);
      const { body } = await threads.content(record.run, artifact.ref, { counted: false });
      const source_refs = [sourceOf(id), artifact.ref];
      const copy = { body, name, type, mime, source_refs };
      const idempotency_key = `step:${await stepKey(run, id)}`;
      const { ref } = await threads.putArtifact(run, { ...copy, idempotency_key });
      await threads.record(run, 'step.done', { step: id, ref, attempts: 0, duration_ms: 0, cached: true });
      results.set(id, { artifact: await threads.artifact(run, ref, { counted: false }), settled: true });
    }
    return results;
  }

  /**
   * Continues a stopped run. With `file`, uses the current content of this file. Steps with recorded
   * results do not run again.
   */
  async resume(run: string, file: PipelineFile | null, o: RunOptions): Promise<RunSummary> {
    await this.#record(run);
    await using lease = await RunLease.take(this.#parts, run, o);
    // Read the run again under the lease, because the previous process may have written more events
    // meanwhile.
    const record = await this.#record(run);
    const stored = file ?? (await this.#stored(record));
    const pipeline = soundPipeline(stored, o.only);
    const secrets = await this.#secrets(pipeline);
    const threads = secrets.mask.guard(this.#parts.threads)('pipeline');
    const { hash, definition, uses_ref } = record;
    const same = (await sha256Hex(stored.text)) === hash;
    const uses: { [field: string]: string } = uses_ref === undefined ? {} : { uses_ref };
    const definitionRefs = same ? { hash, ...definition, ...uses } : await this.#keep(run, stored);
    const recorded = await this.#recordedResults(record);
    if (!same) await threads.patch(run, { ops: [StepRecorder.plan(pipeline.steps)] });
    await threads.record(run, 'pipeline.resumed', {
      pipeline: pipeline.name,
      ...definitionRefs,
      graph: graphOf(pipeline),
      known: recorded.size,
    });
    o.onStart?.(run, pipeline);
    return await this.#go(record, stored, pipeline, recorded, { lease, secrets }, o);
  }

  /** Lists runs, newest first. With `pipeline`, lists only the runs of the pipeline with this name. */
  async list(o: { limit: number; pipeline?: string }): Promise<RunSummary[]> {
    const threads = this.#parts.threads('pipeline');
    const found: RunSummary[] = [];
    for await (const { thread_id, name } of everyItem('threads', ({ after }) => threads.list({ after }))) {
      if (!name.startsWith(THREAD_NAME)) continue;
      if (o.pipeline !== undefined && name !== `${THREAD_NAME}${o.pipeline}`) continue;
      const record = await readRun(threads, thread_id);
      if (record) found.push(summary(record, null));
      if (found.length === o.limit) break;
    }
    return found;
  }

  async show(run: string): Promise<{ summary: RunSummary; pipeline: Pipeline }> {
    const record = await this.#record(run);
    const pipeline = soundPipeline(await this.#stored(record));
    return { summary: summary(record, pipeline), pipeline };
  }

  async #go(
    { run, inputs, trigger, budget }: RunRecord,
    file: PipelineFile,
    pipeline: Pipeline,
    recorded: RecordedResults,
    { lease, secrets: { mask, values } }: { lease: RunLease; secrets: Secrets },
    o: RunOptions,
  ): Promise<RunSummary> {
    const threads = mask.guard(lease.fence(this.#parts.threads));
    const stopped = AbortSignal.any([o.signal, lease.lost]);
    const turn = await this.#takeTurn(pipeline, { run, inputs, trigger }, { ...o, signal: stopped });
    await using _ = turn;
    const signal = turn ? AbortSignal.any([stopped, turn.lost]) : stopped;
    const progress = o.progress ?? (() => {});
    const { ask, prices, variables } = this.#parts;
    const notify = pipeline.notify;
    const askPerson: RunParts['ask'] = (question) => ask({ ...question, notify: question.notify ?? notify });
    const meter: Meter = new Meter(
      {
        run,
        threads: threads('pipeline'),
        prices,
        outer: o.outer,
        ask: async (question, choices, key) => {
          const onAsked: Parameters<RunParts['ask']>[0]['onAsked'] = ({ id, question }, link) =>
            progress({ step: 'budget', status: 'waiting', text: id, why: question, ref: link ?? undefined });
          const input = { run, step: 'budget', question, choices, who: [], key, signal, onAsked };
          return (await askPerson(input)).answer ?? '';
        },
      },
      pipeline,
      budget,
    );
    const parts: RunParts = {
      ...this.#parts,
      run,
      inputs,
      ...(trigger === undefined ? {} : { trigger }),
      threads,
      meter,
      signal,
      ask: askPerson,
      mask: (text) => mask.text(text),
      envOf: (step) => fillVariables({ ...pipeline.env, ...step.env }, values, variables),
      runPipeline: (call, stop) =>
        this.#runUsed(file, call, { ...o, signal: stop, outer: meter, only: undefined }),
      progress: (event) => progress(mask.json(event)),
      maxParallel: o.maxParallel ?? pipeline.maxParallel,
      only: o.only,
    };
    const execution = new Run(parts, pipeline, recorded);
    let status: RunRecord['status'] = await execution.execute();
    const outputs = status === 'done' ? { outputs: await execution.outputs() } : {};
    await lease.confirm();
    const isCancelled = status === 'interrupted' && turn?.lost.aborted;
    if (isCancelled) status = 'cancelled';
    const end: JsonObject = { status };
    if (isCancelled) end.why = 'a newer run has the same concurrency key';
    await threads('pipeline').record(run, 'pipeline.finished', end);
    return { ...summary(await this.#record(run), pipeline), ...outputs };
  }

  /**
   * Runs another pipeline as a step. The key of the step identifies the new run, so after a crash the same
   * run continues.
   */
  async #runUsed(file: PipelineFile, call: StepCall<PipelineAgent>, o: RunOptions): Promise<StepResult> {
    const used = file.uses?.[call.agent.uses];
    if (!used) throw new StepFailure(`the file ${call.agent.uses} was not loaded`, '');
    const within = (progress: Progress) =>
      o.progress?.({ ...progress, step: `${call.step}/${progress.step}` });
    const args = call.args as { [name: string]: Json };
    const child = { ...o, progress: within, onStart: undefined, maxParallel: undefined, again: true };
    const ran = await this.startOnce(`uses:${call.key}`, used, args, child);
    if (ran === null) throw new StepFailure('another process works on its run', '');
    if (ran.status !== 'done') {
      const failed = ran.steps.find(({ status }) => status === 'failed');
      const why = failed ? `: ${failed.step}: ${failed.why}` : '';
      throw new StepFailure(`its run ${ran.run} is ${ran.status}${why}`, '');
    }
    const { outputs = {} } = ran;
    const results = Object.keys(outputs).length > 0 ? outputs : await this.#lastOutputs(ran);
    return { content: JSON.stringify(results), by: ran.pipeline, source_refs: [`run:${ran.run}`] };
  }

  /** Returns the results of the last steps of a run, by step. */
  async #lastOutputs({ run, results }: RunSummary): Promise<{ [step: string]: string }> {
    const found: { [step: string]: string } = {};
    const threads = this.#parts.threads('pipeline');
    for (const { step, ref } of results) found[step] = await artifactText(threads, run, ref);
    return found;
  }

  /** Reads the values of a pipeline's secrets. They are never stored. */
  async #secrets(pipeline: Pipeline): Promise<Secrets> {
    const values: { [name: string]: string } = {};
    for (const [name, secret] of Object.entries(pipeline.secrets))
      values[name] = await this.#parts.readSecret(name, secret);
    return { values, mask: new Mask(values) };
  }

  /**
   * Waits until no other run with the same concurrency key is active. With the mode `cancel`, the other run
   * is canceled. Returns null if the pipeline has no concurrency key.
   */
  async #takeTurn(
    { name, concurrency }: Pipeline,
    { run, inputs, trigger }: Pick<RunRecord, 'run' | 'inputs' | 'trigger'>,
    o: RunOptions,
  ): Promise<RunLease | null> {
    if (!concurrency) return null;
    const { frameSecret } = this.#parts;
    const threads = this.#parts.threads('pipeline');
    const scope = new Scope({ run, inputs, trigger, threads, frameSecret, view: () => undefined });
    const key = await scope.plain({ prompt: concurrency.key });
    const takeOver = concurrency.mode === 'cancel';
    return this.hold(`turn of ${name}, ${key}`, { signal: o.signal, takeOver });
  }

  /**
   * Waits until this process holds the lease named `what`. The lease belongs to a hidden thread, in which its
   * holder can store data for the next holder.
   */
  async hold(what: string, o: LeaseOptions): Promise<RunLease> {
    const threads = this.#parts.threads('pipeline');
    const idempotency_key = `hold:${await sha256Hex(what)}`;
    const { thread_id } = await threads.create({ name: `.${what.slice(0, 200)}`, idempotency_key });
    for (;;) {
      try {
        return await RunLease.take(this.#parts, thread_id, o);
      } catch (error) {
        if (!isRelayError(error, 'run_held')) throw error;
        await this.#parts.pause(TURN_POLL_MS, o.signal);
      }
    }
  }

  /** Reads one secret of a pipeline. */
  secret({ secrets }: Pipeline, name: string): Promise<string> {
    return this.#parts.readSecret(name, secrets[name]!);
  }

  async #record(run: string): Promise<RunRecord> {
    const record = await readRun(this.#parts.threads('pipeline'), run);
    if (record) return record;
    const hint = 'List the runs with: relay pipeline list';
    throw new RelayError('missing', { what: `pipeline run in thread ${run}`, hint });
  }

  /** Stores the pipeline file. Returns event fields that say where the file is stored. */
  async #keep(run: string, { text, name, uses }: PipelineFile): Promise<{ [field: string]: string }> {
    const hash = await sha256Hex(text);
    const body = new TextEncoder().encode(text);
    const used: { [field: string]: string } = uses ? { uses_ref: await this.#keepUsed(run, uses) } : {};
    if (body.byteLength <= PIPELINE_EVENT_BYTES) return { ...used, hash, text };
    const file = { body, name: `${name}.yaml`, type: 'text', mime: 'application/yaml' };
    const { ref } = await this.#parts.threads('pipeline').putArtifact(run, file);
    return { ...used, hash, ref };
  }

  /** Stores all pipeline files that are used as steps in one artifact. */
  async #keepUsed(run: string, uses: NonNullable<PipelineFile['uses']>): Promise<string> {
    const body = new TextEncoder().encode(JSON.stringify(uses));
    const artifact = { body, name: 'used pipelines', type: 'json' } as const;
    return (await this.#parts.threads('pipeline').putArtifact(run, artifact)).ref;
  }

  async #stored({ run, definition, pipeline, uses_ref }: RunRecord): Promise<PipelineFile> {
    const read = (ref: string) => artifactText(this.#parts.threads('pipeline'), run, ref);
    const text = 'text' in definition ? definition.text : await read(definition.ref);
    const file = { file: `run ${run}`, name: pipeline, text };
    return uses_ref === undefined ? file : { ...file, uses: JSON.parse(await read(uses_ref)) };
  }

  async #recordedResults({ run, steps }: RunRecord): Promise<RecordedResults> {
    const threads = this.#parts.threads('pipeline');
    const artifacts = new Map<string, Artifact>();
    const page = (o: { after?: string }) => threads.artifacts(run, { ...o, counted: false });
    for await (const artifact of everyItem('artifacts', page)) artifacts.set(artifact.ref, artifact);
    const results = new Map<string, { artifact: Artifact; settled: boolean }>();
    for (const [id, { ref = '', settled = false }] of steps) {
      const artifact = artifacts.get(ref);
      if (artifact) results.set(id, { artifact, settled });
    }
    return results;
  }
}

function summary(record: RunRecord, pipeline: Pipeline | null) {
  const last = new Set(pipeline ? lastSteps(pipeline.steps).map(({ id }) => id) : []);
  const order = new Map(pipeline?.steps.map(({ id }, index) => [id, index]));
  const place = ({ step }: StepRecord) => order.get(stepOf(step)) ?? 0;
  const inOrder = (a: StepRecord, b: StepRecord) => place(a) - place(b) || indexOf(a.step) - indexOf(b.step);
  const steps = [...record.steps.values()].sort(inOrder);
  const isResult = ({ step, ref }: StepRecord) => ref !== undefined && last.has(stepOf(step));
  const results = steps.filter(isResult).map(({ step, ref }) => ({ step, ref: ref! }));
  const { definition: _, budget, ...rest } = record;
  const { tokens, money } = [...budget.steps.values()].reduce(addSpent, NOTHING_SPENT);
  return {
    ...rest,
    steps,
    /** Results of the steps that no other step needs. */
    results,
    /** Tokens and cost of the run's model calls. `money` leaves out models whose prices are unknown. */
    spent: { tokens, money },
  };
}

/** Returns the step id of an instance id: `review` for `review[3]`. */
export function stepOf(instance: string): string {
  return instance.replace(/\[\d+\]$/, '');
}

function indexOf(instance: string): number {
  return Number(/\[(\d+)\]$/.exec(instance)?.[1] ?? 0);
}

function takeInputs(pipeline: Pipeline, values: { readonly [name: string]: Json }): { [name: string]: Json } {
  for (const name of Object.keys(values)) {
    if (Object.hasOwn(pipeline.inputs, name)) continue;
    const inputNames = Object.keys(pipeline.inputs);
    const hint = inputNames.length > 0 ? `Its inputs are: ${inputNames.join(', ')}.` : 'It has no inputs.';
    throw new RelayError('bad_usage', { what: `The pipeline has no input "${name}".`, hint });
  }
  const inputs: { [name: string]: Json } = {};
  for (const [name, { value, description }] of Object.entries(pipeline.inputs)) {
    const input = values[name] ?? value;
    if (input === undefined) {
      const what = `The input "${name}" is missing${description ? `: ${description}` : '.'}`;
      throw new RelayError('bad_usage', { what, hint: `Pass it with --input ${name}=…` });
    }
    inputs[name] = input;
  }
  return inputs;
}
