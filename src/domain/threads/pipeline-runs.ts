import { RelayError } from '../../base/errors.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { reaches } from '../../contract/authorize.ts';
import {
  type PipelineRun,
  type PipelineStep,
  type RunItem,
  type RunStatus,
  readShortcomings,
  type StepInstance,
} from '../../contract/threads.ts';
import { checkCount } from '../names.ts';
import { allRecords, fromJson, recordsOf } from '../records.ts';
import type { StoredEvent } from './event.ts';
import { holdKey, idOf, metaKey, type ThreadRoot } from './keys.ts';
import { isoTime } from './state.ts';
import type { ThreadLog, ThreadMeta, ThreadVerb } from './thread-log.ts';

const PAGE = 50;
const PAGE_MAX = 100;
/**
 * Maximum number of entries examined per page. If a filter matches few entries, a page can end before it is
 * full.
 */
const MAX_EXAMINED = 2_000;

/** List entry of a run. Times are in ms since the epoch. */
interface ListedRun {
  readonly pipeline: string;
  readonly started: number;
  readonly finished: number | null;
  readonly status: RunStatus;
}

const listPrefix = (tenant: string) => `ten.${tenant}/runs/`;
/**
 * Returns the key of a list entry. The time counts down in the key, because listings are ascending and the
 * newest run should come first.
 */
const listKey = ({ tenant, created }: ThreadMeta, id: string) =>
  `${listPrefix(tenant)}${(2 ** 48 - created).toString(16).padStart(12, '0')}.${id}`;

/** Updates the list of runs after an event. Runs in the background. */
export async function updateRunList(
  log: ThreadLog,
  root: ThreadRoot,
  { type, payload, at }: StoredEvent,
): Promise<void> {
  if (!type.startsWith('pipeline.')) return;
  const meta = (await log.metas.get(metaKey(root)))?.value;
  if (!meta) return;
  const records = recordsOf<ListedRun>(log.deps.engine.records);
  const key = listKey(meta, idOf(root));
  const known = (await records.get(key))?.value;
  const pipeline = known?.pipeline ?? String(payload.pipeline ?? '').slice(0, 200);
  const started = known?.started ?? at;
  const ended = type === 'pipeline.finished';
  const status = ended ? parseStatus(payload.status) : 'running';
  const { expires: expiresAt } = meta;
  await records.put(key, { pipeline, started, finished: ended ? at : null, status }, { expiresAt });
}

/** Lists pipeline runs, newest first. */
export const listRuns: ThreadVerb<'runs'> = async (log, caller, o = {}) => {
  const limit = checkCount('limit', o.limit ?? PAGE, PAGE_MAX);
  const prefix = listPrefix(caller.tenant);
  const records = recordsOf<ListedRun>(log.deps.engine.records);
  const after = o.after === undefined ? undefined : prefix + o.after;
  const runs: RunItem[] = [];
  let examined = 0;
  for await (const { key, value } of allRecords(records, prefix, { after, limit: PAGE_MAX })) {
    const next = key.slice(prefix.length);
    const id = next.slice(next.indexOf('.') + 1);
    if (o.pipeline === undefined || value.pipeline === o.pipeline) {
      const thread = await log.find(caller.tenant, id);
      if (!thread) log.background.run(() => records.delete(key));
      else if (reaches(caller, { by: thread.key })) runs.push({ run: id, ...toRunItem(value) });
    }
    if (runs.length === limit || ++examined === MAX_EXAMINED) return { runs, next };
  }
  return { runs };
};

/** Reads the events of a run and returns the status of the run and of each step. */
export const readRun: ThreadVerb<'run'> = async (log, caller, id) => {
  const head = await log.head(caller, id);
  const run = new RunFold();
  let count = 0;
  for await (const { event } of log.heads.events(head.root, 0)) run.fold(event, ++count);
  const result = run.result(head.id);
  if (!result) {
    throw new RelayError('not_found', {
      what: `a pipeline run in thread ${head.id}`,
      hint: 'List all runs with: relay pipeline list',
    });
  }
  const lease = (await log.deps.engine.records.get(holdKey(head.root)))?.value as JsonObject | undefined;
  const held = lease && Number(lease.until) > log.deps.env.now();
  return { ...result, held_by: held ? String(lease.holder) : null };
};

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Instance = Mutable<Omit<StepInstance, 'retries'>> & { retries: StepInstance['retries'][number][] };

/** Collects the status of a run from its events. */
class RunFold {
  #about: (ListedRun & { inputs: JsonObject; of: PipelineRun['of']; steps: PipelineStep[] }) | null = null;
  readonly #instances = new Map<string, Instance>();

