import { isJsonObject, type Json, type JsonObject, jsonObjectIn } from '../../../base/json.ts';
import type { TokenCounter } from '../../../base/tokens.ts';
import { encodeUtf8 } from '../../../base/utf8.ts';
import { JsonDocument, type JsonPath } from '../../../formats/json-document.ts';
import { PULL_TOOL } from '../../../sdk/context-tools.ts';
import { type Excerpt, ExcerptBuilder } from '../../../text/excerpt/excerpt.ts';
import { endsWithLastLine } from '../../../text/excerpt/last-line.ts';
import { parseUri } from '../tool.ts';
import { changeChecker, replacedResult, splitResult } from './replaced-result.ts';

/** A tool call to the wrapped server. */
export interface WrappedCall {
  readonly server: string;
  readonly tool: string;
  /** Id of the client's session, if the call contains it, or null. */
  readonly session: string | null;
}

/** Storage and tools of the interceptor. */
export interface InterceptorHost {
  readonly budget: number;
  /** True if a handle in the arguments of a tool call is replaced by the text that it stands for. */
  readonly expands: boolean;
  readonly counter: TokenCounter;
  /** Definition of `pull_context` for the tool list. */
  readonly pullTool: JsonObject;
  /** Calls `pull_context` and returns its result. */
  pull(args: Json): Promise<JsonObject>;
  /** Returns the last line of an excerpt. */
  lastLine(handle: string, about: Excerpt): string;
  /** Stores a text and returns its handle. */
  store(text: string, about: Excerpt & { readonly shown: number }, call: WrappedCall): Promise<string>;
  /** Returns the text that a handle stands for, or null if no proxy of the same session issued the handle. */
  read(handle: string, call: WrappedCall): Promise<string | null>;
  warn(what: string): void;
}

/** A request of the client that the server has not answered yet. */
interface Pending {
  readonly method: string;
  readonly tool: string;
  readonly session: string | null;
}

interface Schemas {
  readonly input: JsonObject | undefined;
  readonly output: JsonObject | undefined;
}

/** Number of tokens of the budget that are reserved for the last line and the link. */
const LAST_LINE_TOKENS = 120;
/** First MCP revision with `resource_link`. Earlier clients may reject a result that has one. */
const LINKS_SINCE = '2025-06-18';
const HANDLE = /^relay:[1-9]\d{0,13}$/;

/**
 * Reads the messages between an MCP client and a server, over any transport. Replaces long tool results by
 * excerpts, adds `pull_context` to the tool list, and replaces handles in arguments by their texts. Other
 * messages pass unchanged.
 */
export class Interceptor {
  readonly #host: InterceptorHost;
  readonly #pending = new Map<string, Pending>();
  readonly #schemas = new Map<string, Schemas>();
  readonly #issued = new Set<string>();
  #server: string | null;
  #hasLinks = true;
  /** True if the server has a tool `pull_context` of its own, whose calls and results pass unchanged. */
  #pullsItself = false;

  /** `server` is the server's name in statistics. Null to use the name that the server reports. */
  constructor(server: string | null, host: InterceptorHost) {
    this.#server = server;
    this.#host = host;
  }

