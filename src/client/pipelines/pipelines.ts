import { RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import type { Json } from '../../base/json.ts';
import { PIPELINE_EVENT_BYTES } from '../../base/limits.ts';
import { everyItem } from '../../base/pages.ts';
import { readText } from '../../base/utf8.ts';
import type { Artifact } from '../../contract/threads.ts';
import type { Pipeline, PipelineFile } from './definition.ts';
import { graphOf, lastSteps, withDependents } from './graph.ts';
import { type RunRecord, readRun, type StepRecord, sourceOf } from './journal.ts';
import { soundPipeline } from './read-pipeline.ts';
import { type RecordedResults, Run, type RunParts, StepRecorder } from './run.ts';
import { type LeaseOptions, type LeaseParts, RunLease } from './run-lease.ts';
import type { Progress } from './step-runner.ts';
import { stepKey } from './step-work.ts';

export type PipelineParts = LeaseParts & Pick<RunParts, 'cache' | 'runners' | 'frameSecret'>;

export interface RunOptions extends LeaseOptions {
  readonly maxParallel?: number;
  readonly only?: readonly string[];
  progress?(progress: Progress): void;
  /** Called when the run has an id, before the first step starts. */
  onStart?(run: string, pipeline: Pipeline): void;
}

export interface RunSummary extends Omit<RunRecord, 'steps' | 'definition'> {
  readonly steps: readonly StepRecord[];
  /** Results of the steps that no other step needs. */
  readonly results: readonly { readonly step: string; readonly ref: string }[];
}

const THREAD_NAME = 'pipeline ';

/**
 * Starts, resumes and lists runs of pipelines. A run is a thread: its events are the log, and its artifacts
 * are the results.
 */
export class Pipelines {
  readonly #parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  async start(file: PipelineFile, given: { [name: string]: Json }, o: RunOptions): Promise<RunSummary> {
    const pipeline = soundPipeline(file, o.only);
    return this.#begin(file, pipeline, takeInputs(pipeline, given), null, o);
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

  async #begin(
    file: PipelineFile,
    pipeline: Pipeline,
    inputs: RunRecord['inputs'],
    earlier: { readonly record: RunRecord; readonly from: string } | null,
    o: RunOptions,
  ): Promise<RunSummary> {
    const threads = this.#parts.threads('pipeline');
    const { thread_id: run } = await threads.create({ name: `${THREAD_NAME}${pipeline.name}`.slice(0, 200) });
    await using lease = await RunLease.take(this.#parts, run, o);
    const kept = await this.#keep(run, file);
    await threads.patch(run, { ops: [StepRecorder.plan(pipeline.steps)] });
    await threads.record(run, 'pipeline.started', {
      pipeline: pipeline.name,
      ...kept,
      inputs,
      steps: pipeline.steps.map(({ id }) => id),
      graph: graphOf(pipeline),
      ...(earlier ? { of: { run: earlier.record.run, from: earlier.from } } : {}),
    });
    const known = earlier ? await this.#takeOver(run, pipeline, earlier.record, earlier.from) : new Map();
    o.onStart?.(run, pipeline);
    return await this.#go({ run, inputs }, pipeline, known, lease, o);
  }

  /**
   * Copies results of an earlier run into a new run. Leaves out the results of `from` and of all steps that
   * depend on it.
   */
  async #takeOver(
    run: string,
    pipeline: Pipeline,
    record: RunRecord,
    from: string,
  ): Promise<RecordedResults> {
    const again = withDependents(pipeline.steps, from);
    const steps = new Set(pipeline.steps.map(({ id }) => id));
    const known = new Map<string, { artifact: Artifact; settled: boolean }>();
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
      known.set(id, { artifact: await threads.artifact(run, ref, { counted: false }), settled: true });
    }
    return known;
  }

  /** Continues a stopped run. With `file`, uses the current content of this file. Recorded results stay. */
  async resume(run: string, file: PipelineFile | null, o: RunOptions): Promise<RunSummary> {
    await this.#record(run);
    await using lease = await RunLease.take(this.#parts, run, o);
    // Read the run again under the lease, because the previous process may have written more events
    // meanwhile.
    const record = await this.#record(run);
    const stored = file ?? (await this.#stored(record));
    const pipeline = soundPipeline(stored, o.only);
    const threads = this.#parts.threads('pipeline');
    const { hash, definition } = record;
    const same = (await sha256Hex(stored.text)) === hash;
    const kept = same ? { hash, ...definition } : await this.#keep(run, stored);
    const known = await this.#recordedResults(record);
    if (!same) await threads.patch(run, { ops: [StepRecorder.plan(pipeline.steps)] });
    await threads.record(run, 'pipeline.resumed', {
      pipeline: pipeline.name,
      ...kept,
      graph: graphOf(pipeline),
      known: known.size,
    });
    o.onStart?.(run, pipeline);
    return await this.#go(record, pipeline, known, lease, o);
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
    { run, inputs }: Pick<RunRecord, 'run' | 'inputs'>,
    pipeline: Pipeline,
    known: RecordedResults,
    lease: RunLease,
    o: RunOptions,
  ): Promise<RunSummary> {
    const threads = lease.fence(this.#parts.threads);
    const parts: RunParts = {
      ...this.#parts,
      run,
      inputs,
      threads,
      signal: AbortSignal.any([o.signal, lease.lost]),
      progress: o.progress ?? (() => {}),
      maxParallel: o.maxParallel ?? pipeline.maxParallel,
      only: o.only,
    };
    const status = await new Run(parts, pipeline, known).go();
    await lease.confirm();
    await threads('pipeline').record(run, 'pipeline.finished', { status });
    return summary(await this.#record(run), pipeline);
  }

  async #record(run: string): Promise<RunRecord> {
    const record = await readRun(this.#parts.threads('pipeline'), run);
    if (record) return record;
    const hint = 'List the runs with: relay pipeline list';
    throw new RelayError('missing', { what: `pipeline run in thread ${run}`, hint });
  }

  /**
   * Stores the pipeline file. Returns the fields that describe it in the event that starts or resumes a run.
   */
  async #keep(run: string, { text, name }: PipelineFile): Promise<{ [field: string]: string }> {
    const hash = await sha256Hex(text);
    const body = new TextEncoder().encode(text);
    if (body.byteLength <= PIPELINE_EVENT_BYTES) return { hash, text };
    const file = { body, name: `${name}.yaml`, type: 'text', mime: 'application/yaml' };
    const { ref } = await this.#parts.threads('pipeline').putArtifact(run, file);
    return { hash, ref };
  }

  async #stored({ run, definition, pipeline }: RunRecord): Promise<PipelineFile> {
    const place = { file: `run ${run}`, name: pipeline };
    if ('text' in definition) return { ...place, text: definition.text };
    const { body } = await this.#parts.threads('pipeline').content(run, definition.ref);
    return { ...place, text: await readText(body) };
  }

  async #recordedResults({ run, steps }: RunRecord): Promise<RecordedResults> {
    const threads = this.#parts.threads('pipeline');
    const artifacts = new Map<string, Artifact>();
    const page = (o: { after?: string }) => threads.artifacts(run, { ...o, counted: false });
    for await (const artifact of everyItem('artifacts', page)) artifacts.set(artifact.ref, artifact);
    const known = new Map<string, { artifact: Artifact; settled: boolean }>();
    for (const [id, { ref = '', settled = false }] of steps) {
      const artifact = artifacts.get(ref);
      if (artifact) known.set(id, { artifact, settled });
    }
    return known;
  }
}

