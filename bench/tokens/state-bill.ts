import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { VIEW_TOKENS } from '../../src/base/limits.ts';
import type { TokenCounter } from '../../src/base/tokens.ts';
import type { ThreadsApi } from '../../src/contract/threads.ts';
import { askAsRun } from './bill.ts';
import type { Question } from './questions.ts';
import { around, isRight, NOT_FOUND } from './reader.ts';
import { STATES, type StateCase } from './states.ts';

/** Tokens and correct answers of one way to show a state. */
export interface StateLine {
  readonly way: 'pasting' | 'newest items' | 'ours';
  readonly asked: number;
  readonly right: number;
  readonly tokens: number;
}

export interface StateRow {
  readonly name: string;
  readonly what: string;
  /** Number of tokens of the largest view of the state that was shown in a prompt. */
  readonly view: number;
  readonly lines: readonly StateLine[];
  /** Questions that were answered wrongly from our view of the state. */
  readonly wrong: readonly string[];
}

/** Asks all questions about all states. `threads` must be on a new store. */
export async function stateBill(threads: ThreadsApi, tokens: TokenCounter): Promise<StateRow[]> {
  const rows: StateRow[] = [];
  for (const one of STATES) rows.push(await askState(one, threads, tokens));
  return rows;
}

/** Returns the sums over all states, one line per way. */
export function sumStates(rows: readonly StateRow[]): StateLine[] {
  return rows[0]!.lines.map(({ way }, i) => {
    const total = (field: 'asked' | 'right' | 'tokens') =>
      rows.reduce((n, { lines }) => n + lines[i]![field], 0);
    return { way, asked: total('asked'), right: total('right'), tokens: total('tokens') };
  });
}

/** Returns a sentence about a claim on states that does not hold, or null. */
export function brokenStateClaim(rows: readonly StateRow[]): string | null {
  const large = rows.find(({ view }) => view > VIEW_TOKENS);
  if (large) return `${large.name}: the view of the state has ${large.view} tokens`;
  const { right, asked } = sumStates(rows).find(({ way }) => way === 'ours')!;
  return right / asked < 0.95 ? `only ${right} of ${asked} answers about states right` : null;
}

async function askState(one: StateCase, threads: ThreadsApi, tokens: TokenCounter): Promise<StateRow> {
  const { thread_id } = await threads.create({ name: one.name });
  await threads.patch(thread_id, { ops: one.items });
  const lines = one.items.map(plainLine);
  const answers = { pasting: [] as Answer[], 'newest items': [] as Answer[], ours: [] as Answer[] };
  let view = 0;
  for (const question of one.questions) {
    const { header } = await threads.render(thread_id, { words: question.ask, previews: 0, dry: true });
    view = Math.max(view, countTokens(header));
    answers.pasting.push(await answerFrom(lines.join('\n'), { ...question, stale: [] }, tokens));
    answers['newest items'].push(await answerFrom(newest(lines), question, tokens));
    const run = await askAsRun(thread_id, one.questions, question.ask, threads, tokens);
    answers.ours.push({ question, text: run.text, tokens: run.tokens });
  }
  await threads.delete(thread_id);
  const isWrong = ({ question, text }: Answer) => !isRight(question, text);
  return {
    name: one.name,
    what: one.what,
    view,
    lines: (['pasting', 'newest items', 'ours'] as const).map((way) => ({
      way,
      asked: one.questions.length,
      right: one.questions.length - answers[way].filter(isWrong).length,
      tokens: answers[way].reduce((sum, answer) => sum + answer.tokens, 0),
    })),
    wrong: answers.ours.filter(isWrong).map(({ question }) => question.ask),
  };
}

interface Answer {
  readonly question: Question;
  readonly text: string;
  readonly tokens: number;
}

/** Asks a reader that sees only this text. */
async function answerFrom(context: string, question: Question, tokens: TokenCounter): Promise<Answer> {
  const contextTokens = await tokens.count(`${context}\n\n${question.ask}`);
  return { question, text: around(question, context) ?? NOT_FOUND, tokens: contextTokens.tokens };
}

/** Formats an item as a person would paste it. */
function plainLine(item: StateCase['items'][number]): string {
  const { key, value, description, question, step, severity, status } = (item as { value: object }).value as {
    readonly [field: string]: string;
  };
  const text = key === undefined ? (description ?? question ?? step) : `${key}: ${value}`;
  return severity || status ? `${text} (${severity ?? status})` : text!;
}

/** Returns the newest lines that fit into the budget of a view, newest first. */
function newest(lines: readonly string[]): string {
  let remainingTokens = VIEW_TOKENS;
  const fittingLines = lines.toReversed().filter((line) => {
    remainingTokens -= countTokens(line) + 1;
    return remainingTokens >= 0;
  });
  return fittingLines.join('\n');
}
