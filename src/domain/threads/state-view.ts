import { count } from '../../base/format.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { HEADER_BYTES, VIEW_ITEM_TOKENS, VIEW_SUMMARY_TOKENS, VIEW_TOKENS } from '../../base/limits.ts';
import type { TokenCount, TokenCounter } from '../../base/tokens.ts';
import { utf8Bytes } from '../../base/utf8.ts';
import { LOCAL_CALLER } from '../../contract/caller.ts';
import type { Fact, Header, State, StateHit } from '../../contract/threads.ts';
import { queryTerms, rankPassages } from '../../kernel/passages.ts';
import { neutralise } from '../../text/sanitize/neutralise.ts';
import { SEARCH_HITS } from './artifact-search.ts';
import { metricsOf } from './fold.ts';
import type { ThreadVerb } from './thread-log.ts';

/** Two views of a state with a limited size: a text for models, and a JSON header for programs. */

/**
 * Kinds of items in a view, in the order in which they are shown. `list` is the list of the state that contains them,
 * and `note` follows the list's name in the heading. `one` and `many` name the kind in the last line of the view, which
 * counts the omitted items.
 */
const KINDS = {
  hard_constraints: {
    list: 'constraints',
    note: ' (hard)',
    one: 'hard constraint',
    many: 'hard constraints',
  },
  steps_in_progress: {
    list: 'plan',
    note: ' (in progress)',
    one: 'step in progress',
    many: 'steps in progress',
  },
  next_steps: { list: 'plan', note: ' (next)', one: 'next step', many: 'next steps' },
  open_questions: { list: 'open_questions', note: '', one: 'open question', many: 'open questions' },
  decisions: { list: 'decisions', note: '', one: 'decision', many: 'decisions' },
  constraints: { list: 'constraints', note: '', one: 'other constraint', many: 'other constraints' },
  session_summary: { list: 'session_summary', note: '', one: 'summary', many: 'summaries' },
  facts: { list: 'facts', note: '', one: 'fact', many: 'facts' },
  artifacts: { list: 'artifacts', note: '', one: 'artifact', many: 'artifacts' },
} as const satisfies { [kind: string]: { list: keyof State; note: string; one: string; many: string } };

export type ViewKind = keyof typeof KINDS;
/** A list of the state that a view can show. Its JSON Pointer is `/${list}`. */
export type ViewList = (typeof KINDS)[ViewKind]['list'];
const VIEW_KINDS = Object.keys(KINDS) as readonly ViewKind[];
export const VIEW_LISTS: readonly ViewList[] = [...new Set(VIEW_KINDS.map((kind) => KINDS[kind].list))];

export interface ViewOptions {
  /** Maximum tokens of the text; 500 by default. */
  readonly tokens?: number;
  /** Lists to show; all by default. */
  readonly lists?: readonly ViewList[];
  /** The question that the reader has to answer. If not everything fits, the view shows items that match it. */
  readonly question?: string;
  /** Returns a sentence that says how to read the given lists in full. Called with the lists that were shortened. */
  readonly more: (lists: readonly ViewList[]) => string;
}

export interface StateView {
  readonly text: string;
  /** Number of characters at the beginning of `text` that do not depend on the question. */
  readonly stable: number;
  readonly tokens: TokenCount;
  /** Number of items left out, by kind. */
  readonly omitted: { readonly [kind in ViewKind]?: number };
  /**
   * Number of items in the text (`shown`), and number of all items of the chosen lists that are not closed (`items`).
   */
  readonly shown: number;
  readonly items: number;
  /** True if an item was left out or cut. */
  readonly truncated: boolean;
}

interface Item {
  /** Undefined if views do not show the item: it is closed, or it is an earlier question. */
  readonly kind?: ViewKind;
  readonly path: string;
  readonly text: string;
  readonly at?: string;
  /** True if the item is a fact whose key was set again later. */
  readonly older?: boolean;
}

type Shown = Item & { readonly kind: ViewKind };

interface Line {
  readonly item: Shown;
  readonly text: string;
  readonly tokens: number;
  readonly cut: boolean;
}

/** Maximum number of tokens of a heading. */
const HEADING_TOKENS = 6;

/** Share of the token limit for the part that does not depend on the question. */
const STABLE_SHARE = 3 / 5;

const MATCHES_HEADING = 'Also, chosen for your task:';

/** Kinds that are shown first, regardless of the question. */
const ALWAYS: readonly ViewKind[] = ['hard_constraints', 'steps_in_progress'];
/** Kinds whose items are ranked by how well they match the question. */
const RANKED: readonly ViewKind[] = ['open_questions', 'decisions', 'constraints', 'facts'];

