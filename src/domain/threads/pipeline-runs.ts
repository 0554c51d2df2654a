import { RelayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { reaches } from '../../contract/authorize.ts';
import { type FoldedStep, number, parseStatus, RunFold } from '../../contract/run-fold.ts';
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
import { type StoredEvent, toWire } from './event.ts';
import type { Head } from './fold.ts';
import { holdKey, idOf, metaKey, newestFirstKey, type ThreadRoot } from './keys.ts';
import { isoTime } from './state.ts';
import type { ThreadLog, ThreadVerb } from './thread-log.ts';

const PAGE = 50;
const PAGE_MAX = 100;
/** Maximum number of list entries that are read for one page. If a filter matches few entries, a page may be short. */
const MAX_EXAMINED = 2_000;

/** Entry in the list of pipeline runs. Times are in ms since the epoch. */
interface ListedRun {
  readonly pipeline: string;
  readonly started: number;
  readonly finished: number | null;
  readonly status: RunStatus;
}

const listPrefix = (tenant: string) => `ten.${tenant}/runs/`;
/** Updates the list of pipeline runs after an event of a run. Called in the background. */
export async function updateRunList(
  log: ThreadLog,
  root: ThreadRoot,
  { type, payload, at }: StoredEvent,
): Promise<void> {
  if (!type.startsWith('pipeline.')) return;
  const meta = (await log.metas.get(metaKey(root)))?.value;
  if (!meta) return;
  const records = recordsOf<ListedRun>(log.deps.engine.records);
  const key = newestFirstKey(listPrefix(meta.tenant), idOf(root), meta.created);
  const run = (await records.get(key))?.value;
  const pipeline = run?.pipeline ?? String(payload.pipeline ?? '').slice(0, 200);
  const started = run?.started ?? at;
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
  const { run, steps } = await foldRun(log, head);
  if (!run) {
    throw new RelayError('not_found', {
      message: `Thread ${head.id} is not a pipeline run.`,
      hint: 'List all runs with: relay pipeline list',
    });
  }
  const lease = (await log.deps.engine.records.get(holdKey(head.root)))?.value as JsonObject | undefined;
  const isHeld = lease && Number(lease.until) > log.deps.env.now();
  const { started, latest, why: _, ...item } = run;
  const graph = [latest.graph, started.graph].find(Array.isArray);
  const ids = Array.isArray(started.steps) ? started.steps.map(String) : [];
  return {
    run: head.id,
    ...item,
    inputs: (started.inputs ?? {}) as JsonObject,
    of: (started.of ?? null) as PipelineRun['of'],
    steps: graph ? fromJson<PipelineStep[]>(graph) : ids.map((id) => ({ id, agent: null, needs: [] })),
    instances: Array.from(steps.values(), toInstance),
    held_by: isHeld ? String(lease.holder) : null,
  };
};

async function foldRun(log: ThreadLog, { id, root }: Head): Promise<RunFold> {
  const fold = new RunFold();
  let count = 0;
  for await (const { event } of log.heads.events(root, 0)) fold.fold(toWire(id, ++count, event));
  return fold;
}

function toInstance({ failures, done = {}, answered = {}, question: _, ...step }: FoldedStep): StepInstance {
  const retries = failures.filter(({ type }) => type === 'retried');
  return {
    ...step,
    of: step.step.replace(/\[\d+\]$/, ''),
    duration_ms: number(done.duration_ms),
    cached: done.cached === true,
    model: typeof answered.model === 'string' ? answered.model : null,
    prompt_tokens: number(answered.prompt_tokens),
    pasted_tokens: number(answered.pasted_tokens),
    output_tokens: number(answered.billed_output),
    ...readShortcomings(done),
    retries: retries.map(({ at, payload: { why = '', output_ref } }) => ({
      at,
      why: String(why),
      ...(typeof output_ref === 'string' ? { output_ref } : {}),
    })),
  };
}

function toRunItem({ pipeline, status, started, finished }: ListedRun): Omit<RunItem, 'run'> {
  return {
    pipeline,
    status,
    started_at: isoTime(started),
    finished_at: finished === null ? null : isoTime(finished),
  };
}
