import { isRelayError } from '../../base/errors.ts';
import { isRef } from '../../base/ids.ts';
import { jsonObjectIn } from '../../base/json.ts';
import { PULL_CALL_TOKENS, PULL_CALLS, PULL_PASSAGES, PULL_ROUNDS, PULL_TOKENS } from '../../base/limits.ts';
import { everyItem } from '../../base/pages.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import { type Artifact, isReport, type PartInput, type ThreadsApi } from '../../contract/threads.ts';
import { datedFrame, type FrameSecret, oneLine } from '../../text/frame.ts';
import { cutToBudget } from '../../text/parts/part-request.ts';
import type {
  AnswerOptions,
  Billed,
  Bundle,
  Model,
  ModelAnswer,
  Pull,
  Pulls,
  Round,
  Tool,
  ToolCall,
} from './types.ts';

export type Pulling = AnswerOptions & {
  /** If false, the model gets no tools and answers from the prompt alone. True by default. */
  readonly tools?: boolean;
  /** Refs of the artifacts that the model may read. By default it may read all artifacts of the thread. */
  readonly only?: readonly string[];
  /** Maximum number of rounds of tool calls. After these rounds the model must answer. */
  readonly rounds?: number;
  /** Maximum number of tokens for all tool calls and their results together. */
  readonly tokens?: number;
};

export type Answered = ModelAnswer & { readonly pulls?: Pulls };

/**
 * Asks a model that may call tools, and returns its answer. The numbers of rounds and tokens are limited. In
 * the last round the model must answer. If the model does not support tools, it is asked again without tools.
 * The billed tokens are the sum of all rounds.
 */
export async function answerWithPulls(
  parts: ToolParts,
  bundle: Bundle,
  model: Model,
  { tools: wanted = true, only, rounds: most = PULL_ROUNDS, tokens = PULL_TOKENS, ...o }: Pulling,
): Promise<Answered> {
  // If the prompt has no artifacts and shows the whole state, there is nothing to pull.
  if (!wanted || most === 0 || (bundle.artifacts.length === 0 && !bundle.truncated))
    return model.answer(bundle, o);
  const tools = new ThreadTools(parts, bundle, tokens, only);
  const rounds: Round[] = [];
  let billed: Billed | undefined;
  for (;;) {
    const last = rounds.length === most || tools.left <= 0;
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
        results.push(`Not done: at most ${PULL_CALLS} calls are allowed at once.`);
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
  const cached = a.cached_input_tokens ?? b.cached_input_tokens;
  const sum = (a.cached_input_tokens ?? 0) + (b.cached_input_tokens ?? 0);
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    ...(cached === undefined ? {} : { cached_input_tokens: sum }),
  };
}

/**
 * Tools that a model may call. Their descriptions are short, because every prompt with tools contains them.
 */
export const TOOLS: readonly Tool[] = [
  {
    name: 'search',
    description: 'Find items of the state and passages of artifacts by words or a question.',
    parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  },
  {
    name: 'pull',
    description: 'Read a part of an artifact: one of lines, grep, json, outline.',
    parameters: {
      type: 'object',
      properties: {
        ref: { type: 'string', description: 'ref or name of the artifact, or a list of the state: facts' },
        lines: { type: 'string', description: '10-40' },
        grep: { type: 'string', description: 'a regular expression' },
        json: { type: 'string', description: 'a JSON Pointer' },
        outline: { type: 'boolean' },
      },
      required: ['ref'],
    },
  },
];

interface ToolParts {
  readonly threads: ThreadsApi;
  readonly tokens: TokenCounter;
  readonly frameSecret: FrameSecret;
}

/** Maximum number of search hits among which new passages are chosen. */
const SEARCH_LIMIT = 50;

/**
 * Executes the tool calls of a model for one prompt. Every call is recorded as an event of the thread. Texts
 * of artifacts are returned inside frames. A failed call returns the reason. `only` names the artifacts that
 * the model may read.
 */
class ThreadTools {
  readonly #parts: ToolParts;
  readonly #bundle: Bundle;
  /** Maximum number of tokens for all tool calls and their results together. */
  readonly #budget: number;
  readonly #only: ReadonlySet<string> | null;
  /** `ref:line` of every passage that the model has already seen. */
  readonly #seen = new Set<string>();
  /** Name → ref of the artifacts that the prompt or a tool call has shown. */
  readonly #names = new Map<string, string>();
  /** Artifacts that a tool call has shown and that are not in the prompt. */
  readonly #more = new Map<string, Artifact>();
  #calls = 0;
  #tokens = 0;

  constructor(parts: ToolParts, bundle: Bundle, budget: number, only: readonly string[] | null = null) {
    this.#parts = parts;
    this.#bundle = bundle;
    this.#budget = budget;
    this.#only = only && new Set(only);
    for (const { ref, name, lines = [] } of bundle.artifacts) {
      this.#names.set(name, ref);
      for (const line of lines) this.#seen.add(`${ref}:${line}`);
    }
  }

