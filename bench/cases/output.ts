import type { Bench } from '../bench.ts';
import { KINDS } from '../output/corpus.ts';
import {
  LARGE,
  type Measurement,
  type Measurements,
  measureOutputs,
  type WayResult,
} from '../output/measure.ts';
import { median } from '../statistics.ts';
import { aligned } from '../table.ts';

const TOKENS_LEFT = 0.1;
const AT_ONCE = 0.85;
const AFTER_PULL = 0.99;

/** Measures excerpts of command outputs: the tokens of each excerpt, and the share of questions that it answers. */
export default {
  name: 'output',
  claim:
    'at least 90 % fewer tokens (median per kind), 85 % of the questions answered at once, 99 % after one pull',
  limit: TOKENS_LEFT,
  async run() {
    const measurements = await measureOutputs();
    const { outputs } = measurements;
    const large = outputs.filter(({ tokens }) => tokens > LARGE);
    const ratios = KINDS.map((kind) => medianLeft(large.filter((one) => one.kind === kind)));
    const broken = brokenGoal(outputs);
    return {
      measured: sum(large, ({ excerpt }) => excerpt.tokens),
      baseline: sum(large, ({ tokens }) => tokens),
      unit: 'tokens',
      ratio: Math.max(...ratios),
      detail: `${share(outputs, ({ excerpt }) => excerpt)} answered at once, ${share(outputs, ({ pulled }) => pulled)} after one pull`,
      ...(broken === null ? {} : { broken }),
      more: formatOutputs(measurements),
    };
  },
} satisfies Bench;

type Pick = (one: Measurement) => WayResult;

function brokenGoal(outputs: readonly Measurement[]): string | null {
  const missing: string[] = [];
  const answered = (of: Pick) => rate(outputs, of);
  if (answered(({ excerpt }) => excerpt) < AT_ONCE)
    missing.push(`only ${share(outputs, ({ excerpt }) => excerpt)} answered at once`);
  if (answered(({ pulled }) => pulled) < AFTER_PULL)
    missing.push(`only ${share(outputs, ({ pulled }) => pulled)} after one pull`);
  const [seen, all] = firstFailures(outputs);
  if (seen < all) missing.push(`the first failure in only ${seen} of ${all}`);
  return missing.length === 0 ? null : missing.join('; ');
}

function firstFailures(outputs: readonly Measurement[]): [number, number] {
  const firsts = outputs.flatMap(({ questions, excerpt }) =>
    questions.flatMap(({ first }, n) => (first ? [excerpt.answered[n]!] : [])),
  );
  return [firsts.filter(Boolean).length, firsts.length];
}

function formatOutputs({ outputs, skipped }: Measurements): string {
  const kinds = [...KINDS.map((kind) => outputs.filter((one) => one.kind === kind)), outputs];
  const label = (n: number) => KINDS[n] ?? 'all';
  const ours = kinds.map((some, n) => {
    const [large, small] = [
      some.filter(({ tokens }) => tokens > LARGE),
      some.filter(({ tokens }) => tokens <= LARGE),
    ];
    return [
      label(n),
      `${large.length}+${small.length}`,
      String(sum(some, ({ tokens }) => tokens)),
      String(sum(some, ({ excerpt }) => excerpt.tokens)),
      fewer(large),
      fewer(small),
      share(some, ({ excerpt }) => excerpt),
      share(some, ({ asked }) => asked),
      share(some, ({ pulled }) => pulled),
      share(some, ({ grepped }) => grepped),
      firstFailures(some).join('/'),
      median(some.map(({ ms }) => ms)).toFixed(1),
      (
        some.reduce((all, { ms }) => all + ms, 0) / some.reduce((all, { megabytes }) => all + megabytes, 0)
      ).toFixed(0),
    ];
  });
  const heads = [
    'kind',
    'outputs',
    'tokens',
    'shown',
    'fewer',
    'small',
    'at once',
    'question',
    'one pull',
    'one grep',
    'first',
    'ms',
    'ms/MB',
  ];
  const others = kinds.map((some, n) => {
    const way = (of: (one: Measurement) => WayResult | undefined) =>
      some.every((one) => of(one) !== undefined)
        ? [share(some, (one) => of(one)!), String(sum(some, (one) => of(one)!.tokens))]
        : ['–', '–'];
    return [
      label(n),
      ...way(({ excerpt }) => excerpt),
      ...way(({ asked }) => asked),
      ...way(({ headAndTail }) => headAndTail),
      ...way(({ contextMode }) => contextMode?.blind),
      ...way(({ contextMode }) => contextMode?.intent),
      ...way(({ contextMode }) => contextMode?.search),
    ];
  });
  const ways = [
    'kind',
    'excerpt',
    'tokens',
    'with question',
    'tokens',
    'head+tail',
    'tokens',
    'context-mode',
    'tokens',
    'its intent',
    'tokens',
    'and its search',
    'tokens',
  ];
  return [
    'Excerpts of 1 200 tokens. outputs: above 12 000 tokens + smaller. fewer, small: median of the tokens kept back, of each.',
    'question: with the question passed to the excerpt. one pull: the excerpt without it, and one pull with the question.\none grep: the excerpt, and one search of at most 3 000 tokens.',
    aligned([heads, ...ours], (column) => column === 0),
    '\nQuestions answered, and tokens shown for all outputs, in other ways.',
    aligned([ways, ...others], (column) => column === 0),
    ...(skipped === null ? [] : [`context-mode was not compared: ${skipped}.`]),
  ].join('\n');
}

function medianLeft(some: readonly Measurement[]): number {
  return median(some.map(({ excerpt, tokens }) => excerpt.tokens / tokens));
}

function fewer(some: readonly Measurement[]): string {
  return some.length === 0 ? '–' : `${(100 * (1 - medianLeft(some))).toFixed(1)} %`;
}

function rate(some: readonly Measurement[], of: Pick): number {
  const answered = some.flatMap((one) => of(one).answered);
  return answered.filter(Boolean).length / answered.length;
}

function share(some: readonly Measurement[], of: Pick): string {
  const answered = some.flatMap((one) => of(one).answered);
  return `${answered.filter(Boolean).length}/${answered.length} ${(100 * rate(some, of)).toFixed(0)} %`;
}

function sum(some: readonly Measurement[], of: (one: Measurement) => number): number {
  return Math.round(some.reduce((all, one) => all + of(one), 0));
}
