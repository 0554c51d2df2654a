import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { systemEnv } from '../../src/base/env.ts';
import type { TokenCounter } from '../../src/base/tokens.ts';
import { Prompts } from '../../src/client/prompts/prompts.ts';
import type { Artifact, ThreadsApi } from '../../src/contract/threads.ts';
import { CASES, type Case, type Question } from './questions.ts';
import { around, isRight, NOT_FOUND, readerOf } from './reader.ts';

/** The compared ways to give a model the contents of a thread. */
export const WAYS = ['pasting', 'random previews', 'newest ten', 'ours'] as const;
export type Way = (typeof WAYS)[number];

export interface Line {
  readonly way: Way;
  readonly asked: number;
  readonly right: number;
  /** Number of questions that have an answer in the texts, and how many of them were answered correctly. */
  readonly answerable: number;
  readonly answered: number;
  /**
   * Number of tokens shown to the model, each text counted once. `tokens` is the relay's count, `second` the count of
   * another tokenizer.
   */
  readonly tokens: number;
  readonly second: number;
  /** Number of tokens sent to the provider. Each round of tool calls sends the whole conversation again. */
  readonly sent: number;
}

export interface Bill {
  readonly cases: readonly {
    readonly name: string;
    readonly what: string;
    readonly lines: readonly Line[];
  }[];
  readonly all: readonly Line[];
}

/** Asks every question in every way of `WAYS`. `threads` must be on a new store. */
export async function billOf(threads: ThreadsApi, tokens: TokenCounter): Promise<Bill> {
  const cases: Bill['cases'][number][] = [];
  for (const one of CASES) {
    const lines: Line[] = [];
    for (const way of WAYS) lines.push(await ask(one, way, threads, tokens));
    cases.push({ name: one.name, what: one.what, lines });
  }
  const all = WAYS.map((way) =>
    sum(
      way,
      cases.flatMap(({ lines }) => lines.filter((line) => line.way === way)),
    ),
  );
  return { cases, all };
}

/** Returns the share of tokens, from 0 to 1, that one of the `WAYS` saves compared with pasting. */
export function avoided(
  lines: readonly Line[],
  way: Way,
  by: 'tokens' | 'second' | 'sent' = 'tokens',
): number {
  const of = (one: Way) => lines.find((line) => line.way === one)!;
  return 1 - of(way)[by] / of('pasting')[by];
}

/** Returns a sentence about a claim that does not hold, or null. */
export function brokenClaim({ all }: Bill): string | null {
  const ours = all.find(({ way }) => way === 'ours')!;
  const share = ours.right / ours.asked;
  const answeredShare = ours.answered / ours.answerable;
  for (const by of ['tokens', 'second'] as const)
    if (avoided(all, 'ours', by) < 0.95) return `only ${avoided(all, 'ours', by)} avoided (${by})`;
  if (share < 0.95 || answeredShare < 0.95)
    return `only ${share} right, ${answeredShare} of what the texts say`;
  const apart = all.find(({ tokens, second }) => Math.abs(tokens / second - 1) > 0.01);
  return apart ? `${apart.way}: ${apart.tokens} tokens, or ${apart.second} by the second count` : null;
}

interface Answered {
  readonly text: string;
  readonly tokens: number;
  readonly second: number;
  readonly sent: number;
}

