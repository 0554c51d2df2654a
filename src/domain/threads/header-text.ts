import type { Json } from '../../base/json.ts';
import { HEADER_TEXT_BYTES, HEADER_TOKENS } from '../../base/limits.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import { utf8Bytes } from '../../base/utf8.ts';
import type { Fact, State } from '../../contract/threads.ts';
import { cutNear } from '../../text/preview/cut.ts';
import { neutralise } from '../../text/sanitize/neutralise.ts';

export interface HeaderText {
  readonly text: string;
  /** Something was left out or cut short. */
  readonly truncated: boolean;
}

/** One line of the header, and where in the state it comes from. */
interface Item {
  readonly list: Section;
  readonly index: number;
  readonly line: string;
  /** Nothing that is not pressing is shown while something pressing is missing. */
  readonly pressing?: boolean;
}

/**
 * What is shown, in this order, and how it is called where it is left out, which of actions is not said. What changes with
 * every answer comes last, so that the beginning can be cached.
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

/** Where not all fits, lines have this many bytes at most; what is pressing is cut further until all of it fits. */
const LINE_BYTES = [240, 120, 60];
const SUMMARY_BYTES = 600;
const ACTIONS = 3;

/** A line has two tokens at least, so no more can be shown. */
const MOST_LINES = HEADER_TOKENS / 2;

/**
 * The header of a state as a model reads it: a section for each list, under the path by which a patch reaches it, one line
 * per item, with its index where a patch needs that. Within counted tokens, and the same for the same state. What must be
 * left out is that of least worth, and the last line names it.
 */
export async function headerText(state: State, counter: TokenCounter): Promise<HeaderText> {
  const ranked = [...pressing(state), ...others(state)];
  const fits = async (text: string) =>
    utf8Bytes(text) <= HEADER_TEXT_BYTES && (await counter.count(text)).tokens <= HEADER_TOKENS;
  const first = ranked.slice(0, MOST_LINES).map((item) => ({ ...item, line: oneLine(item.line) }));
  const whole = written(first, ranked.slice(MOST_LINES));
  if (await fits(whole)) return { text: whole, truncated: first.length < ranked.length };
  const urgent = ranked.filter((item) => item.pressing).length;
  let short: readonly Item[] = first;
  let shown = 0;
  const text = (count: number) => written(short.slice(0, count), ranked.slice(count));
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

/** Hard constraints, open questions, next steps. */
function pressing(state: State): Item[] {
  const open = ({ status = '' }: { readonly status?: string }) => !CLOSED.test(status);
  return [
    ...items(
      'constraints',
      state.constraints,
      (constraint) => isHard(constraint) && constraintLine(constraint),
    ),
    ...items('open_questions', state.open_questions, (item, index) => {
      return open(item) && `${index} ${item.question}${remark(item.status, 'open')}`;
    }),
    ...items('plan', state.plan, (item, index) => {
      return open(item) && `${index} ${item.step}${remark(item.status, 'pending')}`;
    }),
  ].map((item) => ({ ...item, pressing: true }));
}

/** The other constraints, decisions in force, the summary, facts by their worth, the newest actions. */
function others(state: State): Item[] {
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
      return `${decision.description}${remark(decision.reason_codes?.join(', '))}`;
    }).reverse(),
    ...items('session_summary', summary ? [summary] : [], (text) => text),
    ...byWorth(state).map(([index, { key, value }]) => {
      const text = typeof value === 'string' && value !== '' ? value : JSON.stringify(value);
      return { list: 'facts' as const, index, line: `${key}: ${text}` };
    }),
    ...items('last_actions', state.last_actions, ({ description }) => description).slice(-ACTIONS),
  ];
}

/** Items that nobody has to do anything about any more. Lists take any word for a status. */
const CLOSED =
  /^(?:done|complete|finished|closed|answered|resolved|cancel|skipped|dropped|abandoned|superseded|revoked|obsolete)/i;

const SOFT = /^(?:soft|low|minor|info|optional|nice|should|may|prefer|warn)/i;

function isHard({ severity = '' }: State['constraints'][number]): boolean {
  return !SOFT.test(severity);
}

function constraintLine({ description, severity }: State['constraints'][number]): string {
  return `${description}${remark(severity, 'hard')}`;
}

/** What is said behind a line, unless it goes without saying. */
function remark(text = '', usual = ''): string {
  return text === '' || text === usual ? '' : ` (${text})`;
}

/**
 * Facts with their index, the worthiest first: the newest, where each time that other items name a fact makes it as good
 * as one that is so much newer. A fact whose key was set again later comes behind all others.
 */
function byWorth(state: State): [number, Fact][] {
  const named = new Map<string, number>();
  for (const word of mentions(state)) named.set(word, (named.get(word) ?? 0) + 1);
  const newest = new Map(state.facts.map(({ key }, index) => [key, index]));
  const since = ({ at = '' }: Fact) => at;
  const ages = [...state.facts.entries()].sort(([i, a], [j, b]) =>
    since(a) < since(b) ? 1 : since(a) > since(b) ? -1 : j - i,
  );
  return ages
    .map(([index, fact], age) => {
      const told = (named.get(fact.key.toLowerCase()) ?? 0) + (named.get(fact.id.toLowerCase()) ?? 0);
      const old = newest.get(fact.key) === index ? 0 : state.facts.length * 2;
      return { index, fact, place: age - told * MENTION + old };
    })
    .sort((a, b) => a.place - b.place)
    .map(({ index, fact }) => [index, fact]);
}

const MENTION = 5;

/** The words of all items but facts. */
function mentions(state: State): string[] {
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

/** The words of others: one line, which can neither pass for a heading nor for a line of a frame. */
function oneLine(text: string): string {
  const flat = neutralise(text.slice(0, HEADER_TEXT_BYTES).replace(/\s+/g, ' ').trim());
  return flat.replace(/\s+/g, ' ').replace(/^(\/\w+):$/, '$1');
}

function written(shown: readonly Item[], missing: readonly Item[]): string {
  const lines = Object.keys(SECTIONS).flatMap((list) => {
    const of = shown.filter((item) => item.list === list).sort((a, b) => a.index - b.index);
    return of.length === 0 ? [] : [`/${list}:`, ...of.map(({ line }) => line)];
  });
  const left = Object.entries(SECTIONS).flatMap(([list, name]) => {
    const count = missing.filter((item) => item.list === list).length;
    return name === '' || count === 0 ? [] : [{ list, words: `${count} more ${name}` }];
  });
  if (left.length > 0) {
    const paths = left.map(({ list }) => `/${list}`).join(', ');
    lines.push(`${left.map(({ words }) => words).join(', ')}: relay state get --path ${paths}`);
  }
  return lines.join('\n');
}
