import type { Json } from '../../base/json.ts';
import { HEADER_TEXT_BYTES, HEADER_TOKENS } from '../../base/limits.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import { utf8Bytes } from '../../base/utf8.ts';
import type { Fact, State } from '../../contract/threads.ts';
import { cutNear } from '../../text/preview/cut.ts';
import { neutralise } from '../../text/sanitize/neutralise.ts';

/** A header as text for a model. */
export interface HeaderText {
  readonly text: string;
  /** True if something was left out or cut. */
  readonly truncated: boolean;
}

/** One line of the header, and its place in the state. */
interface Item {
  readonly list: Section;
  readonly index: number;
  readonly line: string;
  /** Items that must be shown first. Others are shown only after all pressing items fit. */
  readonly pressing?: boolean;
}

/**
 * Sections in the order shown, and their names in the line about omitted items. Omitted actions are not
 * mentioned. Parts that change with every answer come last, so that providers can cache the beginning.
 */
const SECTIONS = {
  constraints: 'constraints',
  decisions: 'decisions',
  session_summary: 'summary',
  facts: 'facts',
  open_questions: 'open questions',
  plan: 'next steps',
  last_actions: '',
} as const satisfies { readonly [list in keyof State]?: string };

type Section = keyof typeof SECTIONS;

/** Maximum bytes of a line if not everything fits. Pressing lines are cut further until all of them fit. */
const LINE_BYTES = [240, 120, 60];
const SUMMARY_BYTES = 600;
const ACTIONS = 3;

/** Maximum number of lines: a line has at least two tokens. */
const MOST_LINES = HEADER_TOKENS / 2;

/**
 * Formats the state as text for a model. Each list is a section under its JSON Pointer path, one line per
 * item, with the index where a patch needs it. Stays within a token limit and depends only on the state. If
 * not everything fits, the least important items are omitted, and the last line says how many.
 */
export async function headerText(state: State, counter: TokenCounter): Promise<HeaderText> {
  const ranked = [...pressing(state), ...otherItems(state)];
  const fits = async (text: string) =>
    utf8Bytes(text) <= HEADER_TEXT_BYTES && (await counter.count(text)).tokens <= HEADER_TOKENS;
  const first = ranked.slice(0, MOST_LINES).map((item) => ({ ...item, line: oneLine(item.line) }));
  const fullText = renderHeader(first, ranked.slice(MOST_LINES));
  if (await fits(fullText)) return { text: fullText, truncated: first.length < ranked.length };
  const urgent = ranked.filter((item) => item.pressing).length;
  let short: readonly Item[] = first;
  let shown = 0;
  const text = (count: number) => renderHeader(short.slice(0, count), ranked.slice(count));
  for (const bytes of LINE_BYTES) {
    short = first.map((item) => ({ ...item, line: cutShort(item, bytes) }));
    shown = 0;
    for (let step = 2 ** Math.floor(Math.log2(first.length)); step >= 1; step /= 2) {
      if (shown + step <= first.length && (await fits(text(shown + step)))) shown += step;
    }
    if (shown >= urgent) break;
  }
  const truncated =
    short.slice(0, shown).some(({ line }, i) => line !== first[i]!.line) ||
    ranked.slice(shown).some(({ list }) => SECTIONS[list] !== '');
  return { text: text(shown), truncated };
}

function cutShort({ list, pressing, line }: Item, bytes: number): string {
  const most = pressing ? bytes : list === 'session_summary' ? SUMMARY_BYTES : LINE_BYTES[0]!;
  const { text, cut } = cutNear(line, most);
  return cut ? `${text.trimEnd()}…` : line;
}

/** Returns hard constraints, open questions and next steps. */
function pressing(state: State): Item[] {
  const open = ({ status = '' }: { readonly status?: string }) => !CLOSED.test(status);
  return [
    ...items(
      'constraints',
      state.constraints,
      (constraint) => isHard(constraint) && constraintLine(constraint),
    ),
    ...items('open_questions', state.open_questions, (item, index) => {
      return open(item) && `${index} ${item.question}${inParentheses(item.status, 'open')}`;
    }),
    ...items('plan', state.plan, (item, index) => {
      return open(item) && `${index} ${item.step}${inParentheses(item.status, 'pending')}`;
    }),
  ].map((item) => ({ ...item, pressing: true }));
}

