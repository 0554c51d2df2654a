import { decode, encode } from 'gpt-tokenizer/encoding/o200k_base';
import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { mapConcurrent } from '../../src/base/map-concurrent.ts';
import { excerpt } from '../../src/text/excerpt/excerpt.ts';
import type { PartRequest } from '../../src/text/parts/part-request.ts';
import { askContextMode, installContextMode } from './context-mode.ts';
import { type Kind, type Output, plain, readOutputs } from './corpus.ts';
import { choosePull } from './pull.ts';
import { QUESTIONS, type Question } from './questions.ts';

export const BUDGET = 1200;
/**
 * Outputs above this number of tokens must reach the goal of the benchmark. Smaller outputs are reported separately.
 */
export const LARGE = 12_000;
const PULL_TOKENS = 3000;
const CHUNK_BYTES = 64 * 1024;

/** Result of one way to show an output: the number of shown tokens, and which questions the shown text answers. */
export interface WayResult {
  /** Number of tokens of the shown text. If the text depends on the question, the mean over the questions. */
  readonly tokens: number;
  readonly answered: readonly boolean[];
}

export interface Measurement {
  readonly name: string;
  readonly kind: Kind;
  readonly tokens: number;
  readonly megabytes: number;
  readonly questions: readonly Question[];
  readonly excerpt: WayResult;
  readonly asked: WayResult;
  /** The excerpt, which is made without the question, plus one pull of a part that suits the question. */
  readonly pulled: WayResult;
  /** The excerpt, which is made without the question, plus one search in the output for words of the question. */
  readonly grepped: WayResult;
  readonly headAndTail: WayResult;
  readonly contextMode: {
    readonly blind: WayResult;
    readonly intent: WayResult;
    readonly search: WayResult;
  } | null;
  /** Time in ms to make one excerpt. */
  readonly ms: number;
}

export interface Measurements {
  readonly outputs: readonly Measurement[];
  /** The reason why context-mode was not compared, or null. */
  readonly skipped: string | null;
}

/** Measures every output that has more tokens than `BUDGET`. */
export async function measureOutputs(): Promise<Measurements> {
  const skipped = installContextMode();
  const ours: Measurement[] = [];
  for (const output of readOutputs()) {
    const tokens = await count(output.text);
    if (tokens > BUDGET) ours.push(await measure(output, tokens));
  }
  if (skipped !== null) return { outputs: ours, skipped };
  const texts = new Map(readOutputs().map((output) => [output.name, output]));
  const outputs = await mapConcurrent(
    ours,
    async (one) => ({ ...one, contextMode: await measureContextMode(texts.get(one.name)!, one.questions) }),
    2,
  );
  return { outputs, skipped };
}

async function measure(output: Output, tokens: number): Promise<Measurement> {
  const { name, kind, text } = output;
  const { questions } = QUESTIONS.find((one) => one.output === name)!;
  const bytes = new TextEncoder().encode(text);
  const chunks = Array.from({ length: Math.ceil(bytes.length / CHUNK_BYTES) }, (_, n) =>
    bytes.subarray(n * CHUNK_BYTES, (n + 1) * CHUNK_BYTES),
  );
  const make = (question?: string) => excerpt(chunks, { budget: BUDGET, question, counter: ownTextWork });
  await make();
  const began = performance.now();
  const plainExcerpt = await make();
  const ms = performance.now() - began;
  const excerpts: string[] = [];
  const pulled: string[] = [];
  const grepped: string[] = [];
  for (const { ask } of questions) {
    excerpts.push((await make(ask)).text);
    const pull = async (request: PartRequest) =>
      `${plainExcerpt.text}\n${firstTokens((await ownTextWork.part(bytes, request)).text, PULL_TOKENS)}`;
    pulled.push(await pull({ question: ask }));
    grepped.push(await pull(choosePull(ask, plainExcerpt)));
  }
  return {
    name,
    kind,
    tokens,
    megabytes: bytes.length / 1e6,
    questions,
    excerpt: await judge([plainExcerpt.text], questions),
    asked: await judge(excerpts, questions),
    pulled: await judge(pulled, questions),
    grepped: await judge(grepped, questions),
    headAndTail: await judge([headAndTail(plain(text))], questions),
    contextMode: null,
    ms,
  };
}

async function measureContextMode(output: Output, questions: readonly Question[]) {
  const { blind, intents, searches } = await askContextMode(
    output,
    questions.map(({ ask }) => ask),
  );
  return {
    blind: await judge([blind], questions),
    intent: await judge(intents, questions),
    search: await judge(
      intents.map((text, n) => `${text}\n${searches[n]}`),
      questions,
    ),
  };
}

/** Counts the tokens and the answered questions. `texts` has one text for all questions, or one for each. */
async function judge(texts: readonly string[], questions: readonly Question[]): Promise<WayResult> {
  let tokens = 0;
  for (const text of texts) tokens += (await count(text)) / texts.length;
  return {
    tokens,
    answered: questions.map(({ literal }, n) => plain(texts[texts.length === 1 ? 0 : n]!).includes(literal)),
  };
}

/** Returns the beginning and the end of a text, each with half of the token budget. */
function headAndTail(text: string): string {
  const half = BUDGET / 2;
  return `${firstTokens(text, half)}\n${decode(encode(text.slice(-8 * half)).slice(-half))}`;
}

function firstTokens(text: string, tokens: number): string {
  return decode(encode(text.slice(0, 8 * tokens)).slice(0, tokens));
}

async function count(text: string): Promise<number> {
  return (await ownTextWork.count(text)).tokens;
}
