import type { Json } from '../../base/json.ts';
import type { ThreadEvent } from '../../contract/threads/answers.ts';
import type { ThreadsApi } from '../../contract/threads.ts';
import type { StepStatus } from './runner.ts';

/** What the log of a run amounts to. */
export interface RunRecord {
  readonly run: string;
  readonly pipeline: string;
  /** The file as it was when the run began or last went on: itself, or the artifact that holds it. */
  readonly definition: { readonly text: string } | { readonly ref: string };
  /** SHA-256 of that file. */
  readonly hash: string;
  readonly inputs: { readonly [name: string]: Json };
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly status: 'running' | 'done' | 'failed' | 'interrupted' | 'partial';
  /** By instance: `review`, or `review[3]`. */
  readonly steps: ReadonlyMap<string, StepRecord>;
}

export interface StepRecord {
  readonly step: string;
  readonly status: StepStatus;
  readonly attempts: number;
  /** The one result there is. */
  readonly ref?: string;
  /** The log says that it is done, so everything that follows a result has been written too. */
  readonly settled?: boolean;
  readonly cached?: boolean;
  readonly duration_ms?: number;
  readonly why?: string;
}

const SOURCE = 'step:';

/** How a result says whose it is. The event that makes it an artifact is the commit point of a step. */
export function sourceOf(instance: string): string {
  return `${SOURCE}${instance}`;
}

/** Null where the thread is not a run. */
export async function readRun(threads: ThreadsApi, id: string): Promise<RunRecord | null> {
  const fold = new RunFold(id);
  let after: string | undefined;
  do {
    const page = await threads.events(id, after === undefined ? {} : { after });
    for (const event of page.events) fold.take(event);
    after = page.next;
  } while (after !== undefined);
  return fold.record();
}

type Payload = { readonly [field: string]: Json | undefined };

class RunFold {
  readonly #run: string;
  #begun: Pick<RunRecord, 'pipeline' | 'definition' | 'hash' | 'inputs' | 'started_at'> | null = null;
  #end: { readonly status: RunRecord['status']; readonly at: string | null } = {
    status: 'running',
    at: null,
  };
  readonly #steps = new Map<string, StepRecord>();

  constructor(run: string) {
    this.#run = run;
  }

  take({ type, payload, timestamp }: ThreadEvent): void {
    const said = payload as Payload;
    if (type === 'artifact.created') this.#result(said);
    else if (type === 'pipeline.started' || type === 'pipeline.resumed') this.#begin(said, timestamp);
    else if (type === 'pipeline.finished')
      this.#end = { status: said.status as RunRecord['status'], at: timestamp };
    else if (type.startsWith('step.') && typeof said.step === 'string')
      this.#step(type.slice('step.'.length), said.step, said);
  }

  record(): RunRecord | null {
    if (!this.#begun) return null;
    const { status, at } = this.#end;
    return { run: this.#run, ...this.#begun, finished_at: at, status, steps: this.#steps };
  }

  #begin(said: Payload, at: string): void {
    this.#begun = {
      pipeline: String(said.pipeline),
      definition: typeof said.text === 'string' ? { text: said.text } : { ref: String(said.ref) },
      hash: String(said.hash),
      inputs: this.#begun?.inputs ?? (said.inputs as RunRecord['inputs']),
      started_at: this.#begun?.started_at ?? at,
    };
    this.#end = { status: 'running', at: null };
    for (const [id, step] of this.#steps) if (step.ref === undefined) this.#steps.delete(id);
  }

  /** The first one counts; there is no second. */
  #result(said: Payload): void {
    const sources = Array.isArray(said.source_refs) ? said.source_refs : [];
    const source = sources.find((ref) => typeof ref === 'string' && ref.startsWith(SOURCE));
    if (typeof source !== 'string') return;
    const id = source.slice(SOURCE.length);
    const known = this.#of(id);
    if (known.ref === undefined) this.#steps.set(id, { ...known, status: 'done', ref: String(said.ref) });
  }

  #step(what: string, id: string, said: Payload): void {
    const known = this.#of(id);
    if (known.ref !== undefined) {
      if (what === 'done')
        this.#steps.set(id, {
          ...known,
          settled: true,
          attempts: Number(said.attempts ?? known.attempts),
          duration_ms: Number(said.duration_ms ?? 0),
          ...(said.cached === true ? { cached: true } : {}),
        });
      return;
    }
    if (what === 'started')
      this.#steps.set(id, { step: id, status: 'running', attempts: Number(said.attempt) });
    else if (what === 'failed')
      this.#steps.set(id, {
        ...known,
        status: 'failed',
        why: String(said.why),
        attempts: Number(said.attempts),
      });
    else if (what === 'skipped' || what === 'blocked')
      this.#steps.set(id, { ...known, status: what, why: String(said.why) });
  }

  #of(id: string): StepRecord {
    return this.#steps.get(id) ?? { step: id, status: 'pending', attempts: 0 };
  }
}
