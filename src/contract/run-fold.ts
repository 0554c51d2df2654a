import type { Json } from '../base/json.ts';
import type { RunStatus, StepInstance, ThreadEvent } from './threads.ts';

type Payload = { readonly [field: string]: Json | undefined };

/** State of a pipeline run, computed from the events of its thread. */
export interface FoldedRun extends Pick<StepInstance, 'finished_at'> {
  readonly pipeline: string;
  readonly status: RunStatus;
  /** Why the run was cancelled. */
  readonly why?: string;
  readonly started_at: string;
  /** Payload of the event that started the run. */
  readonly started: Payload;
  /** Payload of the newest event that started or resumed the run. */
  readonly latest: Payload;
}

/** One instance of a step: `review`, or `review[3]` for an item of a list. */
export interface FoldedStep
  extends Pick<
    StepInstance,
    | 'step'
    | 'status'
    | 'attempts'
    | 'started_at'
    | 'finished_at'
    | 'why'
    | 'prompt_event'
    | 'ref'
    | 'output_ref'
  > {
  /**
   * Payload of the event `step.done`. This event is written last: if it exists, the patch and the token
   * counts of the result were written too.
   */
  readonly done?: Payload;
  /** Payload of the answer of a model. */
  readonly answered?: Payload;
  /** Payload of the question that the step waits for. */
  readonly question?: Payload;
  /** The attempts that failed, in order, and the rounds whose condition was false. */
  readonly failures: readonly { readonly type: string; readonly at: string; readonly payload: Payload }[];
}

const SOURCE = 'step:';

/**
 * Returns the text that names a step in `source_refs` of its result. The event that creates the result, an
 * artifact, is the commit point of the step.
 */
export function sourceOf(instance: string): string {
  return `${SOURCE}${instance}`;
}

/** Computes the state of a pipeline run from the events of its thread. */
export class RunFold {
  /** Null until an event has started the run. */
  run: FoldedRun | null = null;
  readonly steps = new Map<string, FoldedStep>();

  fold({ id, type, payload, timestamp: at }: ThreadEvent): void {
    const { step } = payload;
    if (type === 'pipeline.started' || type === 'pipeline.resumed') this.#begin(payload, at);
    else if (type === 'pipeline.finished') this.#finish(payload, at);
    else if (type === 'artifact.created') this.#takeResult(payload, at);
    else if (typeof step !== 'string') return;
    else if (type === 'prompt.answered') this.#change(step, { answered: payload });
    else if (type === 'question.asked') this.#change(step, { question: payload });
    else if (type === 'question.answered') this.#change(step, { question: undefined });
    else if (type.startsWith('step.')) this.#takeStep(type.slice('step.'.length), step, payload, { id, at });
  }

  #begin(payload: Payload, at: string): void {
    const { started_at = at, started = payload } = this.run ?? {};
    const pipeline = String(payload.pipeline);
    this.run = { pipeline, status: 'running', started_at, finished_at: null, started, latest: payload };
    // Steps without a result run again after a resume.
    for (const [step, { ref }] of this.steps) if (ref === null) this.steps.delete(step);
  }

  #finish({ status, why }: Payload, at: string): void {
    if (!this.run) return;
    const reason = typeof why === 'string' ? { why } : {};
    this.run = { ...this.run, status: parseStatus(status), finished_at: at, ...reason };
  }

  /** Records the result of a step. If a step has several, only the first one counts. */
  #takeResult({ source_refs: sources, ref }: Payload, at: string): void {
    const found = Array.isArray(sources) ? sources : [];
    const source = found.find((one) => typeof one === 'string' && one.startsWith(SOURCE));
    if (typeof source !== 'string') return;
    const step = source.slice(SOURCE.length);
    if ((this.steps.get(step)?.ref ?? null) !== null) return;
    this.#change(step, { status: 'done', ref: String(ref), finished_at: at });
  }

  #takeStep(what: string, step: string, payload: Payload, { id, at }: { id: string; at: string }): void {
    const { ref, attempts: before, started_at, failures } = this.#stepOf(step);
    const attempts = number(payload.attempts) ?? before;
    if (what === 'retried' || what === 'failed')
      this.#change(step, { failures: [...failures, { type: what, at, payload }] });
    if (what === 'done') this.#change(step, { done: payload, attempts });
    else if (ref !== null) return;
    else if (what === 'started') {
      const prompt = typeof payload.prompt === 'string' ? { prompt_event: id } : {};
      const attempt = number(payload.attempt) ?? before;
      this.#change(step, { status: 'running', attempts: attempt, started_at: started_at ?? at, ...prompt });
    } else if (what === 'failed' || what === 'skipped' || what === 'blocked') {
      const output = typeof payload.output_ref === 'string' ? { output_ref: payload.output_ref } : {};
      const why = String(payload.why ?? '');
      this.#change(step, { status: what, why, attempts, finished_at: at, ...output });
    }
  }

  #change(step: string, more: Partial<FoldedStep>): void {
    this.steps.set(step, { ...this.#stepOf(step), ...more });
  }

  #stepOf(step: string): FoldedStep {
    const none = { started_at: null, finished_at: null, why: null, prompt_event: null, ref: null };
    return this.steps.get(step) ?? { step, status: 'pending', attempts: 0, ...none, failures: [] };
  }
}

/** Parses the final status of a run. Clients write the events of runs, so an unknown value counts as failed. */
export function parseStatus(value: Json | undefined): RunStatus {
  const statuses = ['done', 'failed', 'interrupted', 'partial', 'cancelled'] as const;
  return statuses.find((status) => status === value) ?? 'failed';
}

export function number(value: Json | undefined): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
