import type { Json } from '../../base/json.ts';
import { everyItem } from '../../base/pages.ts';
import { type FoldedStep, RunFold } from '../../contract/run-fold.ts';
import { readShortcomings, type StepInstance, type ThreadsApi } from '../../contract/threads.ts';
import { addSpent, type BudgetRecord, NOTHING_SPENT, type Spent } from './budget.ts';
import type { StepStatus } from './step-runner.ts';

/** State of a run, computed from the events of its thread. */
export interface RunRecord {
  readonly run: string;
  readonly pipeline: string;
  /**
   * Pipeline file with which the run was started or last resumed: its text, or the ref of the artifact that
   * contains it.
   */
  readonly definition: { readonly text: string } | { readonly ref: string };
  /** SHA-256 of the pipeline file. */
  readonly hash: string;
  readonly inputs: { readonly [name: string]: Json };
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly status: 'running' | 'done' | 'failed' | 'interrupted' | 'partial' | 'cancelled';
  /** Reason why the run was cancelled. */
  readonly why?: string;
  /** Data of the trigger that started the run. Absent if a person started it. */
  readonly trigger?: Json;
  readonly budget: BudgetRecord;
  /** Ref of the artifact with the files that the pipeline uses. */
  readonly uses_ref?: string;
  /** Steps by instance id. The id is `review`, or `review[3]` if the step runs once per item of a list. */
  readonly steps: ReadonlyMap<string, StepRecord>;
}

export interface StepRecord extends Pick<StepInstance, 'partial' | 'pulled_tokens' | 'incomplete'> {
  readonly step: string;
  readonly status: StepStatus;
  readonly attempts: number;
  /** Ref of the artifact with the result of the step. */
  readonly ref?: string;
  /**
   * True if the log contains `step.done`. This event is written last, after the token counts and the patch.
   */
  readonly settled?: boolean;
  readonly cached?: boolean;
  readonly duration_ms?: number;
  readonly why?: string;
  /** Failed attempts, and rounds after which the condition of `until` was false, in order. */
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

/** Reads the state of a run from its events. Returns null if the thread is not a run. */
export async function readRun(threads: ThreadsApi, id: string): Promise<RunRecord | null> {
  const fold = new RunFold();
  const spent = new Map<string, Spent>();
  const extended = new Map<string, number>();
  for await (const event of everyItem('events', ({ after }) => threads.events(id, { after }))) {
    const { type, payload } = event;
    const step = String(payload.step);
    if (type === 'budget.spent') {
      const { tokens, money = 0, ms = 0 } = payload;
      const more = { tokens: Number(tokens), money: Number(money), ms: Number(ms) };
      spent.set(step, addSpent(spent.get(step) ?? NOTHING_SPENT, more));
    } else if (type === 'budget.extended') extended.set(step, Number(payload.times));
    else fold.fold(event);
  }
  if (!fold.run) return null;
  const { started, latest, ...run } = fold.run;
  return {
    run: id,
    ...run,
    definition: typeof latest.text === 'string' ? { text: latest.text } : { ref: String(latest.ref) },
    hash: String(latest.hash),
    inputs: started.inputs as RunRecord['inputs'],
    ...(started.trigger ? { trigger: started.trigger } : {}),
    budget: { steps: spent, extended },
    ...(typeof latest.uses_ref === 'string' ? { uses_ref: latest.uses_ref } : {}),
    steps: new Map(Array.from(fold.steps, ([instance, step]) => [instance, toRecord(step)])),
  };
}

function toRecord({ step, status, attempts, ref, why, done, failures, question }: FoldedStep): StepRecord {
  const failed = failures.map(({ at, payload }): AttemptRecord => {
    const { wait_ms, output_ref } = payload;
    return {
      attempt: Number(payload.attempt ?? payload.attempts),
      at,
      why: String(payload.why),
      ...(typeof wait_ms === 'number' ? { wait_ms } : {}),
      ...(typeof output_ref === 'string' ? { output_ref } : {}),
    };
  });
  const attempt_refs = failed.flatMap(({ output_ref }) => output_ref ?? []);
  const settled = done && ref !== null && { settled: true, duration_ms: Number(done.duration_ms ?? 0) };
  return {
    step,
    status,
    attempts,
    ...(ref === null ? {} : { ref }),
    ...(settled ? { ...settled, ...readShortcomings(done) } : {}),
    ...(done?.cached === true ? { cached: true } : {}),
    ...(why === null ? {} : { why }),
    ...(failed.length > 0 ? { failures: failed } : {}),
    ...(question ? { question: { id: String(question.id), question: String(question.question) } } : {}),
    ...(attempt_refs.length > 0 ? { attempt_refs } : {}),
  };
}
