import type { Json } from '../../base/json.ts';
import { everyItem } from '../../base/pages.ts';
import { readShortcomings, type StepInstance, type ThreadsApi } from '../../contract/threads.ts';
import { addSpent, type BudgetRecord, NOTHING_SPENT, type Spent } from './budget.ts';
import type { StepStatus } from './step-runner.ts';

/** State of a run, computed from the events of its thread. */
export interface RunRecord {
  readonly run: string;
  readonly pipeline: string;
  /**
   * Pipeline file from the start or the last resume of the run: its text, or the ref of the artifact that
   * contains it.
   */
  readonly definition: { readonly text: string } | { readonly ref: string };
  /** SHA-256 of the pipeline file. */
  readonly hash: string;
  readonly inputs: { readonly [name: string]: Json };
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly status: 'running' | 'done' | 'failed' | 'interrupted' | 'partial' | 'cancelled';
  /** Why the run was cancelled. */
  readonly why?: string;
  /** What started the run: data of a trigger. Absent if a person did. */
  readonly trigger?: Json;
  readonly budget: BudgetRecord;
  /** Ref of the artifact with the files that the pipeline uses. */
  readonly uses_ref?: string;
  /** Steps by instance id: `review`, or `review[3]` for an item of a list. */
  readonly steps: ReadonlyMap<string, StepRecord>;
}

export interface StepRecord extends Pick<StepInstance, 'partial' | 'pulled_tokens' | 'incomplete'> {
  readonly step: string;
  readonly status: StepStatus;
  readonly attempts: number;
  /** Ref of the artifact with the result of the step. */
  readonly ref?: string;
  /** True if the log contains `step.done`. Then everything that follows the result has been written too. */
  readonly settled?: boolean;
  readonly cached?: boolean;
  readonly duration_ms?: number;
  readonly why?: string;
  /** The attempts that failed, in order, and the rounds whose condition was false. */
  readonly failures?: readonly AttemptRecord[];
  /** The question that the step waits for. */
  readonly question?: { readonly id: string; readonly question: string };
  /** Refs of the artifacts with the output of failed attempts, in order. */
  readonly attempt_refs?: readonly string[];
}

/** One failed attempt of a step. */
export interface AttemptRecord {
  readonly attempt: number;
  readonly at: string;
  readonly why: string;
  /** Time in ms until the next attempt. */
  readonly wait_ms?: number;
  readonly output_ref?: string;
}

const SOURCE = 'step:';

/**
 * Returns the source ref that links a result to its step. The event that creates the artifact commits the
 * step.
 */
export function sourceOf(instance: string): string {
  return `${SOURCE}${instance}`;
}

/** Reads the state of a run from its events. Returns null if the thread is not a run. */
export async function readRun(threads: ThreadsApi, id: string): Promise<RunRecord | null> {
  const steps = new Map<string, StepRecord>();
  const spent = new Map<string, Spent>();
  const extended = new Map<string, number>();
  let record = null as RunRecord | null;
  for await (const event of everyItem('events', ({ after }) => threads.events(id, { after }))) {
    const { type, timestamp } = event;
    const said = event.payload as Payload;
    if (type === 'artifact.created') takeResult(steps, said);
    else if (type === 'budget.spent') {
      const more = { tokens: Number(said.tokens), money: Number(said.money ?? 0), ms: Number(said.ms ?? 0) };
      spent.set(String(said.step), addSpent(spent.get(String(said.step)) ?? NOTHING_SPENT, more));
    } else if (type === 'budget.extended') extended.set(String(said.step), Number(said.times));
    else if (type === 'question.asked' || type === 'question.answered') {
      const step = steps.get(String(said.step));
      const question = { id: String(said.id), question: String(said.question) };
      if (step) steps.set(step.step, { ...step, question: type === 'question.asked' ? question : undefined });
    } else if (type === 'pipeline.finished' && record) {
      const why = typeof said.why === 'string' ? { why: said.why } : {};
      record = { ...record, status: said.status as RunRecord['status'], finished_at: timestamp, ...why };
    } else if (type === 'pipeline.started' || type === 'pipeline.resumed') {
      record = {
        run: id,
        pipeline: String(said.pipeline),
        definition: typeof said.text === 'string' ? { text: said.text } : { ref: String(said.ref) },
        hash: String(said.hash),
        inputs: record?.inputs ?? (said.inputs as RunRecord['inputs']),
        started_at: record?.started_at ?? timestamp,
        finished_at: null,
        status: 'running',
        ...((record?.trigger ?? said.trigger) ? { trigger: record?.trigger ?? said.trigger } : {}),
        budget: { steps: spent, extended },
        ...(typeof said.uses_ref === 'string' ? { uses_ref: said.uses_ref } : {}),
        steps,
      };
      for (const [step, { ref }] of steps) if (ref === undefined) steps.delete(step);
    } else if (type.startsWith('step.') && typeof said.step === 'string')
      takeStep(steps, type.slice('step.'.length), said.step, said, timestamp);
  }
  return record;
}

type Payload = { readonly [field: string]: Json | undefined };

/** Records the first result of a step. Later results of the step are ignored. */
function takeResult(steps: Map<string, StepRecord>, said: Payload): void {
  const sources = Array.isArray(said.source_refs) ? said.source_refs : [];
  const source = sources.find((ref) => typeof ref === 'string' && ref.startsWith(SOURCE));
  if (typeof source !== 'string') return;
  const id = source.slice(SOURCE.length);
  const known = steps.get(id) ?? unknownStep(id);
  if (known.ref === undefined) steps.set(id, { ...known, status: 'done', ref: String(said.ref) });
}

function takeStep(steps: Map<string, StepRecord>, what: string, id: string, said: Payload, at: string): void {
  const { output_ref, wait_ms } = said;
  let before = steps.get(id) ?? unknownStep(id);
  if (what === 'retried' || what === 'failed') {
    const failure: AttemptRecord = {
      attempt: Number(said.attempt ?? said.attempts),
      at,
      why: String(said.why),
      ...(typeof wait_ms === 'number' ? { wait_ms } : {}),
      ...(typeof output_ref === 'string' ? { output_ref } : {}),
    };
    before = { ...before, failures: [...(before.failures ?? []), failure] };
  }
  const known =
    typeof output_ref === 'string'
      ? { ...before, attempt_refs: [...(before.attempt_refs ?? []), output_ref] }
      : before;
  const why = String(said.why);
  if (known.ref !== undefined) {
    if (what !== 'done') return;
    steps.set(id, {
      ...known,
      settled: true,
      attempts: Number(said.attempts ?? known.attempts),
      duration_ms: Number(said.duration_ms ?? 0),
      ...(said.cached === true ? { cached: true } : {}),
      ...readShortcomings(said),
    });
  } else if (what === 'started')
    steps.set(id, { ...known, status: 'running', attempts: Number(said.attempt) });
  else if (what === 'retried') steps.set(id, known);
  else if (what === 'failed')
    steps.set(id, { ...known, status: 'failed', why, attempts: Number(said.attempts) });
  else if (what === 'skipped' || what === 'blocked') steps.set(id, { ...known, status: what, why });
}

function unknownStep(id: string): StepRecord {
  return { step: id, status: 'pending', attempts: 0 };
}