  /**
   * Takes a message of the client. Returns a message for the server (`forward`) or an answer for the client
   * (`answer`).
   */
  async fromClient(text: string): Promise<{ readonly forward: string } | { readonly answer: string }> {
    const message = jsonObjectIn(text);
    const { id, method, params } = message ?? {};
    const forward = { forward: text };
    if (message === null || typeof method !== 'string') return forward;
    const fields = isJsonObject(params) ? params : {};
    if (method === 'notifications/cancelled') this.#pending.delete(JSON.stringify(fields.requestId));
    if (id === undefined) return forward;
    const tool = typeof fields.name === 'string' ? fields.name : '';
    const call: Pending = { method, tool, session: sessionOf(fields._meta) };
    if (method === 'tools/call' && tool === PULL_TOOL.name && !this.#pullsItself)
      return answer(id, fields, await this.#host.pull(fields.arguments ?? {}));
    const resource = method === 'resources/read' ? await this.#readIssued(fields.uri, call) : null;
    if (resource !== null) return answer(id, fields, resource);
    this.#pending.set(JSON.stringify(id), call);
    if (method === 'tools/call' && this.#host.expands)
      return { forward: await this.#expand(text, fields.arguments, this.#callOf(call)) };
    return forward;
  }

  /**
   * Takes a message of the server and returns the message for the client, as a promise if a long result is
   * stored first.
   */
  fromServer(text: string): string | Promise<string> {
    const message = jsonObjectIn(text);
    if (message === null || message.method !== undefined || message.id === undefined) return text;
    const key = JSON.stringify(message.id);
    const pending = this.#pending.get(key);
    this.#pending.delete(key);
    const { result } = message;
    if (pending === undefined || !isJsonObject(result)) return text;
    switch (pending.method) {
      case 'initialize': {
        if (isJsonObject(result.serverInfo)) this.#server ??= String(result.serverInfo.name);
        this.#hasLinks = String(result.protocolVersion) >= LINKS_SINCE;
        return text;
      }
      case 'tools/list':
        return this.#listTools(text, result);
      case 'tools/call': {
        // A token has at least one byte, so a message with no more characters than the budget has tokens
        // fits.
        if (text.length <= this.#host.budget || result.resultType === 'input_required') return text;
        if (pending.tool === PULL_TOOL.name) return text;
        return this.#shorten(message, result, this.#callOf(pending)).then(
          (shorter) => shorter ?? text,
          (error: Error) => {
            this.#host.warn(
              `A long result was not shortened, because it could not be stored: ${error.message}`,
            );
            return text;
          },
        );
      }
      default:
        return text;
    }
  }

  #callOf({ tool, session }: Pending): WrappedCall {
    return { server: this.#server ?? 'server', tool, session };
  }

  /** Records the schemas of the tools, and adds `pull_context` to the last page. */
  #listTools(text: string, { tools, nextCursor }: JsonObject): string {
    for (const tool of Array.isArray(tools) ? tools : []) {
      if (!isJsonObject(tool)) continue;
      const { name, inputSchema: input, outputSchema: output } = tool;
      const schema = (value: Json | undefined) => (isJsonObject(value) ? value : undefined);
      this.#schemas.set(String(name), { input: schema(input), output: schema(output) });
      if (name === PULL_TOOL.name) this.#pullsItself = true;
    }
    if (!Array.isArray(tools) || nextCursor !== undefined || this.#pullsItself) return text;
    return new JsonDocument(text).append(['result', 'tools'], this.#host.pullTool).text;
  }

  /**
   * Returns the message with an excerpt in place of the result, or null if the result fits or cannot be
   * shortened.
   */
  async #shorten(message: JsonObject, result: JsonObject, call: WrappedCall): Promise<string | null> {
    const { budget, counter } = this.#host;
    const schema = result.isError === true ? undefined : this.#schemas.get(call.tool)?.output;
    const split = splitResult(result, schema);
    if (split === null || !split.text.isWellFormed() || endsWithLastLine(split.text)) return null;
    const isValid = changeChecker(
      result.structuredContent === undefined ? undefined : schema,
      result.structuredContent ?? null,
    );
    for (const structure of split.structures) {
      const sample = structure('x'.repeat(budget), 'relay:1');
      if (!isValid(sample)) continue;
      const frame = JSON.stringify(structure('', 'relay:1') ?? '');
      const frameTokens = (await counter.count(frame)).tokens;
      if (frameTokens > budget / 4) continue;
      const builder = new ExcerptBuilder({ budget: budget - LAST_LINE_TOKENS - frameTokens, counter });
      builder.write(encodeUtf8(split.text));
      const excerpt = await builder.finish();
      if (excerpt.tokens <= budget) return null;
      const textWith = (handle: string) => `${excerpt.text}\n${this.#host.lastLine(handle, excerpt)}`;
      const excerptTokens = (await counter.count(textWith('relay:10000'))).tokens + frameTokens;
      const handle = await this.#host.store(split.text, { ...excerpt, shown: excerptTokens }, call);
      this.#issued.add(handle);
      const structured = structure(textWith(handle), handle);
      if (!isValid(structured)) return null;
      const link = this.#hasLinks ? linkTo(handle, excerpt) : null;
      const replaced = replacedResult(result, textWith(handle), handle, { structured, link });
      return JSON.stringify({ ...message, result: replaced });
    }
    return null;
  }

  /**
   * Replaces arguments that are handles of this session by their texts, if the tool's schema accepts a text
   * there.
   */
  async #expand(text: string, args: Json | undefined, call: WrappedCall): Promise<string> {
    const schema = this.#schemas.get(call.tool)?.input;
    const handles = handlesIn(args ?? null);
    if (schema === undefined || handles.length === 0) return text;
    const document = new JsonDocument(text);
    for (const { path, handle } of handles) {
      const found = await this.#host.read(handle, call).catch((error: Error) => {
        this.#host.warn(`${handle} was not replaced by its text: ${error.message}`);
        return null;
      });
      if (found === null) continue;
      const before = document.get(['params', 'arguments'])!;
      const place = ['params', 'arguments', ...path];
      document.set(place, found);
      if (!changeChecker(schema, before)(document.get(['params', 'arguments']))) document.set(place, handle);
    }
    return document.text;
  }

  /** Returns the content of a resource whose link this proxy added to a result, or null for any other. */
  async #readIssued(uri: Json | undefined, call: Pending): Promise<JsonObject | null> {
    const named = typeof uri === 'string' ? parseUri(uri) : null;
    if (named?.kind !== 'pointer' || !this.#issued.has(named.id)) return null;
    const text = await this.#host.read(named.id, this.#callOf(call));
    return text === null ? null : { contents: [{ uri: uri!, mimeType: 'text/plain', text }] };
  }
}

/**
 * Builds an answer. Only requests of the 2026 revision name their revision, and only their results need the
 * field `resultType`.
 */
function answer(id: Json, { _meta }: JsonObject, result: JsonObject): { readonly answer: string } {
  const isModern = isJsonObject(_meta) && _meta['io.modelcontextprotocol/protocolVersion'] !== undefined;
  const whole = isModern ? { resultType: 'complete', ...result } : result;
  return { answer: JSON.stringify({ jsonrpc: '2.0', id, result: whole }) };
}

function linkTo(handle: string, { bytes }: Excerpt): JsonObject {
  const uri = `relay://pointer/${handle}`;
  return { type: 'resource_link', uri, name: handle, mimeType: 'text/plain', size: bytes };
}

function handlesIn(value: Json, path: JsonPath = []): { path: JsonPath; handle: string }[] {
  if (typeof value === 'string') return HANDLE.test(value) ? [{ path, handle: value }] : [];
  if (value === null || typeof value !== 'object') return [];
  const children = Array.isArray(value) ? value.entries() : Object.entries(value);
  return [...children].flatMap(([step, child]) => handlesIn(child!, [...path, step]));
}

/** Returns the session id that Codex adds to each call, or null. */
function sessionOf(meta: Json | undefined): string | null {
  if (!isJsonObject(meta)) return null;
  const turn = meta['x-codex-turn-metadata'];
  const found = isJsonObject(turn) ? turn.session_id : undefined;
  return typeof found === 'string' ? found : null;
}
