import { isRelayError } from '../../base/errors.ts';
import { isRef } from '../../base/ids.ts';
import { jsonObjectIn } from '../../base/json.ts';
import { PULL_CALL_TOKENS, PULL_CALLS, PULL_PASSAGES, PULL_ROUNDS, PULL_TOKENS } from '../../base/limits.ts';
import { everyItem } from '../../base/pages.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import { type Artifact, isReport, type ThreadsApi } from '../../contract/threads.ts';
import { datedFrame, type FrameSecret, oneLine } from '../../text/frame.ts';
import { cutToBudget, type PartRequest } from '../../text/parts/part-request.ts';
import { re2Matcher } from '../../text/parts/re2-matcher.ts';
import { takePart } from '../../text/parts/take-part.ts';
import { neutralise } from '../../text/sanitize/neutralise.ts';
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
  /** False if the model gets no tools and answers from the prompt alone. True by default. */
  readonly tools?: boolean;
  /** Refs of the artifacts that the model may read. By default it may read all artifacts of the thread. */
  readonly only?: readonly string[];
  /** Returns whether the model must answer now, without more tool calls. */
  enough?(billed: Billed | undefined): boolean;
  /** Maximum number of rounds of tool calls. After these rounds the model must answer. */
  readonly rounds?: number;
  /** Maximum number of tokens for all tool calls and their results together. */
  readonly tokens?: number;
};

export type Answered = ModelAnswer & { readonly pulls?: Pulls };

/**
 * Asks a model that may call tools, and returns its answer. The number of rounds and the number of tokens are
 * limited: when a limit is reached, the model must answer without further calls. If the model does not
 * support tools, it is asked again without tools. The billed tokens are the sum of all rounds.
 */
