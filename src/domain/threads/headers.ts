import type { Json, JsonObject } from '../../base/json.ts';
import { HEADER_BYTES, HEADER_TOKENS } from '../../base/limits.ts';
import type { TokenCount, TokenCounter } from '../../base/tokens.ts';
import { utf8Bytes } from '../../base/utf8.ts';
import { LOCAL_CALLER } from '../../contract/caller.ts';
import type { Fact, Header, State } from '../../contract/threads.ts';
import { clip } from '../../text/preview/cut.ts';
import { neutralise } from '../../text/sanitize/neutralise.ts';
import { fromJson, recordsOf } from '../records.ts';
import { workFor } from '../text-work.ts';
import { makesVersion, type StoredEvent } from './event.ts';
import { metricsOf } from './fold.ts';
import { headerKey, logOf, type ThreadRoot } from './keys.ts';
import type { ThreadLog, ThreadVerb } from './thread-log.ts';

interface CountedHeader {
  readonly header: Header;
  readonly tokens: TokenCount;
}

/** A stored header, with the version and log position for which it is valid. */
interface StoredHeader extends CountedHeader {
  readonly version: number;
  readonly seq: number;
}

/** Maximum entries to check after the stored header. If there are more, the thread is folded instead. */
const MAX_CHECKED_ENTRIES = 50;
const CHECKED_BYTES = 64 * 1024;

/** Returns the current header. It is computed once per version and stored in a record. Counts as a read. */
export const readHeader: ThreadVerb<'header'> = async (log, caller, id, { counted = true } = {}) => {
  const { root } = await log.meta(caller, id);
  const records = recordsOf<StoredHeader>(log.deps.engine.records);
  const stored = (await records.get(headerKey(root)))?.value;
  if (stored && (await isCurrent(log, root, stored))) {
    if (counted) log.ledger.recordRead(root, 'headers', stored.tokens.tokens);
    return stored.header;
  }
  const { state, version, seq, totals } = await log.head(caller, id);
  // Imported states of a Go relay carry that relay's token counts. Use our own counts instead.
  const { tokens_estimate, tokens_avoided } = metricsOf(totals);
  const metrics = { ...state.metrics, tokens_estimate, tokens_avoided };
  const computed = await makeHeader({ ...state, metrics }, workFor(caller, log.deps.texts));
  log.background.run(() => records.put(headerKey(root), { ...computed, version, seq }));
  if (counted) log.ledger.recordRead(root, 'headers', computed.tokens.tokens);
  return computed.header;
};

/** Returns true if no later event made a version. Does not load the state, which can be large. */
async function isCurrent(log: ThreadLog, root: ThreadRoot, { seq }: StoredHeader): Promise<boolean> {
  for (let after = seq, left = MAX_CHECKED_ENTRIES; left > 0; ) {
    const page = { after, limit: left, maxBytes: CHECKED_BYTES };
    const { entries } = await log.deps.engine.logs.read(logOf(root), page);
    if (entries.length === 0) return true;
    if (entries.some(({ data }) => makesVersion(fromJson<StoredEvent>(data)))) return false;
    after = entries.at(-1)!.seq;
    left -= entries.length;
  }
  return false;
}

/**
 * Makes the header of a state: its newest and most important parts, neutralised, within byte and token
 * limits. Depends only on the state. To fit, it drops actions, then references, then the oldest facts, then
 * clips strings.
 */
async function makeHeader(state: State, counter: TokenCounter): Promise<CountedHeader> {
  let header = fullHeader(state);
  for (header of reductions(header)) {
    const text = JSON.stringify(header);
    if (utf8Bytes(text) > HEADER_BYTES) continue;
    const tokens = await counter.count(text);
    if (tokens.tokens <= HEADER_TOKENS) return { header, tokens };
  }
  return { header, tokens: await counter.count(JSON.stringify(header)) };
}

const FACTS = 10;
const CONSTRAINTS = 5;
const QUESTIONS = 5;
const STEPS = 5;
const REFS = 10;
const ACTIONS = 5;