async function ask(one: Case, way: Way, threads: ThreadsApi, tokens: TokenCounter): Promise<Line> {
  const { thread_id } = await threads.create({ name: one.name });
  const texts = textsOf(one);
  for (const { name, text } of texts)
    await threads.putArtifact(thread_id, { body: new TextEncoder().encode(text), name });
  const answers: { question: Question; answered: Answered }[] = [];
  for (const [at, question] of one.questions.entries()) {
    const answered =
      way === 'ours'
        ? await askAsRun(thread_id, one.questions, question.ask, threads, tokens)
        : await answerFromContext(
            question,
            await contextOf(way, thread_id, texts, threads, at),
            threads,
            thread_id,
            tokens,
          );
    answers.push({ question, answered });
  }
  await threads.delete(thread_id);
  const answerable = answers.filter(({ question }) => question.facts.length > 0);
  const right = (some: typeof answers) =>
    some.filter(({ question, answered }) => isRight(question, answered.text)).length;
  const total = (by: 'tokens' | 'second' | 'sent') =>
    answers.reduce((n, { answered }) => n + answered[by], 0);
  return {
    way,
    asked: answers.length,
    right: right(answers),
    answerable: answerable.length,
    answered: right(answerable),
    tokens: total('tokens'),
    second: total('second'),
    sent: total('sent'),
  };
}

/** Asks a question as `relay run` does, with our fake model instead of a provider. */
export async function askAsRun(
  thread_id: string,
  questions: readonly Question[],
  question: string,
  threads: ThreadsApi,
  tokens: TokenCounter,
): Promise<Answered> {
  const inputTokens: number[] = [];
  const model = readerOf(questions, (input) => inputTokens.push(countTokens(input)));
  const cache = { get: async () => null, put: async () => {} };
  const prompts = new Prompts({
    threads: () => threads,
    tokens,
    env: systemEnv,
    cache,
    frameSecret: async () => new Uint8Array(32),
  });
  const bundle = await prompts.bundle({ thread_id, words: question });
  let text = '';
  const outcome = await prompts.ask(bundle, model, { onText: (reply) => (text = reply) });
  return {
    text,
    tokens: outcome.tokens.prompt,
    second: inputTokens.at(-1)!,
    sent: inputTokens.reduce((a, b) => a + b, 0),
  };
}

/** Asks a model that sees only the given text and cannot pull. */
async function answerFromContext(
  question: Question,
  context: string,
  threads: ThreadsApi,
  thread_id: string,
  tokens: TokenCounter,
): Promise<Answered> {
  const input = `${context}\n\n${question.ask}`;
  const text = around(question, context) ?? NOT_FOUND;
  await threads.putArtifact(thread_id, {
    body: new TextEncoder().encode(text),
    name: 'answer.md',
    source_refs: ['prompt'],
  });
  const second = countTokens(input);
  return { text, tokens: (await tokens.count(input)).tokens, second, sent: second };
}

async function contextOf(
  way: Exclude<Way, 'ours'>,
  thread_id: string,
  texts: readonly { name: string; text: string }[],
  threads: ThreadsApi,
  at: number,
): Promise<string> {
  if (way === 'pasting') return texts.map(({ name, text }) => `${name}\n${text}`).join('\n\n');
  const { artifacts } = await threads.artifacts(thread_id, { limit: 100 });
  const some = way === 'newest ten' ? artifacts : shuffled(artifacts, at);
  return some
    .slice(0, 10)
    .map(({ name, preview }) => `${name}\n${preview.text}`)
    .join('\n\n');
}

/** Shuffles in an order that depends only on the seed. */
function shuffled(artifacts: readonly Artifact[], seed: number): Artifact[] {
  let state = seed + 1;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state;
  };
  const drawn = artifacts.map((artifact) => ({ artifact, place: next() }));
  return drawn.toSorted((a, b) => a.place - b.place).map(({ artifact }) => artifact);
}

function textsOf({ name }: Case): { name: string; text: string }[] {
  const folder = join(import.meta.dirname, 'texts', name);
  const files = globSync(join(folder, '**/*.*')).sort();
  return files.map((file) => ({ name: basename(file), text: readFileSync(file, 'utf8') }));
}

function sum(way: Way, lines: readonly Line[]): Line {
  const total = (field: Exclude<keyof Line, 'way'>) => lines.reduce((n, line) => n + line[field], 0);
  return {
    way,
    asked: total('asked'),
    right: total('right'),
    answerable: total('answerable'),
    answered: total('answered'),
    tokens: total('tokens'),
    second: total('second'),
    sent: total('sent'),
  };
}
