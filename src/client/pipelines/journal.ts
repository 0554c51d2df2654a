import type { Json } from '../../base/json.ts';
import { everyItem } from '../../base/pages.ts';
import { readText } from '../../base/utf8.ts';
import { type FoldedRun, type FoldedStep, RunFold } from '../../contract/run-fold.ts';
import { readShortcomings, type ThreadsApi } from '../../contract/threads.ts';
import { addSpent, NOTHING_SPENT, type Spent } from './budget.ts';

/** State of a run, computed from the events of its thread. */
export type RunRecord = Readonly<NonNullable<Awaited<ReturnType<typeof readRun>>>>;

/** State of one instance of a step. */
export type StepRecord = Readonly<ReturnType<typeof toRecord>>;

/** Reads an artifact of a run as text. The token ledger does not count the read. */
export async function artifactText(threads: ThreadsApi, run: string, ref: string): Promise<string> {
  return readText((await threads.content(run, ref, { counted: false })).body);
}

/** Reads the state of a run from its events. Returns null if the thread is not a run. */
export async function readRun(threads: ThreadsApi, id: string) {
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
    /**
     * Pipeline file with which the run was started or last resumed: its text, or the ref of the artifact that
     * contains it.
     */
    definition: definitionIn(latest),
    /** SHA-256 of the pipeline file. */
    hash: String(latest.hash),
    inputs: started.inputs as { readonly [name: string]: Json },
    /** Data of the trigger that started the run. Absent if a person started it. */
    ...(started.trigger ? { trigger: started.trigger } : {}),
    budget: { steps: spent, extended },
    /** Ref of the artifact with the files that the pipeline uses. */
    ...(typeof latest.uses_ref === 'string' ? { uses_ref: latest.uses_ref } : {}),
    /** Steps by instance id. The id is `review`, or `review[3]` if the step runs once per item of a list. */
    steps: new Map(Array.from(fold.steps, ([instance, step]) => [instance, toRecord(step)])),
  };
}

function definitionIn({
  text,
  ref,
}: FoldedRun['latest']): { readonly text: string } | { readonly ref: string } {
  return typeof text === 'string' ? { text } : { ref: String(ref) };
}

function toRecord({ step, status, attempts, ref, why, done, failures, question }: FoldedStep) {
  const failed = failures.map(({ at, payload: { attempt, attempts, why, wait_ms, output_ref } }) => ({
    attempt: Number(attempt ?? attempts),
    at,
    why: String(why),
    /** Time in ms until the next attempt. */
    ...(typeof wait_ms === 'number' ? { wait_ms } : {}),
    ...(typeof output_ref === 'string' ? { output_ref } : {}),
  }));
  const attempt_refs = failed.flatMap(({ output_ref }) => output_ref ?? []);
  return {
    step,
    status,
    attempts,
    /** Ref of the artifact with the result of the step. */
    ...(ref === null ? {} : { ref }),
    /** `settled` means that the log contains `step.done`, which is written after the token counts and the patch. */
    ...(done && ref !== null
      ? { settled: true, duration_ms: Number(done.duration_ms ?? 0), ...readShortcomings(done) }
      : {}),
    ...(done?.cached === true ? { cached: true } : {}),
    ...(why === null ? {} : { why }),
    /** Failed attempts, and rounds after which the condition of `until` was false, in order. */
    ...(failed.length > 0 ? { failures: failed } : {}),
    /** The question that the step waits for. */
    ...(question ? { question: { id: String(question.id), question: String(question.question) } } : {}),
    /** Refs of the artifacts with the output of failed attempts, in order. */
    ...(attempt_refs.length > 0 ? { attempt_refs } : {}),
  };
}