/**
 * Formats the state as text for a model. Each kind of item has a heading with its JSON Pointer, and each item
 * is one line. Steps and questions begin with their index, which a patch needs. If not everything fits, the
 * least important items are left out and the last line counts them. With a question, the last part of the
 * text shows items that match it. The text depends only on the arguments.
 */
export async function stateView(
  state: State,
  counter: TokenCounter,
  { tokens: budget = VIEW_TOKENS, lists = VIEW_LISTS, question = '', more }: ViewOptions,
): Promise<StateView> {
  const items = itemsOf(state).filter(
    (item): item is Shown => item.kind !== undefined && lists.includes(KINDS[item.kind].list),
  );
  const lineCache = new Map<Item, Line>();
  const lines = new Map<Item, Line>();
  let used = 0;
  /** Adds lines until one does not fit. Returns true if all lines fit. */
  const take = async (from: readonly Shown[], most: number, kinds = new Set<ViewKind>()) => {
    for (const item of from) {
      if (lines.has(item)) continue;
      const line = lineCache.get(item) ?? (await makeLine(item, counter));
      lineCache.set(item, line);
      const tokens = line.tokens + (kinds.has(item.kind) ? 0 : HEADING_TOKENS);
      if (used + tokens > most) return false;
      used += tokens;
      kinds.add(item.kind);
      lines.set(item, { ...line, tokens });
    }
    return true;
  };
  let stable = items.length;
  if (!(await take(items, budget))) {
    lines.clear();
    used = 0;
    const footer = await counter.count(footerLine(countKinds(items), more).join(''));
    const most = budget - footer.tokens - (question === '' ? 0 : HEADING_TOKENS);
    const kinds = new Set<ViewKind>();
    const always = items.filter(({ kind }) => ALWAYS.includes(kind));
    const isRoom = await take(always, most, kinds);
    if (isRoom) await take(items, question === '' ? most : most * STABLE_SHARE, kinds);
    stable = lines.size;
    if (isRoom && question !== '') {
      const ranked = items.filter(({ kind }) => RANKED.includes(kind));
      const kinds = new Set<ViewKind>();
      if (await take(matchingItems(ranked, question), most, kinds)) await take(items, most, kinds);
    }
  }
  for (;;) {
    const omitted = countKinds(items.filter((item) => !lines.has(item)));
    const all = [...lines.values()];
    const start = sections(all.slice(0, stable)).join('\n');
    const chosen = sections(all.slice(stable));
    if (chosen.length > 0) chosen.unshift(MATCHES_HEADING);
    const text = [start, ...chosen, ...footerLine(omitted, more)].filter((part) => part !== '').join('\n');
    const tokens = await counter.count(text);
    if (tokens.tokens > budget && all.length > 0) lines.delete(all.at(-1)!.item);
    else {
      const shownItems = all.length;
      const truncated = shownItems < items.length || all.some(({ cut }) => cut);
      return {
        text,
        stable: start.length,
        tokens,
        omitted,
        shown: shownItems,
        items: items.length,
        truncated,
      };
    }
  }
}

/** Returns the items that match a question, best first. A fact whose key was set again later comes last. */
function matchingItems<T extends Item>(items: readonly T[], question: string): T[] {
  const candidates = items.map(({ text }, i) => ({ key: String(i), text, fields: {} }));
  const hits = rankPassages(candidates, queryTerms(question), candidates.length);
  const found = [...new Set(hits.map(({ key }) => items[Number(key)]!))];
  return [...found.filter(({ older }) => !older), ...found.filter(({ older }) => older)];
}

/**
 * Returns the items of the state that match a query, best first. Includes closed items, and earlier questions
 * with the refs of their answers.
 */
export function searchState(state: State, query: string, limit = SEARCH_HITS): StateHit[] {
  const items = itemsOf(state).filter(({ kind }) => kind !== 'artifacts');
  return matchingItems(items, query)
    .slice(0, limit)
    .map(({ path, text }) => {
      const flat = oneLine(text);
      const isLong = flat.length > SEARCHED_CHARS;
      return { path, text: isLong ? `${cutAtSentence(flat, SEARCHED_CHARS)}${lengthNote(text)}` : flat };
    });
}

/** Maximum number of characters of an item in the result of a search. */
const SEARCHED_CHARS = 400;

