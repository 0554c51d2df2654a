import { isRelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { timeOrderedId } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import {
  ANSWER_TAIL_CHARS,
  ARTIFACT_SOURCES,
  STEP_BACKOFF_MAX_MS,
  STEP_PROMPT_CHARS,
} from '../../base/limits.ts';
import type { ConcurrencyLimit } from '../../base/map-concurrent.ts';
import type { AskedQuestion } from '../../contract/questions.ts';
import { sourceOf } from '../../contract/run-fold.ts';
import type { Artifact } from '../../contract/threads.ts';
import { answerPatch } from '../prompts/answer-patch.ts';
import { type AnswerCache, partialField, promptFigures, readCachedAnswer } from '../prompts/prompts.ts';
import type { Meter } from './budget.ts';
import type { Agent, PersonAgent, PipelineAgent, Step } from './definition.ts';
import { artifactText, readRun } from './journal.ts';
import type { LeaseParts } from './run-lease.ts';
import type { Scope } from './scope.ts';
import {
  checkOutput,
  FinalFailure,
  outputOf,
  type Progress,
  type RunnerKind,
  type StepCall,
  StepFailure,
  type StepResult,
  type StepRunner,
  type StepRunners,
} from './step-runner.ts';

/**
 * A question that a run asks a person. Its key makes sure that the question is not asked a second time after
 * a crash.
 */
export interface RunQuestion
  extends Pick<PersonAgent, 'choices' | 'who' | 'default' | 'timeoutMs' | 'notify'> {
  readonly run: string;
  readonly step: string;
  readonly question: string;
  readonly key: string;
  readonly signal: AbortSignal;
  /**
   * Called with the question when the relay has stored it. If this process may create a link to the question, the
   * callback also gets the link.
   */
  onAsked(question: AskedQuestion, link: string | null): void;
}

export interface WorkParts extends Pick<LeaseParts, 'threads' | 'env' | 'pause' | 'project'> {
  readonly run: string;
  readonly meter: Meter;
  /** Notifies people and waits for the answer. */
  ask(question: RunQuestion): Promise<AskedQuestion>;
  /** Runs another pipeline as a step. */
  runPipeline(call: StepCall<PipelineAgent>, signal: AbortSignal): Promise<StepResult>;
  /** Masks the values of secrets in a text. */
  mask(text: string): string;
  readonly cache: AnswerCache;
  readonly runners: StepRunners;
  readonly signal: AbortSignal;
  progress(progress: Progress): void;
}

export interface Instance {
  /** Instance id: `review`, or `review[3]` for an item of a list. */
  readonly id: string;
  readonly step: Step;
  readonly agent: Agent;
  readonly scope: Scope;
  readonly context: readonly Artifact[];
  /** Environment variables of the step. Placeholders in their values are already replaced. */
  readonly env: { readonly [name: string]: string };
}

export type Outcome =
  | { readonly status: 'done'; readonly artifact: Artifact }
  | { readonly status: 'failed' | 'skipped' | 'interrupted'; readonly why: string };

/** A step call without `attempt`. Its fields are the same in every attempt. */
type Prepared = Omit<StepCall, 'attempt'>;

/**
 * Kinds of agents that pass the prompt to a model. Their prompts have frames around foreign text, and their
 * answers may end with a patch of the state.
 */
const MODEL_AGENTS: ReadonlySet<Agent['kind']> = new Set(['provider', 'cli', 'bridge', 'a2a']);

/** Runs one instance of a step, from its condition to its recorded result. */
export class StepWork {
  readonly #parts: WorkParts;
  readonly #instance: Instance;
  #began = 0;

  constructor(parts: WorkParts, instance: Instance) {
    this.#parts = parts;
    this.#instance = instance;
  }

  /**
   * Runs the instance. Only the agent needs a free slot; checking the condition and storing the result need
   * none.
   */
  async run(slots: ConcurrencyLimit): Promise<Outcome> {
    const { env, signal } = this.#parts;
    const { step, scope } = this.#instance;
    this.#began = env.now();
    if (signal.aborted) return { status: 'interrupted', why: 'the run was stopped' };
    let call: Prepared;
    try {
      if (step.when !== undefined && !(await scope.holds(step.when))) {
        const why = `the condition "${step.when}" is false`;
        await this.#note('skipped', { why });
        return this.#reported({ status: 'skipped', why });
      }
      call = await this.#prepare();
    } catch (error) {
      return this.#failed(error, 0);
    }
    const cacheKey = step.cacheMs === null ? null : await this.#cacheKey(call);
    const cached = cacheKey && (await this.#fromCache(cacheKey));
    if (cached) return this.#storeResult(cached, call.key, 0, true);
    // Take no slot while the step waits for a person or for another pipeline. The step itself runs no agent
    // then.
    const waits = call.agent.kind === 'person' || call.agent.kind === 'pipeline';
    const worked = waits ? await this.#attempts(call) : await slots.run(() => this.#attempts(call));
    if ('status' in worked) return worked;
    const outcome = await this.#storeResult(worked.result, call.key, worked.attempts);
    if (cacheKey && outcome.status === 'done' && !worked.result.incomplete) {
      const place = { thread_id: this.#parts.run, ref: outcome.artifact.ref };
      await this.#parts.cache.put(cacheKey, place, step.cacheMs!);
    }
    return outcome;
  }

  /** Completes a result that was recorded before a crash: applies its patch and writes `step.done`. */
  async finish(artifact: Artifact): Promise<void> {
    const threads = this.#parts.threads(artifact.provenance.created_by);
    await this.#settle(artifact, await artifactText(threads, this.#parts.run, artifact.ref), 1);
  }

  async #prepare(): Promise<Prepared> {
    const { id, step, agent, scope, context, env } = this.#instance;
    const asCommand = agent.kind === 'shell' && agent.command === null;
    const { prompt, values } = asCommand
      ? await scope.command(step)
      : {
          prompt: MODEL_AGENTS.has(agent.kind) ? await scope.promptText(step) : await scope.plain(step),
          values: {},
        };
    const args = await scope.args(agent);
    if (agent.kind === 'capability' && agent.prompt_as) args[agent.prompt_as] = prompt;
    const key = await stepKey(this.#parts.run, id);
    const { run, meter } = this.#parts;
    const enough: StepCall['enough'] = (model, billed) => meter.isUsedUp(step.id, model, billed);
    return { run, step: id, key, agent, prompt, values, args, context, pulls: step.pulls, env, enough };
  }

  async #attempts(call: Prepared): Promise<{ result: StepResult; attempts: number } | Outcome> {
    const { signal, progress, pause } = this.#parts;
    const { id, step } = this.#instance;
    this.#began = this.#parts.env.now();
    let failures = 0;
    for (let attempt = 1; ; attempt++) {
      if (signal.aborted) return this.#reported({ status: 'interrupted', why: 'the run was stopped' });
      progress({ step: id, status: 'running', attempt });
      // Do not wait until this event is durable. If a crash loses the event, the step is repeated anyway.
      const noted = this.#note('started', { key: call.key, attempt, ...promptOf(call, attempt) });
      try {
        await this.#parts.meter.admit(step.id);
        const began = this.#parts.env.now();
        const round = await this.#round({ ...call, attempt });
        const { result } = round;
        if (result) {
          const spent = this.#parts.env.now() - began;
          await this.#parts.meter.record(step.id, result.by ?? step.agent, result.billed, spent);
        }
        await noted;
        if (round.done) return { result: result!, attempts: attempt };
        const keptOutput = await this.#keepOutput(new StepFailure('', round.output), attempt);
        if (attempt >= step.until!.max) {
          const why = `the condition "${step.until!.condition}" is still false after ${attempt} rounds`;
          return this.#failed(new Error(why), attempt, keptOutput);
        }
        const why = `round ${attempt} of ${step.until!.max}: the condition "${step.until!.condition}" is false`;
        progress({ step: id, status: 'retrying', attempt, why, duration_ms: 0, ref: keptOutput.output_ref });
        await this.#note('retried', { attempt, why, wait_ms: 0, ...keptOutput });
        call = await this.#withPrevious(call, keptOutput.output_ref, attempt);
      } catch (error) {
        await noted;
        const keptOutput = await this.#keepOutput(error, attempt);
        if (signal.aborted) return this.#reported({ status: 'interrupted', why: 'the run was stopped' });
        if (error instanceof FinalFailure || ++failures > step.retry.max)
          return this.#failed(error, attempt, keptOutput);
        const wait = Math.min(step.retry.backoffMs * 2 ** (failures - 1), STEP_BACKOFF_MAX_MS);
        const why = reason(error);
        progress({
          step: id,
          status: 'retrying',
          attempt,
          why,
          duration_ms: wait,
          ref: keptOutput.output_ref,
        });
        await this.#note('retried', { attempt, why, wait_ms: wait, ...keptOutput });
        await pause(wait, signal);
      }
    }
  }

  /**
   * Runs one round of a step and evaluates the condition of `until`. A step without `until` has only one
   * round. If the condition uses the exit code, a failed command ends the round normally instead of failing
   * the step.
   */
  async #round(call: StepCall): Promise<{ done: boolean; output: string | Uint8Array; result?: StepResult }> {
    const { step, scope } = this.#instance;
    const { until } = step;
    if (!until) {
      const result = await this.#attempt(call);
      return { done: true, output: result.content, result };
    }
    const run = async (round: StepCall) => {
      try {
        return { result: await this.#attempt(round), code: 0 };
      } catch (error) {
        if (!(error instanceof StepFailure) || error.code === undefined) throw error;
        return { result: { content: error.output }, code: error.code };
      }
    };
    const usesCode = until.check === undefined && /\bexit_code\b/.test(until.condition);
    const first = usesCode ? await run(call) : { result: await this.#attempt(call), code: 0 };
    let { code } = first;
    let output = textOf(first.result.content);
    let report = output;
    if (until.check !== undefined) {
      const { prompt, values } = await scope.command({ prompt: until.check });
      const agent: Agent = { kind: 'shell', command: null, env: {} };
      const checked = await run({ ...call, agent, prompt, values, context: [] });
      code = checked.code;
      const checkOutput = textOf(checked.result.content);
      report = `${output}\n\n$ ${until.check}\n${checkOutput}`;
      output = checkOutput;
    }
    const done = await scope.holds(until.condition, { output, exit_code: code, round: call.attempt });
    return { done, output: report, result: first.result };
  }

  /**
   * Adds the output of the previous round to the context of a call, and a sentence about this output to its
   * prompt.
   */
  async #withPrevious(call: Prepared, ref: string | undefined, attempt: number): Promise<Prepared> {
    if (ref === undefined) return call;
    const { run, threads } = this.#parts;
    const previous = await threads(this.#instance.step.agent).artifact(run, ref, { counted: false });
    const { context } = this.#instance;
    const note = `Attempt ${attempt} was not enough. Its output is the artifact ${previous.ref}, "${previous.name}". Continue from there.`;
    const prompt = MODEL_AGENTS.has(call.agent.kind)
      ? `${call.prompt.replace(PREVIOUS, '')}\n\n${PREVIOUS_MARK}${note}`
      : call.prompt;
    return { ...call, prompt, context: [...context, previous] };
  }

  async #askPerson(call: StepCall, agent: PersonAgent): Promise<StepResult> {
    const { run, ask, signal, progress } = this.#parts;
    const { id } = this.#instance;
    const onAsked: RunQuestion['onAsked'] = (question, link) =>
      progress({
        step: id,
        status: 'waiting',
        text: question.id,
        why: question.question,
        ref: link ?? undefined,
      });
    const { answer, comment, answered_by } = await ask({
      ...agent,
      run,
      step: id,
      question: call.prompt,
      key: `ask:${call.key}`,
      signal,
      onAsked,
    });
    if (answer !== 'reject') return { content: answer ?? '', by: answered_by ?? 'person' };
    throw new FinalFailure(`${answered_by} rejected it${comment ? `: ${comment}` : ''}`, '');
  }

  async #attempt(call: StepCall): Promise<StepResult> {
    const { runners, signal, progress } = this.#parts;
    const { id, step } = this.#instance;
    const { agent } = call;
    if (agent.kind === 'person') return this.#askPerson(call, agent);
    if (agent.kind === 'pipeline') return this.#parts.runPipeline({ ...call, agent }, signal);
    const runner = runners[agent.kind as RunnerKind] as StepRunner;
    const timeout = AbortSignal.timeout(step.timeoutMs);
    let line = '';
    const onOutput = (text: string) => {
      // Mask the whole line and not each piece, because a secret may be split between two pieces.
      line = (line + text).slice(-MASKED_CHARS);
      progress({ step: id, status: 'said', text: this.#parts.mask(line) });
    };
    try {
      return checkOutput(step, await runner(call, { signal: AbortSignal.any([signal, timeout]), onOutput }));
    } catch (error) {
      if (timeout.aborted && !signal.aborted)
        throw new StepFailure(`it took longer than ${step.timeoutMs / 1000} s`, outputOf(error));
      throw error;
    }
  }

  /**
   * Stores the output of a failed attempt, or of a round whose condition was false. If the relay rejects the
   * output, for example because a quota is exceeded, only the failure is recorded.
   */
  async #keepOutput(error: unknown, attempt: number): Promise<{ output_ref?: string }> {
    const output = outputOf(error);
    if (output.length === 0) return {};
    const { id, step } = this.#instance;
    try {
      const { ref } = await this.#parts.threads(step.agent).putArtifact(this.#parts.run, {
        body: typeof output === 'string' ? new TextEncoder().encode(output) : output,
        name: `${id}, attempt ${attempt}`,
        type: 'tool_output',
        source_refs: [`attempt:${id}`],
      });
      return { output_ref: ref };
    } catch (error) {
      if (isRelayError(error)) return {};
      throw error;
    }
  }

  /**
   * Stores the result as an artifact, which commits the step. If another process stored a result first, uses
   * that result.
   */
  async #storeResult(result: StepResult, key: string, attempts: number, cached = false): Promise<Outcome> {
    const { run } = this.#parts;
    const { id, step, context } = this.#instance;
    const threads = this.#parts.threads(result.by ?? step.agent);
    const body =
      typeof result.content === 'string' ? new TextEncoder().encode(result.content) : result.content;
    const sources = [sourceOf(id), ...(result.source_refs ?? []), ...context.map(({ ref }) => ref)];
    let artifact: Artifact;
    try {
      artifact = await threads.putArtifact(run, {
        body,
        name: id === step.id ? step.output.name : `${step.output.name}${id.slice(step.id.length)}`,
        type: step.output.type,
        source_refs: sources.slice(0, ARTIFACT_SOURCES),
        idempotency_key: `step:${key}`,
      });
    } catch (error) {
      if (!isRelayError(error, 'idempotency_conflict')) throw error;
      const ref = (await readRun(threads, run))?.steps.get(id)?.ref;
      if (ref === undefined) throw error;
      artifact = await threads.artifact(run, ref, { counted: false });
    }
    const text = typeof result.content === 'string' ? result.content : '';
    await this.#settle(artifact, text, attempts, { ...result, cached });
    const duration_ms = this.#parts.env.now() - this.#began;
    this.#parts.progress({ step: id, status: 'done', ref: artifact.ref, duration_ms, cached });
    return { status: 'done', artifact };
  }

  /**
   * Writes what follows a result: the token counts, the patch, and the event `step.done`. After a crash it
   * can be called again.
   */
  async #settle(
    artifact: Artifact,
    text: string,
    attempts: number,
    {
      billed,
      cut,
      prompt,
      pulls,
      cached,
      incomplete,
      ...seen
    }: Partial<StepResult> & { readonly cached?: boolean } = {},
  ): Promise<void> {
    const { run, env, project } = this.#parts;
    const { id, agent } = this.#instance;
    const by = artifact.provenance.created_by;
    const threads = this.#parts.threads(by);
    if (prompt) {
      await threads.record(run, 'prompt.answered', {
        model: by,
        step: id,
        ref: artifact.ref,
        ...(project === undefined ? {} : { project }),
        ...promptFigures(prompt, { billed, pulls }),
        ...(cut ? { cut } : {}),
      });
    }
    const refused = MODEL_AGENTS.has(agent.kind) && !cached ? await this.#remember(text, by) : null;
    await this.#note('done', {
      ref: artifact.ref,
      attempts,
      duration_ms: this.#began ? env.now() - this.#began : 0,
      ...(cached ? { cached } : {}),
      ...partialField(seen),
      ...(pulls?.calls ? { pulled_tokens: pulls.tokens } : {}),
      ...(incomplete ? { incomplete } : {}),
      ...(refused ? { patch_refused: refused } : {}),
    });
  }

  /**
   * Applies the patch at the end of an answer. Returns the reason if the patch is rejected. Returns null if
   * the patch was applied or the answer has none.
   */
  async #remember(text: string, by: string): Promise<string | null> {
    const { run, env, threads } = this.#parts;
    const patch = answerPatch(text.slice(-ANSWER_TAIL_CHARS), by, () => timeOrderedId(env));
    if (patch === null) return null;
    if ('refused' in patch) return patch.refused;
    try {
      const idempotency_key = `remember:${await stepKey(run, this.#instance.id)}`;
      await threads(by).patch(run, { ops: patch.ops, idempotency_key });
      return null;
    } catch (error) {
      // This patch was already applied before a crash. It is rejected now because its items have new ids, so the
      // content differs from the first call with this idempotency key.
      if (isRelayError(error, 'idempotency_conflict')) return null;
      if (isRelayError(error)) return error.message;
      throw error;
    }
  }

  async #failed(
    error: unknown,
    attempts: number,
    keptOutput: { output_ref?: string } = {},
  ): Promise<Outcome> {
    const why = reason(error);
    await this.#note('failed', { why, attempts, ...keptOutput });
    return this.#reported({ status: 'failed', why }, keptOutput.output_ref);
  }

  #reported(outcome: Extract<Outcome, { why: string }>, ref?: string): Outcome {
    const { env, progress } = this.#parts;
    const duration_ms = env.now() - this.#began;
    progress({ step: this.#instance.id, status: outcome.status, why: outcome.why, duration_ms, ref });
    return outcome;
  }

  async #note(what: string, payload: JsonObject): Promise<void> {
    const threads = this.#parts.threads(this.#instance.step.agent);
    await threads.record(this.#parts.run, `step.${what}`, { step: this.#instance.id, ...payload });
  }

  #cacheKey({ agent, prompt, values, args, context }: Prepared): Promise<string> {
    const { output, env, until } = this.#instance.step;
    const seen = context.map(({ hash }) => hash);
    return sha256Hex(`step\n${JSON.stringify([agent, prompt, values, args, seen, output, env, until])}`);
  }

  async #fromCache(key: string): Promise<StepResult | null> {
    const threads = this.#parts.threads(this.#instance.step.agent);
    const cachedAnswer = await readCachedAnswer(this.#parts.cache, threads, key);
    if (!cachedAnswer) return null;
    const { provenance, ref } = cachedAnswer.artifact;
    const content = new TextEncoder().encode(cachedAnswer.text);
    return { content, by: provenance.created_by, source_refs: [ref] };
  }
}