  get pulls(): Omit<Pulls, 'tools_tokens'> {
    const contents = [...this.#more.values()]
      .filter((artifact) => !isReport(artifact))
      .map(({ tokens }) => tokens.content);
    const pasted_tokens = contents.reduce((sum, tokens) => sum + tokens, 0);
    return { calls: this.#calls, tokens: this.#tokens, pasted_tokens };
  }

  /** Number of tokens that are left in the budget. */
  get left(): number {
    return this.#budget - this.#tokens;
  }

  async call(call: ToolCall): Promise<{ readonly result: string; readonly pull: Pull }> {
    let done: { text: string; what: string };
    try {
      // Arguments that are invalid JSON count as empty. The result then tells the model which arguments it
      // can pass.
      done = await this.#do(call.name, jsonObjectIn(call.arguments) ?? {});
    } catch (error) {
      if (!isRelayError(error)) throw error;
      done = { text: `Not done: ${error.message}`, what: `${oneLine(call.name, 40)}, refused` };
    }
    const counted = await this.#parts.tokens.count(`${call.arguments}\n${done.text}`);
    const pull = { what: done.what, tokens: counted.tokens };
    this.#calls += 1;
    this.#tokens += counted.tokens;
    await this.#parts.threads.record(this.#bundle.thread_id, 'prompt.called', {
      bundle: this.#bundle.fingerprint,
      call: pull.what,
      tokens: pull.tokens,
    });
    return { result: done.text, pull };
  }