/** Returns all items, most important first. */
function itemsOf(state: State): Item[] {
  const { facts, constraints, last_actions, session_summary: summary = '' } = state;
  const items = <T>(
    list: string,
    from: readonly T[],
    of: (item: T, index: number) => Omit<Item, 'path'>,
  ): Item[] => from.map((item, index) => ({ path: `/${list}/${index}`, ...of(item, index) }));
  const ifOpen = (item: object, kind: ViewKind) => (isClosed(item) ? undefined : kind);
  const byKey = Map.groupBy(newestFirst(facts), ({ key }) => key);
  const all = [
    ...items('plan', state.plan, (step) => ({
      kind: ifOpen(step, isInProgress(step) ? 'steps_in_progress' : 'next_steps'),
      text: `${step.step}${inParentheses(step.status, 'pending', 'next', 'in_progress')}`,
    })),
    ...items('open_questions', state.open_questions, (question) => ({
      kind: ifOpen(question, 'open_questions'),
      text: `${question.question}${inParentheses(question.status, 'open')}`,
    })).reverse(),
    ...newestFirst(
      items('decisions', state.decisions, (decision) => ({
        kind: ifOpen(decision, 'decisions'),
        text: `${decision.description}${inParentheses(decision.reason_codes?.join(', '))}`,
        at: decision.at,
      })),
    ),
    ...items('constraints', constraints, (constraint) => ({
      kind: isHard(constraint) ? 'hard_constraints' : 'constraints',
      text: `${constraint.description}${inParentheses(constraint.severity, 'hard')}`,
    })).reverse(),
    ...(summary === ''
      ? []
      : [{ kind: 'session_summary' as const, path: '/session_summary', text: summary }]),
    ...newestFirst(
      items('facts', facts, (fact) => {
        const { key, value, at } = fact;
        const older = byKey.get(key)![0] !== fact;
        const text = `${key}: ${typeof value === 'string' && value !== '' ? value : JSON.stringify(value)}`;
        return { kind: 'facts', text: older ? `${text} (older)` : text, at, older };
      }),
    ).sort((a, b) => Number(a.older) - Number(b.older)),
    ...items('artifacts', artifactLines(state.artifacts), (text) => ({ kind: 'artifacts', text })),
    ...items('last_actions', last_actions, ({ question, result_ref }) => ({
      text:
        typeof question === 'string'
          ? `${question}${inParentheses(result_ref && `answer ${result_ref}`)}`
          : '',
    })).reverse(),
  ];
  const place = ({ kind }: Item) => (kind === undefined ? VIEW_KINDS.length : VIEW_KINDS.indexOf(kind));
  return all.toSorted((a, b) => place(a) - place(b));
}

/**
 * Matches the status of an item that needs no more work. A status can be any text, so an item with any
 * other status is open.
 */
const CLOSED =
  /^(?:done|complete|finished|closed|answered|resolved|cancel|skipped|dropped|abandoned|superseded|revoked|rejected|obsolete)/i;
const IN_PROGRESS = /^(?:in[\s_-]?progress|doing|started|active|current|ongoing|running|working|wip)/i;
const SOFT = /^(?:soft|low|medium|minor|normal|info|optional|nice|should|may|prefer|warn)/i;

function isClosed(item: object): boolean {
  return CLOSED.test('status' in item ? String(item.status) : '');
}

function openItems<T extends object>(list: readonly T[]): T[] {
  return list.filter((item) => !isClosed(item));
}

function isInProgress({ status = '' }: State['plan'][number]): boolean {
  return IN_PROGRESS.test(status);
}

/** Returns whether a constraint is hard: it has a severity, and the severity does not match `SOFT`. */
function isHard({ severity = '' }: State['constraints'][number]): boolean {
  return severity !== '' && !SOFT.test(severity);
}

/**
 * Returns the text in parentheses. Returns an empty text if the text is empty or one of `usual`, which are
 * not worth showing.
 */
function inParentheses(text = '', ...usual: readonly string[]): string {
  return text === '' || usual.includes(text) ? '' : ` (${text})`;
}

/**
 * Sorts items by time, newest first. Items without a time, or with equal times, are in reverse list order.
 */
function newestFirst<T extends { readonly at?: string }>(list: readonly T[]): T[] {
  return list.toReversed().sort(({ at: a = '' }, { at: b = '' }) => (a < b ? 1 : a > b ? -1 : 0));
}

/**
 * Returns one line per artifact, newest first. Several links may have the same ref, and only one of them may have a
 * name.
 */