/** Returns the idempotency key of an instance. It is equal for every attempt and in every process. */
export async function stepKey(run: string, instance: string): Promise<string> {
  return (await sha256Hex(`${run}\n${instance}`)).slice(0, 32);
}

/**
 * Returns the prompt for the event of the first attempt. The events of later attempts omit the prompt. It is the
 * same, except for a note about the previous round.
 */
function promptOf({ prompt }: Prepared, attempt: number): { prompt?: string; prompt_cut?: boolean } {
  if (attempt > 1) return {};
  const cut = prompt.length > STEP_PROMPT_CHARS;
  return { prompt: prompt.slice(0, STEP_PROMPT_CHARS).toWellFormed(), ...(cut ? { prompt_cut: true } : {}) };
}

function textOf(content: string | Uint8Array): string {
  return typeof content === 'string' ? content : new TextDecoder().decode(content);
}

/**
 * Starts the sentence about the previous round in a prompt, so that the next round can find and replace this
 * sentence.
 */
const PREVIOUS_MARK = 'Previous attempt: ';
const PREVIOUS = new RegExp(`\\n\\n${PREVIOUS_MARK}[^\\n]*$`);
/** Progress shows at most this many characters from the end of the output, and masks them as one text. */
const MASKED_CHARS = 8192;

function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const message = isRelayError(error, 'too_large') ? `${text} ${error.hint}` : text;
  return message.slice(0, 1000) || 'unknown reason';
}
