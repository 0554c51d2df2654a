import type { Json, JsonObject } from '../../base/json.ts';
import { HEADER_BYTES, HEADER_TOKENS } from '../../base/limits.ts';
import type { TokenCount, TokenCounter } from '../../base/tokens.ts';
import { utf8Bytes } from '../../base/utf8.ts';
import { type Caller, LOCAL_CALLER } from '../../contract/caller.ts';
import type {
  Action,
  ArtifactLink,
  Constraint,
  Fact,
  Header,
  PlanStep,
  Question,
  State,
} from '../../contract/threads/state.ts';
import { clip } from '../../text/preview/cut.ts';
import { neutralise } from '../../text/sanitize/neutralise.ts';
import type { Deps } from '../deps.ts';
import { fromJson, type RecordsOf, recordsOf } from '../records.ts';
import { type StoredEvent, VERSION_EVENTS } from './event.ts';
import { headerKey, logOf } from './keys.ts';
import type { ThreadLog } from './thread-log.ts';
import type { TokenLedger } from './token-ledger.ts';

/** A header with the place in the log up to which it holds. */
interface Kept extends CountedHeader {
  readonly version: number;
  readonly seq: number;
}

/** More than this behind the last header, and the thread is folded instead of looking through what came. */
const LOOK = 50;
/** Headers kept in memory; each is 2 KB. */
const KEPT = 1_000;

/** Headers as they are read: worked out once for a version, by whichever process comes first, and kept in a record. */
export class Headers {
  readonly #deps: Deps;
  readonly #records: RecordsOf<Kept>;
  readonly #log: ThreadLog;
  readonly #ledger: TokenLedger;
  readonly #memory = new Map<string, Kept>();

  constructor(deps: Deps, log: ThreadLog, ledger: TokenLedger) {
    this.#deps = deps;
    this.#records = recordsOf(deps.engine.records);
    this.#log = log;
    this.#ledger = ledger;
  }

  /** The current header; reading it is written into the ledger. */
  async read(caller: Caller, id: string): Promise<Header> {
    const { header, tokens } = await this.current(caller, id);
    this.#ledger.headerRead(id, tokens);
    return header;
  }

  async current(caller: Caller, id: string): Promise<CountedHeader> {
    await this.#log.meta(caller, id);
    const kept = this.#memory.get(id) ?? (await this.#records.get(headerKey(id)))?.value;
    if (kept) {
      const still = await this.#stillHolds(id, kept);
      if (still) return still;
    }
    const head = await this.#log.head(caller, id);
    const made = await makeHeader(head.state, this.#deps.tokens);
    const fresh: Kept = { ...made, version: head.version, seq: head.seq };
    this.#keep(id, fresh);
    this.#log.background.run(() => this.#records.put(headerKey(id), fresh));
    return fresh;
  }

  forget(id: string): void {
    this.#memory.delete(id);
  }

  /** Whether no event since has made a version. Answers without the state, however large that is. */
  async #stillHolds(id: string, kept: Kept): Promise<Kept | null> {
    const { logs } = this.#deps.engine;
    const { entries } = await logs.read(logOf(id), { after: kept.seq, limit: LOOK });
    if (
      entries.length === LOOK ||
      entries.some(({ data }) => VERSION_EVENTS.has(fromJson<StoredEvent>(data).type))
    )
      return null;
    const seq = entries.at(-1)?.seq ?? kept.seq;
    const moved = seq === kept.seq ? kept : { ...kept, seq };
    this.#keep(id, moved);
    return moved;
  }

  #keep(id: string, kept: Kept): void {
    this.#memory.delete(id);
    this.#memory.set(id, kept);
    if (this.#memory.size > KEPT) this.#memory.delete(this.#memory.keys().next().value!);
  }
}

interface CountedHeader {
  readonly header: Header;
  readonly tokens: TokenCount;
}

/**
 * The header of a state: its newest and most pressing parts, neutralised, within bytes and counted tokens. It depends
 * on the state alone. To fit, actions go first, then references, then the oldest facts, then strings are clipped.
 */
async function makeHeader(state: State, counter: TokenCounter): Promise<CountedHeader> {
  const parts = partsOf(state);
  for (const step of reductions(parts)) {
    const header = assemble(state, step);
    const text = JSON.stringify(header);
    if (utf8Bytes(text) > HEADER_BYTES) continue;
    const tokens = await counter.count(text);
    if (tokens.tokens <= HEADER_TOKENS) return { header, tokens };
  }
  const bare = assemble(state, { ...EMPTY, truncated: true });
  return { header: bare, tokens: await counter.count(JSON.stringify(bare)) };
}

const FACTS = 10;
const CONSTRAINTS = 5;
const QUESTIONS = 5;
const STEPS = 5;
const REFS = 10;
const ACTIONS = 5;

/** What a header keeps of each before strings are clipped. */
const FEW_REFS = 3;
const FEW_FACTS = 3;
const CLIPS = [240, 120, 60, 30];

interface Parts {
  readonly facts: readonly Fact[];
  readonly constraints: readonly Constraint[];
  readonly questions: readonly Question[];
  readonly steps: readonly PlanStep[];
  readonly refs: readonly ArtifactLink[];
  readonly actions: readonly Action[];
  readonly truncated: boolean;
}

