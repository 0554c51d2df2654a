import type { Incomplete } from '../../base/enums.ts';
import type { Env } from '../../base/env.ts';
import { badRequest, isRelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { timeOrderedId } from '../../base/ids.ts';
import { ANSWER_CACHE_MS, ANSWER_TAIL_CHARS } from '../../base/limits.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import { readText } from '../../base/utf8.ts';
import type { Artifact, ArtifactCreated, ThreadsApi } from '../../contract/threads.ts';
import type { PatchOp } from '../../formats/json-patch/apply.ts';
import { type FrameSecret, oneLine } from '../../text/frame.ts';
import { answerPatch } from './answer-patch.ts';
import { type Answered, answerWithPulls, type Pulling } from './thread-tools.ts';
import {
  type Bundle,
  incompleteness,
  type Model,
  type ModelAnswer,
  type NewAnswer,
  type PatchOutcome,
  type PromptRequest,
  type Pulls,
  type ThreadsAs,
} from './types.ts';

interface PromptParts {
  readonly threads: ThreadsAs;
  readonly tokens: TokenCounter;
  readonly env: Env;
  readonly cache: AnswerCache;
  /** Secret for the frames around texts that a model pulls. */
  readonly frameSecret: FrameSecret;
  /** Name of the project folder. Costs are recorded under it. */
  readonly project?: string;
}

export type PromptOutcome = Readonly<ReturnType<typeof outcome>> &
  Pick<ModelAnswer, 'billed' | 'cut'> & { readonly incomplete?: Incomplete };

/** Author while a prompt is built, because the model that will answer is not known yet. */
const PROMPT_AUTHOR = 'relay';

/**
 * Builds prompts of limited size from threads, and stores the answers. An answer is stored as an artifact,
 * and it updates the state of the thread.
 */
export class Prompts {
  readonly #parts: PromptParts;

  constructor(parts: PromptParts) {
    this.#parts = parts;
  }

  bundle(request: PromptRequest): Promise<Bundle> {
    const { threads, tokens } = this.#parts;
    return makeBundle(threads(PROMPT_AUTHOR), tokens, request);
  }

  /**
   * Asks the model and returns its answer without storing it. The model may call tools while it answers, and
   * the events of these calls are stored.
   */
  answer(bundle: Bundle, model: Model, o: Pulling = {}): Promise<Answered> {
    const parts = { ...this.#parts, threads: this.#parts.threads(model.name) };
    return answerWithPulls(parts, bundle, model, o);
  }

  /** Asks the model and stores its answer. With `cache`, an identical prompt gets the cached answer. */
  async ask(bundle: Bundle, model: Model, o: Pulling & { cache?: boolean } = {}): Promise<PromptOutcome> {
    if (o.cache) {
      const cached = await this.#fromCache(bundle, model.name, o.onText);
      if (cached) return cached;
    }
    const answer = await this.answer(bundle, model, o);
    const outcome = await this.record(bundle, {
      by: model.name,
      body: new TextEncoder().encode(answer.text),
      end: async () => ({
        ...answer,
        incomplete: incompleteness(answer),
        tail: answer.text.slice(-ANSWER_TAIL_CHARS),
      }),
    });
    if (o.cache && !outcome.incomplete) {
      const { cache } = this.#parts;
      const place = { thread_id: outcome.thread_id, ref: outcome.artifact_ref };
      await cache.put(await keyOf(bundle, model.name), place, ANSWER_CACHE_MS);
      // Storing the answer changed the state, so the next prompt differs from this one. If the next prompt asks the
      // same question, it should still get the cached answer. So also cache the answer under a key with the new
      // state.
      await cache.put(await afterKey(bundle, model.name, outcome.state_ref), place, ANSWER_CACHE_MS);
    }
    return outcome;
  }

  /**
   * Stores an answer: first the artifact, then the state, then the event that describes both. The answer may
   * still be streaming.
   */
  async record(bundle: Bundle, answer: NewAnswer): Promise<PromptOutcome> {
    const { env, project } = this.#parts;
    const began = env.now();
    const { thread_id } = bundle;
    const threads = this.#parts.threads(answer.by);
    const id = timeOrderedId(env);
    const artifact = await threads.putArtifact(thread_id, {
      body: answer.body,
      name: answer.name ?? 'answer.md',
      type: 'markdown',
      source_refs: [`${SOURCE}${id}`, ...bundle.artifacts.map(({ ref }) => ref)],
      idempotency_key: `prompt:${id}`,
    });
    const { tail, billed, cut, incomplete, more, failed, pulls = NO_PULLS } = await answer.end();
    const { patch, state_ref } = failed
      ? { patch: { status: 'none', ops: 0 } as const, state_ref: artifact.state_ref }
      : await this.#remember(bundle, { by: answer.by, tail, ref: artifact.ref, id });
    await threads.record(thread_id, 'prompt.answered', {
      model: answer.by,
      ...(project === undefined ? {} : { project }),
      words: clip(bundle.words),
      bundle: bundle.fingerprint,
      state_before: bundle.state_ref,
      state_after: state_ref,
      ref: artifact.ref,
      ...promptFigures(bundle, { billed, pulls }),
      ...partialField(bundle),
      answer_tokens: artifact.tokens.content,
      ...(cut ? { cut } : {}),
      ...(incomplete ? { incomplete } : {}),
      patch: patch.status,
      ...(patch.why ? { patch_refused: patch.why } : {}),
      session_cache_hit: false,
      duration_ms: env.now() - began,
      ...more,
    });
    return {
      ...outcome(bundle, answer.by, artifact, pulls),
      state_ref,
      patch,
      ...(billed ? { billed } : {}),
      ...(cut ? { cut } : {}),
      ...(incomplete ? { incomplete } : {}),
    };
  }

  /**
   * Records a prompt that was given to somebody who answers elsewhere. No answer is stored, but the tokens of
   * the prompt are recorded, because it was read.
   */
  async handedOver(bundle: Bundle, to: string): Promise<void> {
    const about = { to, words: clip(bundle.words), bundle: bundle.fingerprint };
    const figures = { ...about, ...promptFigures(bundle, {}), ...partialField(bundle) };
    await this.#parts.threads(to).record(bundle.thread_id, 'prompt.handed_over', figures);
  }

  /** Adds the answer to the last actions in the state. Applies the patch in the answer if it is valid. */
  async #remember(
    bundle: Bundle,
    { by, tail, ref, id }: { by: string; tail: string; ref: string; id: string },
  ): Promise<{ patch: PatchOutcome; state_ref: string }> {
    const threads = this.#parts.threads(by);
    const statePatch = answerPatch(tail, by, () => timeOrderedId(this.#parts.env));
    const action: PatchOp = {
      op: 'add',
      path: '/last_actions/-',
      value: {
        description: `${oneLine(by, 60)} answered: ${oneLine(bundle.words, 100)}`,
        result_ref: ref,
        question: clip(bundle.words),
      },
    };
    const send = async (ops: readonly PatchOp[], part: string) =>
      (await threads.patch(bundle.thread_id, { ops, idempotency_key: `prompt:${id}:${part}` })).state_ref;
    let why = statePatch && 'refused' in statePatch ? statePatch.refused : undefined;
    const ops = statePatch && 'ops' in statePatch ? statePatch.ops : [];
    if (ops.length > 0) {
      try {
        const state_ref = await send([...ops, action], 'answer');
        return { patch: { status: 'applied', ops: ops.length }, state_ref };
      } catch (error) {
        if (!isRelayError(error)) throw error;
        why = error.message;
      }
    }
    const state_ref = await send([action], 'action');
    if (why !== undefined) return { patch: { status: 'refused', ops: 0, why }, state_ref };
    return { patch: { status: 'none', ops: 0 }, state_ref };
  }

  async #fromCache(bundle: Bundle, model: string, onText?: (text: string) => void) {
    const { cache, env } = this.#parts;
    const began = env.now();
    const keys = [await keyOf(bundle, model), await afterKey(bundle, model, bundle.state_ref)];
    const cachedAnswer = await readCachedAnswer(cache, this.#parts.threads(PROMPT_AUTHOR), ...keys);
    if (!cachedAnswer) return null;
    const { ref, thread_id } = cachedAnswer.artifact;
    onText?.(cachedAnswer.text);
    const threads = this.#parts.threads(model);
    const artifact =
      thread_id === bundle.thread_id
        ? await threads.artifact(thread_id, ref, { counted: false })
        : await threads.putArtifact(bundle.thread_id, {
            body: new TextEncoder().encode(cachedAnswer.text),
            name: 'answer.md',
            type: 'markdown',
            source_refs: [ref],
          });
    await threads.record(bundle.thread_id, 'prompt.answered', {
      model,
      words: clip(bundle.words),
      bundle: bundle.fingerprint,
      ref: artifact.ref,
      patch: 'none',
      session_cache_hit: true,
      duration_ms: env.now() - began,
    });
    const { state_version } = await threads.get(bundle.thread_id);
    return { ...outcome(bundle, model, artifact), session_cache_hit: true, state_ref: `v${state_version}` };
  }
}

/**
 * Prefix of the source ref that contains the id of the prompt. All other source refs of an answer name artifacts
 * that the prompt showed.
 */
const SOURCE = 'prompt:';

const NO_PULLS: Pulls = { calls: 0, tokens: 0, tools_tokens: 0, pasted_tokens: 0 };

/** Returns the token counts of a prompt. The event of the prompt contains them, and the token ledger adds them up. */
export function promptFigures(
  { tokens, pasted }: Pick<Bundle, 'tokens' | 'pasted'>,
  { billed, pulls = NO_PULLS }: Pick<Answered, 'billed' | 'pulls'>,
): { readonly [field: string]: string | number | boolean } {
  const cached = billed?.cached_input_tokens;
  return {
    prompt_tokens: tokens.tokens + pulls.tools_tokens,
    pasted_tokens: pasted.tokens + pulls.pasted_tokens,
    tokenizer: tokens.tokenizer,
    ...(tokens.estimated || pasted.estimated ? { estimated: true } : {}),
    ...(pulls.calls > 0 ? { tool_calls: pulls.calls, tool_call_tokens: pulls.tokens } : {}),
    ...(billed ? { billed_input: billed.input_tokens, billed_output: billed.output_tokens } : {}),
    ...(cached === undefined ? {} : { billed_cached_input: cached }),
  };
}

/**
 * Returns the event field `partial`: the context that a prompt showed only in part. Without such context,
 * returns no field.
 */
export function partialField({ partial = [] }: Partial<Pick<Bundle, 'partial'>>): { partial?: string[] } {
  return partial.length > 0 ? { partial: [...partial] } : {};
}

function outcome(
  bundle: Bundle,
  model: string,
  artifact: { ref: string; tokens: ArtifactCreated['tokens'] },
  pulls = NO_PULLS,
) {
  return {
    thread_id: bundle.thread_id,
    state_ref: bundle.state_ref,
    artifact_ref: artifact.ref,
    model,
    session_cache_hit: false as boolean,
    partial: bundle.partial,
    patch: { status: 'none', ops: 0 } as PatchOutcome,
    tokens: {
      /** Number of tokens that the model saw, each counted once. */
      prompt: bundle.tokens.tokens + pulls.tools_tokens + pulls.tokens,
      pasted: bundle.pasted.tokens + pulls.pasted_tokens,
      answer: artifact.tokens.content,
      tokenizer: bundle.tokens.tokenizer,
      estimated: bundle.tokens.estimated || bundle.pasted.estimated,
      /** Number of tokens of `prompt` that came from tool calls. */
      pulled: pulls.tokens,
      pulls: pulls.calls,
    },
  };
}

function keyOf(bundle: Bundle, model: string): Promise<string> {
  return sha256Hex(`answer\n${model}\n${bundle.fingerprint}`);
}

function afterKey({ thread_id, words, system }: Bundle, model: string, stateRef: string): Promise<string> {
  return sha256Hex(`after\n${JSON.stringify([model, thread_id, stateRef, system, words])}`);
}

/** Cuts the words of a prompt to 500 characters, because events are shown in lists. */
function clip(text: string): string {
  return text.length > 500 ? `${text.slice(0, 499)}…` : text;
}

/**
 * Builds a prompt from a thread and adds the instruction about patches. The same input always gives the same
 * bytes.
 */
async function makeBundle(
  threads: ThreadsApi,
  tokens: TokenCounter,
  { thread_id, ...request }: PromptRequest,
): Promise<Bundle> {
  const question = request.words.trim();
  if (question === '') throw badRequest('The prompt is empty.');
  // With `dry`, rendering does not count in the token ledger. The tokens of the prompt are recorded later,
  // with the answer.
  const o = { ...request, words: question, format: 'anthropic', dry: true } as const;
  const { header, artifacts, pasted, ...rendered } = await threads.render(thread_id, o);
  const system = `${rendered.system}\n\n${PATCH}`;
  const user = rendered.messages[0]!.content;
  const stable = user.slice(0, rendered.stable);
  const counted = await tokens.count(`${system}\n${user}`);
  const content = [system, header, artifacts.map(({ ref, size, ...artifact }) => artifact), question];
  return {
    thread_id: rendered.thread_id,
    state_ref: rendered.state_ref,
    system,
    user,
    stable,
    cacheKey: (await sha256Hex(`prefix\n${system}\n${stable}`)).slice(0, 32),
    words: question,
    artifacts,
    truncated: rendered.truncated,
    partial: rendered.partial ?? [],
    fingerprint: await sha256Hex(JSON.stringify(content)),
    tokens: counted,
    pasted: { ...pasted, tokens: pasted.tokens + counted.tokens - rendered.tokens.tokens },
  };
}

const PATCH = [
  'If later steps need to remember something, end your answer with a fenced block',
  'with the language relay-patch that contains a JSON Patch: an array of operations "add" and "replace"',
  'on items of /facts, /constraints, /open_questions, /decisions and /plan, or on /session_summary.',
  'For example: [{"op":"add","path":"/facts/-","value":{"key":"language","value":"TypeScript"}},',
  '{"op":"replace","path":"/plan/2/status","value":"done"}]. To update a fact, add it again with the same key.',
  'Omit the block if there is nothing to remember.',
].join(' ');

/** Cache of answers to identical prompts. All threads share it. */
export interface AnswerCache {
  get(key: string): Promise<CachedAnswer | null>;
  put(key: string, answer: CachedAnswer, ttlMs: number): Promise<void>;
}

export interface CachedAnswer {
  readonly thread_id: string;
  readonly ref: string;
}

/**
 * Returns the cached answer of the first key that has one. Returns null if there is none, or if its artifact
 * no longer exists.
 */
export async function readCachedAnswer(
  cache: AnswerCache,
  threads: ThreadsApi,
  ...keys: readonly string[]
): Promise<{ readonly artifact: Artifact; readonly text: string } | null> {
  let found: CachedAnswer | null = null;
  for (const key of keys) found ??= await cache.get(key);
  if (!found) return null;
  try {
    const { artifact, body } = await threads.content(found.thread_id, found.ref, { counted: false });
    return { artifact, text: await readText(body) };
  } catch (error) {
    if (isRelayError(error, 'not_found')) return null;
    throw error;
  }
}