  fold(event: StoredEvent, count: number): void {
    const { type, payload } = event;
    if (type.startsWith('pipeline.')) this.#takeRun(event);
    else if (type === 'artifact.created') this.#takeResult(event);
    else if (typeof payload.step !== 'string') return;
    else if (type === 'prompt.answered') this.#takePrompt(payload.step, payload);
    else if (type.startsWith('step.')) this.#takeStep(type.slice('step.'.length), payload.step, event, count);
  }

  result(run: string): Omit<PipelineRun, 'held_by'> | null {
    if (!this.#about) return null;
    const { inputs, of, steps, ...item } = this.#about;
    return { run, ...toRunItem(item), inputs, of, steps, instances: [...this.#instances.values()] };
  }

  #takeRun({ type, payload, at }: StoredEvent): void {
    if (type === 'pipeline.finished') {
      if (this.#about) this.#about = { ...this.#about, finished: at, status: parseStatus(payload.status) };
      return;
    }
    const before = this.#about;
    const graph = Array.isArray(payload.graph) ? fromJson<PipelineStep[]>(payload.graph) : null;
    const ids = Array.isArray(payload.steps) ? payload.steps.map(String) : [];
    this.#about = {
      pipeline: String(payload.pipeline),
      started: before?.started ?? at,
      finished: null,
      status: 'running',
      inputs: before?.inputs ?? ((payload.inputs ?? {}) as JsonObject),
      of: before?.of ?? ((payload.of ?? null) as PipelineRun['of']),
      steps: graph ?? before?.steps ?? ids.map((id) => ({ id, agent: null, needs: [] })),
    };
    // Steps without a result run again after a resume.
    for (const [step, { ref }] of this.#instances) if (ref === null) this.#instances.delete(step);
  }

  /**
   * Records the result of a step. The artifact with the result is the commit point. If a step has several,
   * only the first one counts.
   */
  #takeResult({ payload, at }: StoredEvent): void {
    const sources = Array.isArray(payload.source_refs) ? payload.source_refs : [];
    const source = sources.find((ref) => typeof ref === 'string' && ref.startsWith('step:'));
    if (typeof source !== 'string') return;
    const instance = this.#instanceOf(source.slice('step:'.length));
    if (instance.ref !== null) return;
    Object.assign(instance, { status: 'done', ref: String(payload.ref), finished_at: isoTime(at) });
  }

  #takePrompt(step: string, payload: JsonObject): void {
    Object.assign(this.#instanceOf(step), {
      model: typeof payload.model === 'string' ? payload.model : null,
      prompt_tokens: number(payload.prompt_tokens),
      pasted_tokens: number(payload.pasted_tokens),
      output_tokens: number(payload.billed_output),
    });
  }

  #takeStep(what: string, step: string, { payload, at }: StoredEvent, count: number): void {
    const instance = this.#instanceOf(step);
    const why = String(payload.why ?? '');
    const output = typeof payload.output_ref === 'string' ? { output_ref: payload.output_ref } : {};
    if (what === 'retried') instance.retries.push({ at: isoTime(at), why, ...output });
    else if (what === 'done')
      Object.assign(instance, {
        attempts: number(payload.attempts) ?? instance.attempts,
        duration_ms: number(payload.duration_ms),
        cached: payload.cached === true,
        ...readShortcomings(payload),
      });
    else if (instance.ref !== null) return;
    else if (what === 'started') {
      instance.status = 'running';
      if (typeof payload.prompt === 'string') instance.prompt_event = String(count);
      instance.attempts = number(payload.attempt) ?? instance.attempts;
      instance.started_at ??= isoTime(at);
    } else if (what === 'failed' || what === 'skipped' || what === 'blocked') {
      const attempts = number(payload.attempts) ?? instance.attempts;
      Object.assign(instance, { status: what, why, attempts, finished_at: isoTime(at), ...output });
    }
  }

  #instanceOf(step: string): Instance {
    let instance = this.#instances.get(step);
    if (!instance) {
      instance = {
        step,
        of: step.replace(/\[\d+\]$/, ''),
        status: 'pending',
        attempts: 0,
        started_at: null,
        finished_at: null,
        duration_ms: null,
        cached: false,
        why: null,
        prompt_event: null,
        ref: null,
        model: null,
        prompt_tokens: null,
        pasted_tokens: null,
        output_tokens: null,
        retries: [],
      };
      this.#instances.set(step, instance);
    }
    return instance;
  }
}

function toRunItem({ pipeline, status, started, finished }: ListedRun): Omit<RunItem, 'run'> {
  return {
    pipeline,
    status,
    started_at: isoTime(started),
    finished_at: finished === null ? null : isoTime(finished),
  };
}

/** Parses a status. Clients write the events of runs, so an unknown value counts as failed. */
function parseStatus(value: Json | undefined): RunStatus {
  const known = ['done', 'failed', 'interrupted', 'partial', 'cancelled'] as const;
  return known.find((status) => status === value) ?? 'failed';
}

function number(value: Json | undefined): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