const EMPTY: Parts = {
  facts: [],
  constraints: [],
  questions: [],
  steps: [],
  refs: [],
  actions: [],
  truncated: false,
};

/** Looks at the ends of the lists only, so that a long memory costs no more than a short one. */
function partsOf(state: State): Parts {
  return {
    facts: state.facts.slice(-FACTS).map((fact) => picked(fact, ['id', 'key', 'value', ...signature(fact)])),
    constraints: state.constraints
      .slice(0, CONSTRAINTS)
      .map((constraint) => picked(constraint, ['id', 'description', 'severity', 'by'])),
    questions: first(
      state.open_questions,
      QUESTIONS,
      ({ status }) => status === undefined || status === 'open',
    ).map((question) => picked(question, ['id', 'question'])),
    steps: first(state.plan, STEPS, ({ status }) => status === undefined || status === 'pending').map(
      (step) => picked(step, ['id', 'step']),
    ),
    refs: newest(state.artifacts, REFS).map((link) => picked(link, ['ref', 'type', 'name'])),
    actions: newest(state.last_actions, ACTIONS).map((action) =>
      picked(action, ['at', 'description', 'result_ref']),
    ),
    truncated: false,
  };
}

/**
 * Which of `at` and `by` say something. A fact that came without them was stamped by the relay with whoever sent it,
 * which in open mode is nobody in particular, and with the moment of the patch, to the millisecond.
 */
function signature({ at, by }: Fact): ('at' | 'by')[] {
  const named = by !== undefined && by !== '' && by !== LOCAL_CALLER.name;
  const dated = at !== undefined && at !== '' && (named || !/\.\d{3}Z$/.test(at));
  return [...(dated ? (['at'] as const) : []), ...(named ? (['by'] as const) : [])];
}

/** Ever smaller versions of the parts, in the order in which they are to be tried. */
function* reductions(full: Parts): Generator<Parts> {
  yield full;
  let parts: Parts = { ...full, truncated: true };
  for (let left = parts.actions.length - 1; left >= 0; left--) {
    parts = { ...parts, actions: parts.actions.slice(0, left) };
    yield parts;
  }
  while (parts.refs.length > FEW_REFS) {
    parts = { ...parts, refs: parts.refs.slice(0, -1) };
    yield parts;
  }
  while (parts.facts.length > FEW_FACTS) {
    parts = { ...parts, facts: parts.facts.slice(1) };
    yield parts;
  }
  for (const chars of CLIPS) {
    const short = <T extends object>(items: readonly T[]) => items.map((item) => clipped(item, chars));
    parts = {
      facts: short(parts.facts),
      constraints: short(parts.constraints),
      questions: short(parts.questions),
      steps: short(parts.steps),
      refs: short(parts.refs),
      actions: [],
      truncated: true,
    };
    yield parts;
  }
  // Nothing but long ids and names is left: the longest list gives first.
  for (;;) {
    const lists = ['refs', 'steps', 'questions', 'constraints', 'facts'] as const;
    const longest = lists.reduce((a, b) => (parts[b].length > parts[a].length ? b : a));
    if (parts[longest].length === 0) return;
    const fewer = longest === 'facts' ? parts.facts.slice(1) : parts[longest].slice(0, -1);
    parts = { ...parts, [longest]: fewer };
    yield parts;
  }
}

function assemble(state: State, parts: Parts): Header {
  return {
    $schema: state.$schema,
    thread_id: state.thread_id,
    version: state.version,
    top_facts: parts.facts,
    top_constraints: parts.constraints,
    open_questions: parts.questions,
    next_steps: parts.steps,
    artifact_refs: parts.refs,
    last_actions: parts.actions,
    metrics: state.metrics,
    ...(parts.truncated ? { truncated: true as const } : {}),
  };
}

/** Some fields of an item. Whoever asks names those that the type needs. */
function picked<T extends object>(item: T, fields: readonly (keyof T & string)[]): T {
  const out: JsonObject = {};
  for (const field of fields) {
    const value = item[field] as Json | undefined;
    if (value === undefined) continue;
    out[field] = field === 'at' && typeof value === 'string' ? toSeconds(value) : harmless(value);
  }
  return out as T;
}

function harmless(value: Json): Json {
  if (typeof value === 'string') return neutralise(value);
  if (Array.isArray(value)) return value.map(harmless);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [neutralise(key), harmless(child)]));
}

/** Strings cut short; a value of any other kind that is too long becomes the beginning of its JSON. */
function clipped<T extends object>(item: T, chars: number): T {
  const short = Object.entries(item).map(([field, value]) => {
    if (typeof value === 'string') return [field, field === 'at' ? value : clip(value, chars)];
    if (typeof value !== 'object' || value === null) return [field, value];
    const text = JSON.stringify(value);
    return [field, text.length > chars ? clip(text, chars) : value];
  });
  return Object.fromEntries(short) as T;
}

/** Milliseconds matter to nobody who reads a prompt. */
function toSeconds(at: string): string {
  return neutralise(at).replace(/\.\d+(?=Z|[+-]\d\d|$)/, '');
}

function newest<T>(list: readonly T[], count: number): T[] {
  return list.slice(-count).reverse();
}

function first<T>(list: readonly T[], count: number, fits: (item: T) => boolean): T[] {
  const found: T[] = [];
  for (const item of list) {
    if (found.length === count) break;
    if (fits(item)) found.push(item);
  }
  return found;
}