function summary(record: RunRecord, pipeline: Pipeline | null): RunSummary {
  const last = new Set(pipeline ? lastSteps(pipeline.steps).map(({ id }) => id) : []);
  const order = new Map(pipeline?.steps.map(({ id }, index) => [id, index]));
  const place = ({ step }: StepRecord) => order.get(stepOf(step)) ?? 0;
  const inOrder = (a: StepRecord, b: StepRecord) => place(a) - place(b) || indexOf(a.step) - indexOf(b.step);
  const steps = [...record.steps.values()].sort(inOrder);
  const isResult = ({ step, ref }: StepRecord) => ref !== undefined && last.has(stepOf(step));
  const results = steps.filter(isResult).map(({ step, ref }) => ({ step, ref: ref! }));
  const { definition: _, ...rest } = record;
  return { ...rest, steps, results };
}

/** Returns the step id of an instance id: `review` for `review[3]`. */
export function stepOf(instance: string): string {
  return instance.replace(/\[\d+\]$/, '');
}

function indexOf(instance: string): number {
  return Number(/\[(\d+)\]$/.exec(instance)?.[1] ?? 0);
}

function takeInputs(pipeline: Pipeline, given: { readonly [name: string]: Json }): { [name: string]: Json } {
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(pipeline.inputs, name)) continue;
    const known = Object.keys(pipeline.inputs);
    const hint = known.length > 0 ? `Its inputs are: ${known.join(', ')}.` : 'It has no inputs.';
    throw new RelayError('bad_usage', { what: `The pipeline has no input "${name}".`, hint });
  }
  const inputs: { [name: string]: Json } = {};
  for (const [name, { value, description }] of Object.entries(pipeline.inputs)) {
    const taken = given[name] ?? value;
    if (taken === undefined) {
      const what = `The input "${name}" is missing${description ? `: ${description}` : '.'}`;
      throw new RelayError('bad_usage', { what, hint: `Pass it with --input ${name}=…` });
    }
    inputs[name] = taken;
  }
  return inputs;
}