/** Minimum items that stay before strings are clipped. */
const FEW_REFS = 3;
const FEW_FACTS = 3;
const CLIPS = [240, 120, 60, 30];

function fullHeader(state: State): Header {
  const isOpen = ({ status = 'open' }) => status === 'open';
  const isPending = ({ status = 'pending' }) => status === 'pending';
  return {
    $schema: state.$schema,
    thread_id: state.thread_id,
    version: state.version,
    top_facts: state.facts
      .slice(-FACTS)
      .map((fact) => pickFields(fact, ['id', 'key', 'value', ...signature(fact)])),
    top_constraints: state.constraints
      .slice(0, CONSTRAINTS)
      .map((constraint) => pickFields(constraint, ['id', 'description', 'severity', 'by'])),
    open_questions: state.open_questions
      .filter(isOpen)
      .slice(0, QUESTIONS)
      .map((question) => pickFields(question, ['id', 'question'])),
    next_steps: state.plan
      .filter(isPending)
      .slice(0, STEPS)
      .map((step) => pickFields(step, ['id', 'step'])),
    artifact_refs: state.artifacts
      .slice(-REFS)
      .reverse()
      .map((link) => pickFields(link, ['ref', 'type', 'name'])),
    last_actions: state.last_actions
      .slice(-ACTIONS)
      .reverse()
      .map((action) => pickFields(action, ['at', 'description', 'result_ref'])),
    metrics: state.metrics,
  };
}

/**
 * Returns which of `at` and `by` are worth showing. The relay adds them to facts that lack them: the sender's
 * name, which is a default name in open mode, and the time with milliseconds.
 */
function signature({ at, by }: Fact): ('at' | 'by')[] {
  const named = by !== undefined && by !== '' && by !== LOCAL_CALLER.name;
  const dated = at !== undefined && at !== '' && (named || !/\.\d{3}Z$/.test(at));
  return [...(dated ? (['at'] as const) : []), ...(named ? (['by'] as const) : [])];
}

/** Yields ever smaller versions of a header. The last one has empty lists. */
function* reductions(full: Header): Generator<Header> {
  yield full;
  let header: Header = { ...full, truncated: true };
  for (const [list, few] of [
    ['last_actions', 0],
    ['artifact_refs', FEW_REFS],
    ['top_facts', FEW_FACTS],
  ] as const) {
    while (header[list].length > few) {
      header = withoutOne(header, list);
      yield header;
    }
  }
  const lists = ['artifact_refs', 'next_steps', 'open_questions', 'top_constraints', 'top_facts'] as const;
  for (const chars of CLIPS) {
    const short = lists.map((list) => [list, header[list].map((item) => clipStrings(item, chars))]);
    header = { ...header, ...Object.fromEntries(short) };
    yield header;
  }
  // Only long ids and names are left. Shorten the longest list first.
  for (;;) {
    const longest = lists.reduce((a, b) => (header[b].length > header[a].length ? b : a));
    if (header[longest].length === 0) return;
    header = withoutOne(header, longest);
    yield header;
  }
}

type HeaderList = { [K in keyof Header]-?: Header[K] extends readonly object[] ? K : never }[keyof Header];

/** Drops one item: the oldest fact, which is the first, or the last item of another list. */
function withoutOne(header: Header, list: HeaderList): Header {
  return { ...header, [list]: list === 'top_facts' ? header[list].slice(1) : header[list].slice(0, -1) };
}

/** Copies the named fields of an item. The caller must name all required fields. */
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

/** Clips strings. Replaces other long values by the beginning of their JSON. */
function clipStrings<T extends object>(item: T, chars: number): T {
  const short = Object.entries(item).map(([field, value]) => {
    if (typeof value === 'string') return [field, field === 'at' ? value : clip(value, chars)];
    if (typeof value !== 'object' || value === null) return [field, value];
    const text = JSON.stringify(value);
    return [field, text.length > chars ? clip(text, chars) : value];
  });
  return Object.fromEntries(short) as T;
}

/** Removes fractions of a second, which a prompt does not need. */
function toSeconds(at: string): string {
  return neutralise(at).replace(/\.\d+(?=Z|[+-]\d\d|$)/, '');
}