/** Returns soft constraints, decisions in force, the summary, facts by importance, and the newest actions. */
function otherItems(state: State): Item[] {
  const { session_summary: summary } = state;
  return [
    ...items(
      'constraints',
      state.constraints,
      (constraint) => !isHard(constraint) && constraintLine(constraint),
    ),
    ...items('decisions', state.decisions, (decision) => {
      const { status } = decision as { status?: Json };
      if (typeof status === 'string' && CLOSED.test(status)) return false;
      return `${decision.description}${inParentheses(decision.reason_codes?.join(', '))}`;
    }).reverse(),
    ...items('session_summary', summary ? [summary] : [], (text) => text),
    ...factsByImportance(state).map(([index, { key, value }]) => {
      const text = typeof value === 'string' && value !== '' ? value : JSON.stringify(value);
      return { list: 'facts' as const, index, line: `${key}: ${text}` };
    }),
    ...items('last_actions', state.last_actions, ({ description }) => description).slice(-ACTIONS),
  ];
}

/** Status words of items that need no more work. A status can be any text, so these are common words. */
const CLOSED =
  /^(?:done|complete|finished|closed|answered|resolved|cancel|skipped|dropped|abandoned|superseded|revoked|obsolete)/i;

const SOFT = /^(?:soft|low|minor|info|optional|nice|should|may|prefer|warn)/i;

function isHard({ severity = '' }: State['constraints'][number]): boolean {
  return !SOFT.test(severity);
}

function constraintLine({ description, severity }: State['constraints'][number]): string {
  return `${description}${inParentheses(severity, 'hard')}`;
}

/** Returns the text in parentheses, or nothing if it is empty or the default. */
function inParentheses(text = '', usual = ''): string {
  return text === '' || text === usual ? '' : ` (${text})`;
}

/**
 * Returns facts with their index, most important first. Newer facts come first; each mention by other items
 * moves a fact up by MENTION places. A fact whose key was set again later comes after all others.
 */
function factsByImportance(state: State): [number, Fact][] {
  const named = new Map<string, number>();
  for (const word of mentionedWords(state)) named.set(word, (named.get(word) ?? 0) + 1);
  const newest = new Map(state.facts.map(({ key }, index) => [key, index]));
  const since = ({ at = '' }: Fact) => at;
  const ages = [...state.facts.entries()].sort(([i, a], [j, b]) =>
    since(a) < since(b) ? 1 : since(a) > since(b) ? -1 : j - i,
  );
  return ages
    .map(([index, fact], age) => {
      const count = (named.get(fact.key.toLowerCase()) ?? 0) + (named.get(fact.id.toLowerCase()) ?? 0);
      const old = newest.get(fact.key) === index ? 0 : state.facts.length * 2;
      return { index, fact, place: age - count * MENTION + old };
    })
    .sort((a, b) => a.place - b.place)
    .map(({ index, fact }) => [index, fact]);
}

const MENTION = 5;

/** Returns the words of all items except facts. */
function mentionedWords(state: State): string[] {
  const { constraints, open_questions, decisions, plan, session_summary = '' } = state;
  const texts = [
    ...constraints.map(({ description }) => description),
    ...open_questions.map(({ question }) => question),
    ...plan.map(({ step }) => step),
    ...decisions.flatMap(({ description, evidence_refs = [] }) => [description, ...evidence_refs]),
    session_summary,
  ];
  return (
    texts
      .join(' ')
      .toLowerCase()
      .match(/[\p{L}\p{N}_](?:[\p{L}\p{N}_./-]*[\p{L}\p{N}_])?/gu) ?? []
  );
}

function items<T>(
  list: Section,
  all: readonly T[],
  lineOf: (one: T, index: number) => string | false,
): Item[] {
  return all.flatMap((one, index) => {
    const line = lineOf(one, index);
    return line === false ? [] : [{ list, index, line }];
  });
}

/** Puts foreign text on one line that cannot look like a heading or a frame marker. */
function oneLine(text: string): string {
  const flat = neutralise(text.slice(0, HEADER_TEXT_BYTES).replace(/\s+/g, ' ').trim());
  return flat.replace(/\s+/g, ' ').replace(/^(\/\w+):$/, '$1');
}

function renderHeader(shown: readonly Item[], missing: readonly Item[]): string {
  const lines = Object.keys(SECTIONS).flatMap((list) => {
    const of = shown.filter((item) => item.list === list).sort((a, b) => a.index - b.index);
    return of.length === 0 ? [] : [`/${list}:`, ...of.map(({ line }) => line)];
  });
  const omitted = Object.entries(SECTIONS).flatMap(([list, name]) => {
    const count = missing.filter((item) => item.list === list).length;
    return name === '' || count === 0 ? [] : [{ list, words: `${count} more ${name}` }];
  });
  if (omitted.length > 0) {
    const paths = omitted.map(({ list }) => `/${list}`).join(', ');
    lines.push(`${omitted.map(({ words }) => words).join(', ')}: relay state get --path ${paths}`);
  }
  return lines.join('\n');
}