  async #do(name: string, given: ToolArguments): Promise<{ text: string; what: string }> {
    if (this.left <= 0)
      return {
        text: 'Not done: the token limit for tool results of one answer is reached.',
        what: `${name}, refused`,
      };
    if (name === 'search' && typeof given.query === 'string' && given.query.trim() !== '')
      return this.#search(given.query);
    if (name === 'pull' && typeof given.ref === 'string') return this.#pull(given.ref, given);
    const how = TOOLS.map(
      (tool) => `${tool.name}(${Object.keys(tool.parameters.properties as object).join(', ')})`,
    );
    return { text: `Not done: call ${how.join(' or ')}.`, what: `${oneLine(name, 40)}, refused` };
  }

  async #search(query: string): Promise<{ text: string; what: string }> {
    const o = { limit: SEARCH_LIMIT, counted: false };
    const { hits } = await this.#parts.threads.search(this.#bundle.thread_id, query, o);
    const fresh = hits.filter(({ ref, line }) => this.#isAllowed(ref) && !this.#seen.has(`${ref}:${line}`));
    const what = `search "${oneLine(query, 60)}"`;
    const items = matchingItems(await this.#stateLines(), query);
    if (fresh.length === 0 && items.length > 0) return { text: items.join('\n'), what };
    if (fresh.length === 0) return { text: 'No more passages found. Try other words, or use pull.', what };
    const shown = fresh.slice(0, PULL_PASSAGES);
    const of = Map.groupBy(shown, ({ ref }) => ref);
    const frames = [...of].map(async ([ref, passages]) => {
      const artifact = await this.#loadArtifact(ref);
      const lines = passages.toSorted((a, b) => a.line - b.line);
      for (const { line } of lines) this.#seen.add(`${ref}:${line}`);
      // Remove the marks `**` around matches. They would look like part of the text.
      const texts = lines.map(({ line, snippet }) => `[line ${line}] ${snippet.replaceAll('**', '')}`);
      return this.#frame(artifact, texts.join('\n'));
    });
    return { text: [...items, ...(await Promise.all(frames))].join('\n'), what };
  }

  async #pull(name: string, given: ToolArguments): Promise<{ text: string; what: string }> {
    if (isStateList(name)) return this.#pullState(name, given);
    const ref = this.#names.get(name) ?? (await this.#findRef(name));
    if (!isRef(ref) || !this.#isAllowed(ref))
      return {
        text: 'Not done: this artifact does not exist. Use search to find refs.',
        what: 'pull, refused',
      };
    const texts = ['lines', 'grep', 'json'].filter(
      (key) => typeof given[key] === 'string' && given[key] !== '',
    );
    const parts = [...texts, ...(given.outline === true ? ['outline'] : [])];
    const asked = Object.fromEntries(parts.map((key) => [key, given[key]])) as PartInput;
    const max_tokens = Math.min(PULL_CALL_TOKENS, this.left);
    const artifact = await this.#loadArtifact(ref);
    const o = { ...(Object.keys(asked).length === 0 ? { lines: '1-' } : asked), max_tokens, counted: false };
    const taken = await this.#parts.threads.part(this.#bundle.thread_id, ref, o);
    const which = Object.entries(asked).map(([key, value]) => (value === true ? key : `${key}=${value}`));
    const about = taken.truncated ? `\n[${taken.about}]` : '';
    const what = oneLine(`pull ${artifact.name} ${which.join(' ')}`, 120);
    if (taken.text === '') return { text: `No text: ${taken.about}.`, what };
    return { text: `${await this.#frame(artifact, taken.text)}${about}`, what };
  }

  /** Returns the items of one list of the state, one item per line. `grep` and `lines` select items. */
  async #pullState(list: string, { grep, lines }: ToolArguments): Promise<{ text: string; what: string }> {
    const all = (await this.#stateLines()).filter((line) => line.startsWith(`/${list}/`));
    const [from = 1, to = all.length] = typeof lines === 'string' ? lines.split('-').map(Number) : [];
    const wanted = typeof grep === 'string' ? grep.toLowerCase() : '';
    const chosen = all.slice(Math.max(1, from) - 1, to || all.length);
    const found = chosen.filter((line) => line.toLowerCase().includes(wanted));
    const what = `pull ${list}`;
    if (found.length === 0) return { text: `No items: /${list} has ${all.length}.`, what };
    const part = {
      text: found.join('\n'),
      about: `${found.length} of ${all.length} items`,
      truncated: false,
    };
    const cut = await cutToBudget(part, Math.min(PULL_CALL_TOKENS, this.left), this.#parts.tokens);
    return { text: `${cut.text}\n[${cut.about}]`, what };
  }

  /** Returns every item of the state's lists as one line. The line begins with the item's path. */
  async #stateLines(): Promise<readonly string[]> {
    const state = await this.#parts.threads.state(this.#bundle.thread_id, { counted: false });
    return STATE_LISTS.flatMap((list) =>
      state[list].map((item, index) => `/${list}/${index} ${itemText({ ...item })}`),
    );
  }

  /**
   * Finds an artifact by its name, or by the first 6 or more characters of its ref. Returns the ref of the
   * newest match, or the name itself if there is no match.
   */
  async #findRef(name: string): Promise<string> {
    if (isRef(name)) return name;
    const page = (o: { after?: string }) =>
      this.#parts.threads.artifacts(this.#bundle.thread_id, { ...o, counted: false });
    for await (const artifact of everyItem('artifacts', page)) {
      const isNamed = artifact.name === name || (name.length >= 6 && artifact.ref.startsWith(name));
      if (isNamed && this.#isAllowed(artifact.ref)) return artifact.ref;
    }
    return name;
  }

  #isAllowed(ref: string): boolean {
    return this.#only?.has(ref) ?? true;
  }

  async #loadArtifact(ref: string): Promise<Artifact> {
    const known = this.#more.get(ref);
    if (known) return known;
    const artifact = await this.#parts.threads.artifact(this.#bundle.thread_id, ref, { counted: false });
    this.#names.set(artifact.name, ref);
    if (!this.#bundle.artifacts.some((shown) => shown.ref === ref)) this.#more.set(ref, artifact);
    return artifact;
  }

  #frame({ ref, name, provenance }: Artifact, words: string): Promise<string> {
    const at = Date.parse(provenance.created_at);
    const source = { what: `artifact ${ref} "${oneLine(name)}"`, by: provenance.created_by, at };
    return datedFrame(words, source, this.#parts.frameSecret);
  }
}

type ToolArguments = { readonly [name: string]: unknown };

const STATE_LISTS = ['constraints', 'decisions', 'facts', 'open_questions', 'plan'] as const;

function isStateList(name: string): boolean {
  return (STATE_LISTS as readonly string[]).includes(name);
}

/** Formats an item of the state: its key or text, then its value and status. */
function itemText({ key, description, question, step, value, status }: ToolArguments): string {
  const head = key ?? description ?? question ?? step ?? '';
  const tail = value === undefined ? '' : `: ${typeof value === 'string' ? value : JSON.stringify(value)}`;
  return oneLine(`${head}${tail}${typeof status === 'string' ? ` (${status})` : ''}`, ITEM_CHARS);
}

const ITEM_CHARS = 400;

/** Returns the lines that match a query best. A word that occurs in few lines counts more. */
function matchingItems(lines: readonly string[], query: string): string[] {
  const words = (text: string) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu));
  const items = lines.map((line) => ({ line, words: words(line) }));
  const weights = [...words(query)].map((word) => {
    const count = items.filter((item) => item.words.has(word)).length;
    return { word, weight: Math.log((items.length + 1) / (count + 0.5)) };
  });
  return items
    .map(({ line, words }) => ({
      line,
      score: weights.reduce((sum, { word, weight }) => sum + (words.has(word) ? weight : 0), 0),
    }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, PULL_PASSAGES)
    .map(({ line }) => line);
}