export async function answerWithPulls(
  parts: ToolParts,
  bundle: Bundle,
  model: Model,
  { tools: useTools = true, only, rounds: most = PULL_ROUNDS, tokens = PULL_TOKENS, enough, ...o }: Pulling,
): Promise<Answered> {
  // If the prompt contains the whole state and there are no artifacts, tools could return nothing new. So
  // give the model no tools.
  if (!useTools || most === 0 || (bundle.artifacts.length === 0 && !bundle.truncated))
    return model.answer(bundle, o);
  const tools = new ThreadTools(parts, bundle, tokens, only);
  const rounds: Round[] = [];
  let billed: Billed | undefined;
  for (;;) {
    const last =
      rounds.length === most || tools.left <= 0 || (rounds.length > 0 && enough?.(billed) === true);
    let answer: ModelAnswer;
    try {
      answer = await model.answer(bundle, o, { tools: TOOLS, rounds, last });
    } catch (error) {
      if (rounds.length > 0 || !isRelayError(error, 'tools_refused')) throw error;
      return model.answer(bundle, o);
    }
    billed = addBilled(billed, answer.billed);
    const { calls = [], turn: _, calls: __, ...rest } = answer;
    if (last || calls.length === 0) {
      const described = await parts.tokens.count(JSON.stringify(TOOLS));
      return { ...rest, billed, pulls: { ...tools.pulls, tools_tokens: described.tokens } };
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

function addBilled(a: Billed | undefined, b: Billed | undefined): Billed | undefined {
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
    name: 'list',
    description: 'Name the lists of the state and the artifacts.',
    parameters: { type: 'object', properties: {} },
  },
  {
    name: 'search',
    description: 'Find items of the state, earlier questions and passages of artifacts.',
    parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  },
  {
    name: 'pull',
    description: 'Read one of lines, grep, json, outline.',
    parameters: {
      type: 'object',
      properties: {
        ref: { type: 'string', description: 'ref or name of an artifact, or a list: facts' },
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

/**
 * Maximum number of search hits that are read. More are read than shown, because the model may already have
 * seen some passages.
 */
const SEARCH_LIMIT = 50;

/**
 * Executes the tool calls of a model for one prompt. Every call is recorded as an event of the thread. Texts
 * of artifacts are returned inside frames. If a call fails, the model gets the reason as its result. `only`
 * contains the refs of the artifacts that the model may read.
 */
class ThreadTools {
  readonly #parts: ToolParts;
  readonly #bundle: Bundle;
  /** Maximum number of tokens for all tool calls and their results together. */
  readonly #budget: number;
  readonly #only: ReadonlySet<string> | null;
  /**
   * Passages and items that the model has already seen. A passage is noted as `ref:line`, an item as its
   * path.
   */
  readonly #seen = new Set<string>();
  /** Name → ref of the artifacts that the model knows from the prompt or from a tool call. */
  readonly #names = new Map<string, string>();
  /** Artifacts that the model knows only from tool calls, not from the prompt. */
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
      // Replace arguments that are invalid JSON with an empty object. The result of the call then tells the
      // model which arguments it can pass.
      done = await this.#do(call.name, jsonObjectIn(call.arguments) ?? {});
    } catch (error) {
      if (!isRelayError(error)) throw error;
      done = refusal(error.message, oneLine(call.name, 40));
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

  async #do(name: string, args: ToolArguments): Promise<{ text: string; what: string }> {
    if (this.left <= 0) return refusal('the token limit for tool results of one answer is reached.', name);
    if (name === 'search' && typeof args.query === 'string' && args.query.trim() !== '')
      return this.#search(args.query);
    if (name === 'list') return this.#list();
    if (name === 'pull' && typeof args.ref === 'string') return this.#pull(args.ref, args);
    const how = TOOLS.map(
      (tool) => `${tool.name}(${Object.keys(tool.parameters.properties as object).join(', ')})`,
    );
    return refusal(`call ${how.join(' or ')}.`, oneLine(name, 40));
  }

  async #search(query: string): Promise<{ text: string; what: string }> {
    const o = { limit: SEARCH_LIMIT, counted: false };
    const { hits, state = [] } = await this.#parts.threads.search(this.#bundle.thread_id, query, o);
    const fresh = hits.filter(({ ref, line }) => this.#isAllowed(ref) && !this.#seen.has(`${ref}:${line}`));
    const what = `search "${oneLine(query, 60)}"`;
    const items = state
      .filter(({ path, text }) => !this.#seen.has(path) && !this.#bundle.user.includes(`${text}\n`))
      .slice(0, PULL_PASSAGES);
    for (const { path } of items) this.#seen.add(path);
    const chosen = fresh.slice(0, PULL_PASSAGES);
    if (chosen.length + items.length === 0)
      return { text: 'Nothing more found. Try other words, or use list and pull.', what };
    const of = Map.groupBy(chosen, ({ ref }) => ref);
    const frames = [...of].map(async ([ref, passages]) => {
      const artifact = await this.#loadArtifact(ref);
      const lines = passages.toSorted((a, b) => a.line - b.line);
      for (const { line } of lines) this.#seen.add(`${ref}:${line}`);
      // Remove the marks `**` around matches. They would look like part of the text.
      const texts = lines.map(({ line, snippet }) => `[line ${line}] ${snippet.replaceAll('**', '')}`);
      return this.#frame(artifact, texts.join('\n'));
    });
    const lines = items.map(({ path, text }) => `${path} ${text}`);
    return { text: [...lines, ...(await Promise.all(frames))].join('\n'), what };
  }

  /** Lists the state's lists with their lengths, and the newest artifacts. */
  async #list(): Promise<{ text: string; what: string }> {
    const { threads } = this.#parts;
    const { thread_id } = this.#bundle;
    const state = await threads.state(thread_id, { counted: false });
    const lists = STATE_LISTS.filter((list) => state[list].length > 0);
    const { artifacts } = await threads.artifacts(thread_id, { limit: LIST_LIMIT, counted: false });
    const lines = [
      ...lists.map((list) => `${list}: ${state[list].length}`),
      ...artifacts
        .filter(({ ref }) => this.#isAllowed(ref))
        .map(({ ref, name, tokens }) => `${ref} ${oneLine(name, 80)}, ${tokens.content} tokens`),
      ...(artifacts.length === LIST_LIMIT
        ? [`[the newest ${LIST_LIMIT} artifacts; search finds the others]`]
        : []),
    ];
    return { text: lines.join('\n') || 'There is nothing.', what: 'list' };
  }

  async #pull(name: string, args: ToolArguments): Promise<{ text: string; what: string }> {
    const texts = ['lines', 'grep', 'json'].filter(
      (key) => typeof args[key] === 'string' && args[key] !== '',
    );
    const parts = [...texts, ...(args.outline === true ? ['outline'] : [])];
    const requested = Object.fromEntries(parts.map((key) => [key, args[key]]));
    const part = (parts.length === 0 ? { lines: '1-' } : requested) as PartRequest;
    const max_tokens = Math.min(PULL_CALL_TOKENS, this.left);
    const which = Object.entries(requested).map(([key, value]) => (value === true ? key : `${key}=${value}`));
    const list = STATE_LISTS.find((one) => one === name.replace(/^\//, ''));
    const ref = list ?? this.#names.get(name) ?? (await this.#findRef(name));
    if (!list && (!isRef(ref) || !this.#isAllowed(ref)))
      return refusal('this artifact does not exist. Use list or search to find refs.', 'pull');
    const artifact = list ? null : await this.#loadArtifact(ref);
    const what = oneLine(`pull ${artifact?.name ?? list} ${which.join(' ')}`, 120).trim();
    const pulled = list
      ? await this.#pullList(list, part, max_tokens)
      : await this.#parts.threads.part(this.#bundle.thread_id, ref, { ...part, max_tokens, counted: false });
    const about = pulled.truncated || list ? `\n[${pulled.about}]` : '';
    if (pulled.text === '') return { text: `No text: ${pulled.about}.`, what };
    return { text: `${artifact ? await this.#frame(artifact, pulled.text) : pulled.text}${about}`, what };
  }

  /** Returns a part of a list of the state. Each item is one line. */
  async #pullList(list: (typeof STATE_LISTS)[number], part: PartRequest, max_tokens: number) {
    const state = await this.#parts.threads.state(this.#bundle.thread_id, { counted: false });
    const lines = state[list].map((item, index) => `/${list}/${index} ${itemText({ ...item })}`);
    const body = new TextEncoder().encode(lines.join('\n'));
    return cutToBudget(await takePart(body, part, re2Matcher), max_tokens, this.#parts.tokens);
  }

  /**
   * Finds an artifact by its name, or by the first 6 or more characters of its ref. Returns the ref of the
   * newest match. Without a match, returns `name` itself.
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
    const cached = this.#more.get(ref);
    if (cached) return cached;
    const artifact = await this.#parts.threads.artifact(this.#bundle.thread_id, ref, { counted: false });
    this.#names.set(artifact.name, ref);
    if (!this.#bundle.artifacts.some((item) => item.ref === ref)) this.#more.set(ref, artifact);
    return artifact;
  }

  #frame({ ref, name, provenance }: Artifact, text: string): Promise<string> {
    const at = Date.parse(provenance.created_at);
    const source = { what: `artifact ${ref} "${oneLine(name)}"`, by: provenance.created_by, at };
    return datedFrame(text, source, this.#parts.frameSecret);
  }
}

function refusal(why: string, call: string): { text: string; what: string } {
  return { text: `Not done: ${why}`, what: `${call}, refused` };
}

type ToolArguments = { readonly [name: string]: unknown };

const STATE_LISTS = ['constraints', 'decisions', 'facts', 'open_questions', 'plan', 'last_actions'] as const;

/** Maximum number of artifacts that `list` names. */
const LIST_LIMIT = 50;

/** Formats an item of the state: its key or text, its value, and its status or the ref of its result. */
function itemText({ key, description, question, step, value, status, result_ref }: ToolArguments): string {
  const head = key ?? question ?? description ?? step ?? '';
  const tail = value === undefined ? '' : `: ${typeof value === 'string' ? value : JSON.stringify(value)}`;
  const note = status ?? result_ref;
  const text = `${head}${tail}${typeof note === 'string' ? ` (${note})` : ''}`;
  return neutralise(text.replace(/\s+/g, ' ')).replace(/\s+/g, ' ');
}