function artifactLines(links: State['artifacts']): string[] {
  const byRef = new Map<string, State['artifacts'][number]>();
  for (const link of links.toReversed()) byRef.set(link.ref, { ...link, ...byRef.get(link.ref) });
  return [...byRef.values()].map(
    ({ ref, name = '', type }) => `${ref}${name && ` ${name}`}${inParentheses(type)}`,
  );
}

/** Maximum number of characters that are read of an item. The rest of a longer item is not shown. */
const READ_CHARS = 4096;

/**
 * Formats an item as one line. An item that is too long is cut at the end of a sentence, and the line says
 * how long the item is.
 */
async function makeLine(item: Shown, counter: TokenCounter): Promise<Line> {
  const most = item.kind === 'session_summary' ? VIEW_SUMMARY_TOKENS : VIEW_ITEM_TOKENS;
  const [, list, index] = item.path.split('/');
  const number = list === 'plan' || list === 'open_questions' ? `${index} ` : '';
  const countLine = async (text: string) => (await counter.count(`${text}\n`)).tokens;
  const whole = oneLine(`${number}${item.text.slice(0, READ_CHARS)}`);
  const tokens = await countLine(whole);
  if (tokens <= most && item.text.length <= READ_CHARS) return { item, text: whole, tokens, cut: false };
  for (
    let chars = Math.min(whole.length, Math.ceil((whole.length * most) / tokens));
    ;
    chars = (chars * 3) / 4
  ) {
    const text = `${cutAtSentence(whole, Math.floor(chars))}${lengthNote(item.text)}`;
    const tokens = await countLine(text);
    if (tokens <= most + LENGTH_TOKENS || chars < 1) return { item, text, tokens, cut: true };
  }
}

/** Text after an item that was cut. It says how long the whole item is. */
const lengthNote = ({ length }: string) => ` … [${count(length)} characters in all]`;
/** Maximum number of tokens of a `lengthNote`. */
const LENGTH_TOKENS = 12;

/**
 * Returns the beginning of a text, at most `chars` characters. Cuts at the end of a sentence if there is
 * one, otherwise at the end of a word.
 */
