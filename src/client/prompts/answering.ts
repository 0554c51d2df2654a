import { isRelayError } from '../../base/errors.ts';
import { PULL_CALLS, PULL_ROUNDS } from '../../base/limits.ts';
import { ThreadTools, TOOLS, type ToolParts } from './thread-tools.ts';
import type { AnswerOptions, Billed, Bundle, Model, ModelAnswer, Pulls, Round } from './types.ts';

export type Pulling = AnswerOptions & {
  /** Without tools it answers from the prompt alone. */
  readonly tools?: boolean;
  /** Artifacts of which it may see something; all of the thread by default. */
  readonly only?: readonly string[];
};

export type Answered = ModelAnswer & { readonly pulls?: Pulls };

/**
 * The answer of a model that may call for more while it answers: rounds and tokens have a limit, and at the last it has to answer.
 * One that takes no tools is asked without. What is billed is that of all rounds.
 */
export async function answerWithPulls(
  parts: ToolParts,
  bundle: Bundle,
  model: Model,
  { tools: wanted = true, only, ...o }: Pulling,
): Promise<Answered> {
  // A thread of which nothing is shown has no artifacts, or none that it may see.
  if (!wanted || bundle.artifacts.length === 0) return model.answer(bundle, o);
  const tools = new ThreadTools(parts, bundle, only);
  const rounds: Round[] = [];
  let billed: Billed | undefined;
  for (;;) {
    const last = rounds.length === PULL_ROUNDS || tools.left <= 0;
    let answer: ModelAnswer;
    try {
      answer = await model.answer(bundle, o, { tools: TOOLS, rounds, last });
    } catch (error) {
      if (rounds.length > 0 || !isRelayError(error, 'tools_refused')) throw error;
      return model.answer(bundle, o);
    }
    billed = added(billed, answer.billed);
    const { calls = [], turn: _, calls: __, ...said } = answer;
    if (last || calls.length === 0) {
      const described = await parts.tokens.count(JSON.stringify(TOOLS));
      return { ...said, billed, pulls: { ...tools.pulls, tools_tokens: described.tokens } };
    }
    const results: string[] = [];
    for (const [at, call] of calls.entries()) {
      if (at >= PULL_CALLS) {
        results.push(`Not done: ${PULL_CALLS} calls at once are the most.`);
        continue;
      }
      const { result, pull } = await tools.call(call);
      results.push(result);
      o.onPull?.(pull);
    }
    rounds.push({ answer, results });
  }
}

function added(a: Billed | undefined, b: Billed | undefined): Billed | undefined {
  if (!a || !b) return a ?? b;
  const cached =
    a.cached_input_tokens === undefined && b.cached_input_tokens === undefined
      ? {}
      : { cached_input_tokens: (a.cached_input_tokens ?? 0) + (b.cached_input_tokens ?? 0) };
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    ...cached,
  };
}