function cutAtSentence(text: string, chars: number): string {
  const start = text.slice(0, chars).replace(/[\uD800-\uDBFF]$/, '');
  const end = [...start.matchAll(/[.!?]["'’”)\]]*(?=\s)|[。！？]/gu)].at(-1);
  if (end) return start.slice(0, end.index + end[0].length);
  return start.slice(0, start.lastIndexOf(' ') > 0 ? start.lastIndexOf(' ') : undefined);
}

/** Puts foreign text on one line that cannot look like a heading or a frame marker. */
function oneLine(text: string): string {
  const flat = neutralise(text.replace(/\s+/g, ' ').trim());
  return flat.replace(/\s+/g, ' ').replace(/^(\/\w+(?: \([\w ]+\))?):$/, '$1');
}

function sections(lines: readonly Line[]): string[] {
  return VIEW_KINDS.flatMap((kind) => {
    const texts = lines.filter(({ item }) => item.kind === kind).map(({ text }) => text);
    return texts.length === 0 ? [] : [`/${KINDS[kind].list}${KINDS[kind].note}:`, ...texts];
  });
}

function countKinds(items: readonly Shown[]): { [kind in ViewKind]?: number } {
  const counts: { [kind in ViewKind]?: number } = {};
  for (const { kind } of items) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Returns the line with the number of omitted items, or nothing if there are none. */
function footerLine(omitted: { readonly [kind in ViewKind]?: number }, more: ViewOptions['more']): string[] {
  const kinds = VIEW_KINDS.filter((kind) => omitted[kind] !== undefined);
  if (kinds.length === 0) return [];
  const counts = kinds.map((kind) => {
    const left = omitted[kind]!;
    return `${count(left)} ${left === 1 ? KINDS[kind].one : KINDS[kind].many}`;
  });
  const lists = [...new Set(kinds.map((kind) => KINDS[kind].list))];
  return [`Not shown: ${counts.join(', ')}. ${more(lists)}`.trimEnd()];
}

/** Returns the current header. It is counted as a read unless `counted` is false. */
export const readHeader: ThreadVerb<'header'> = async (log, caller, id, { counted = true } = {}) => {
  const { root, state, totals } = await log.head(caller, id);
  // States imported from a Go relay contain token counts of that relay. Replace these with the counts of
  // this relay.
  const { tokens_estimate, tokens_avoided } = metricsOf(totals);
  const metrics = { ...state.metrics, tokens_estimate, tokens_avoided };
  const header = makeHeader({ ...state, metrics });
  if (counted) log.ledger.countRead(root, 'headers', header);
  return header;
};

/**
 * Returns the lists of a header, most important list first. Within each list, the most important items come
 * first.
 */
function headerLists(state: State) {
  const { constraints, facts, artifacts, last_actions } = state;
  const soft = constraints.filter((one) => !isHard(one));
  return {
    top_constraints: first(
      5,
      [...constraints.filter(isHard), ...soft],
      'id',
      'description',
      'severity',
      'by',
    ),
    next_steps: first(5, openItems(state.plan), 'id', 'step'),
    open_questions: first(5, openItems(state.open_questions), 'id', 'question'),
    top_facts: facts
      .toReversed()
      .slice(0, 10)
      .map((fact) => pickFields(fact, ['id', 'key', 'value', ...signature(fact)])),
    artifact_refs: first(10, artifacts.toReversed(), 'ref', 'type', 'name'),
    last_actions: first(5, last_actions.toReversed(), 'at', 'description', 'result_ref'),
  };
}

function first<T extends object>(most: number, items: readonly T[], ...fields: (keyof T & string)[]): T[] {
  return items.slice(0, most).map((item) => pickFields(item, fields));
}

type HeaderLists = ReturnType<typeof headerLists>;

/**
 * Makes the JSON header of a state. Texts in the items are neutralised. If not all items fit into the byte
 * limit, the least important ones are dropped. The header depends only on the state.
 */
function makeHeader(state: State): Header {
  const all = headerLists(state);
  const whole = assembleHeader(state, all);
  if (fitsHeader(whole)) return whole;
  let included = Object.fromEntries(Object.keys(all).map((list) => [list, []])) as unknown as HeaderLists;
  for (const [list, items] of Object.entries(all) as [keyof HeaderLists, object[]][]) {
    for (const item of items) {
      const more = { ...included, [list]: [...included[list], item] };
      if (fitsHeader({ ...assembleHeader(state, more), truncated: true })) included = more;
    }
  }
  return { ...assembleHeader(state, included), truncated: true };
}

function fitsHeader(header: Header): boolean {
  return utf8Bytes(JSON.stringify(header)) <= HEADER_BYTES;
}

function assembleHeader(state: State, lists: HeaderLists): Header {
  const left = Object.entries({
    facts: state.facts.length - lists.top_facts.length,
    constraints: state.constraints.length - lists.top_constraints.length,
    open_questions: openItems(state.open_questions).length - lists.open_questions.length,
    decisions: openItems(state.decisions).length,
    plan: openItems(state.plan).length - lists.next_steps.length,
    artifacts: state.artifacts.length - lists.artifact_refs.length,
  }).filter(([, count]) => count > 0);
  return {
    $schema: state.$schema,
    thread_id: state.thread_id,
    version: state.version,
    top_facts: lists.top_facts.toReversed(),
    top_constraints: lists.top_constraints,
    open_questions: lists.open_questions,
    next_steps: lists.next_steps,
    artifact_refs: lists.artifact_refs,
    last_actions: lists.last_actions,
    metrics: state.metrics,
    ...(left.length === 0 ? {} : { omitted: Object.fromEntries(left) }),
  };
}

/**
 * Returns which of the fields `at` and `by` of a fact are worth showing. Leaves out the values that the relay
 * adds by itself: the name of the local caller and, if no other author is named, a time with milliseconds.
 */
function signature({ at, by }: Fact): ('at' | 'by')[] {
  const named = by !== undefined && by !== '' && by !== LOCAL_CALLER.name;
  const dated = at !== undefined && at !== '' && (named || !/\.\d{3}Z$/.test(at));
  return [...(dated ? (['at'] as const) : []), ...(named ? (['by'] as const) : [])];
}

/**
 * Copies the named fields of an item. The result has the type of the item, so `fields` must contain all required
 * fields.
 */
function pickFields<T extends object>(item: T, fields: readonly (keyof T & string)[]): T {
  const out: JsonObject = {};
  for (const field of fields) {
    const value = item[field] as Json | undefined;
    if (value === undefined) continue;
    out[field] = field === 'at' && typeof value === 'string' ? toSeconds(value) : neutraliseJson(value);
  }
  return out as T;
}

function neutraliseJson(value: Json): Json {
  if (typeof value === 'string') return neutralise(value);
  if (Array.isArray(value)) return value.map(neutraliseJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [neutralise(key), neutraliseJson(child)]),
  );
}

/** Removes fractions of a second from a time, because a prompt does not need them. */
function toSeconds(at: string): string {
  return neutralise(at).replace(/\.\d+(?=Z|[+-]\d\d|$)/, '');
}
