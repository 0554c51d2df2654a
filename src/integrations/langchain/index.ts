import { BaseCallbackHandler } from '@langchain/core/callbacks/base';
import { Document } from '@langchain/core/documents';
import { isBaseMessage, isToolMessage, ToolMessage } from '@langchain/core/messages';
import type { LLMResult } from '@langchain/core/outputs';
import { BaseRetriever, type BaseRetrieverInput } from '@langchain/core/retrievers';
import { BaseStore } from '@langchain/core/stores';
import { DynamicStructuredTool } from '@langchain/core/tools';
import type { ChainValues } from '@langchain/core/utils/types';
import { type AgentMiddleware, createMiddleware } from 'langchain';
import { badRequest } from '../../base/errors.ts';
import { parsePointer } from '../../contract/pointer-url.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import type { FileSpace } from '../../sdk/files.ts';
import { FileWriter, segment } from '../file-names.ts';
import { type LargeResultOptions, LargeResults } from '../large-results.ts';
import { Patience } from '../patience.ts';
import { type RelayToolOptions, relayTools } from '../relay-tools.ts';

/** Entry point `contextrelay/langchain`. Every export here is public API. */
export type { LargeResultOptions } from '../large-results.ts';
export type { RelayToolOptions } from '../relay-tools.ts';

/** Returns `push_context`, `peek_context` and `pull_context`, for `createAgent({ tools })` or `model.bindTools()`. */
export function contextRelayTools(
  relay: ContextRelay,
  options: RelayToolOptions = {},
): DynamicStructuredTool[] {
  return relayTools(relay, options).map(
    ({ name, description, schema, run }) =>
      new DynamicStructuredTool({
        name,
        description,
        schema,
        func: (input, _run, config) => run(input, { signal: config?.signal }),
      }),
  );
}

/**
 * Middleware for `createAgent`. Replaces large tool results with pointers. Adds the tool `pull_context`, so that the
 * model can read what it needs.
 */
export function largeResultMiddleware(
  relay: ContextRelay,
  options: LargeResultOptions = {},
): AgentMiddleware {
  const results = new LargeResults(relay, options);
  const pull = relayTools(relay).at(-1)!.name;
  return createMiddleware({
    name: 'ContextRelayLargeResults',
    tools: contextRelayTools(relay).filter(({ name }) => name === pull),
    async wrapToolCall(request, handler) {
      const result = await handler(request);
      const { signal, configurable } = request.runtime;
      const o = { signal, forever: isStoredElsewhere(configurable) };
      const swap = (message: unknown) => swapMessage(message, request.toolCall.name, results, o);
      if (isToolMessage(result)) return (await swap(result)) as ToolMessage;
      // A tool may return a Command, which adds its messages to the state of the graph.
      const messages = (result.update as { readonly messages?: unknown } | undefined)?.messages;
      if (!Array.isArray(messages)) return result;
      const update = { ...result.update, messages: await Promise.all(messages.map(swap)) };
      return Object.assign(Object.create(Object.getPrototypeOf(result)), result, { update });
    },
  });
}

/**
 * Returns whether another checkpointer than ours stores the messages. Another checkpointer does not renew the
 * pointers in them.
 */
function isStoredElsewhere(configurable: { readonly [name: string]: unknown } | undefined): boolean {
  const checkpointer = configurable?.__pregel_checkpointer as { keepsPointers?: boolean } | null | undefined;
  return typeof checkpointer === 'object' && checkpointer !== null && !checkpointer.keepsPointers;
}

type Content = ToolMessage['content'];

async function swapMessage(
  message: unknown,
  tool: string,
  results: LargeResults,
  o: { readonly signal?: AbortSignal; readonly forever: boolean },
): Promise<unknown> {
  if (!isBaseMessage(message) || !isToolMessage(message)) return message;
  const { content } = message;
  const replaced =
    typeof content === 'string'
      ? await results.replaceText(content, tool, o)
      : await results.replaceBlocks(content, tool, o);
  return replaced === content ? message : withContent(message, replaced as Content);
}

/** Copies a message with other content. The constructor cannot copy a message, so each field is passed. */
function withContent(message: ToolMessage, content: Content): ToolMessage {
  const { tool_call_id, name, id, status, artifact, metadata, additional_kwargs, response_metadata } =
    message;
  return new ToolMessage({
    content,
    tool_call_id,
    name,
    id,
    status,
    artifact,
    metadata,
    additional_kwargs,
    response_metadata,
  });
}

export type PushedOutput = 'chain' | 'llm' | 'tool';

export interface ContextRelayCallbackOptions {
  readonly relay: ContextRelay;
  /** Channel on which outputs are announced. */
  readonly channel: string;
  /**
   * Which outputs to push. By default only the output of the outermost chain. `llm` and `tool` push the output of
   * each call.
   */
  readonly outputs?: readonly PushedOutput[];
  readonly encrypted?: boolean;
  /** Seconds until an output expires; a day by default. */
  readonly ttl?: number;
  /** Called if an output could not be pushed; the run continues. By default a console warning. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Pushes the outputs of a run to a channel, for agents that wait there. The run continues only after an
 * output is stored.
 */
export class ContextRelayCallbackHandler extends BaseCallbackHandler {
  name = 'ContextRelayCallbackHandler';
  override awaitHandlers = true;
  readonly #options: ContextRelayCallbackOptions;
  readonly #outputs: readonly PushedOutput[];
  readonly #patience = new Patience();

  constructor(options: ContextRelayCallbackOptions) {
    super();
    this.#options = options;
    this.#outputs = options.outputs ?? ['chain'];
  }

  override async handleChainEnd(outputs: ChainValues, runId: string, parentRunId?: string): Promise<void> {
    if (parentRunId === undefined) await this.#push('chain', outputs, runId);
  }

  override async handleLLMEnd(output: LLMResult, runId: string): Promise<void> {
    const texts = output.generations.flat().map(({ text }) => text);
    await this.#push('llm', texts.join('\n'), runId);
  }

  override async handleToolEnd(output: unknown, runId: string): Promise<void> {
    await this.#push('tool', output, runId);
  }

  async #push(kind: PushedOutput, output: unknown, run: string): Promise<void> {
    if (!this.#outputs.includes(kind)) return;
    const { relay, channel, encrypted, ttl, onError = warn } = this.#options;
    const text = textOf(output);
    if (text === '') return;
    try {
      await this.#patience.run((signal) =>
        relay.push(text, {
          channel,
          encrypted,
          ttl,
          // With the idempotency key, an output is pushed only once, even if a handler is attached or called
          // twice.
          idempotencyKey: encrypted ? undefined : `${kind}-${run}`,
          metadata: { summary: `output of ${kind} ${run}`, kind, run },
          signal,
        }),
      );
    } catch (error) {
      onError(error);
    }
  }
}

/**
 * Returns an output as text: the text of a message, the last message of an agent's state, or anything else as JSON.
 */
function textOf(output: unknown): string {
  if (output === null || output === undefined) return '';
  if (typeof output === 'string') return output;
  if (isBaseMessage(output)) return output.text;
  const { messages, output: inner } = output as { messages?: unknown; output?: unknown };
  if (Array.isArray(messages) && isBaseMessage(messages.at(-1))) return messages.at(-1).text;
  if (typeof inner === 'string' || isBaseMessage(inner)) return textOf(inner);
  return JSON.stringify(output) ?? '';
}

function warn(error: unknown): void {
  console.warn(`contextrelay: an output could not be pushed: ${String(error)}`);
}

export interface ContextRelayRetrieverInput extends BaseRetrieverInput {
  readonly relay: ContextRelay;
  /** Thread whose artifacts are searched. Without it, every query must be a relay URL. */
  readonly thread?: string;
  /** Maximum number of passages per query; 5 by default. */
  readonly k?: number;
}

/**
 * Retrieves documents from a relay. If a query is a relay URL, the payload is returned. Any other query
 * searches the artifacts of the thread and returns passages, best first. The metadata of a passage names its
 * source.
 */
export class ContextRelayRetriever extends BaseRetriever {
  lc_namespace: string[] = ['contextrelay', 'retrievers'];
  readonly #relay: ContextRelay;
  readonly #thread: string | undefined;
  readonly #k: number;

  static override lc_name(): string {
    return 'ContextRelayRetriever';
  }

  constructor({ relay, thread, k = 5, ...fields }: ContextRelayRetrieverInput) {
    super(fields);
    this.#relay = relay;
    this.#thread = thread;
    this.#k = k;
  }

  override async _getRelevantDocuments(query: string): Promise<Document[]> {
    if (isPointer(query)) return [await this.#pulled(query.trim())];
    if (!this.#thread) {
      throw badRequest(
        'The query is not a relay URL, and the retriever has no thread to search.',
        'Pass `thread` to ContextRelayRetriever, or use a relay URL as the query.',
      );
    }
    const { artifacts } = this.#relay.threads.open(this.#thread);
    const hits = await artifacts.search(query, { limit: this.#k });
    return Promise.all(
      hits.map(async ({ snippet, ...metadata }) => {
        // The snippet has marks around the matches. So read the original lines for the document.
        const lines = `${metadata.line}-${metadata.line + snippet.split('\n').length - 1}`;
        const { text } = await artifacts.part(metadata.ref, { lines });
        return new Document({ pageContent: text, metadata });
      }),
    );
  }

  async #pulled(url: string): Promise<Document> {
    const { metadata, size, created_at } = await this.#relay.inspect(url);
    const pageContent = await this.#relay.pull(url);
    // Remove the key of an encrypted payload from the URL, because documents end up in stores that must not
    // contain the key.
    const source = url.split('#')[0];
    return new Document({ pageContent, metadata: { ...metadata, source, size, created_at } });
  }
}

function isPointer(query: string): boolean {
  try {
    return parsePointer(query).base !== null;
  } catch {
    return false;
  }
}

export interface ContextRelayByteStoreOptions {
  /** Space of the values; `langchain` by default. */
  readonly space?: string;
  /** Seconds until a value expires; by default it never does. */
  readonly ttl?: number;
}

/**
 * A `ByteStore` that stores bytes under a key as files of a relay. Such a store is used, for example, to
 * cache embeddings.
 */
export class ContextRelayByteStore extends BaseStore<string, Uint8Array> {
  lc_namespace: string[] = ['contextrelay', 'stores'];
  readonly #files: FileSpace;
  readonly #ttl: number | undefined;

  constructor(relay: ContextRelay, { space = 'langchain', ttl }: ContextRelayByteStoreOptions = {}) {
    super({});
    this.#files = relay.files.space(space);
    this.#ttl = ttl;
  }

  override async mget(keys: string[]): Promise<(Uint8Array | undefined)[]> {
    const paths = await Promise.all(keys.map(segment));
    const found = await this.#files.read([...new Set(paths)]);
    return paths.map((path) => found.get(path)?.bytes);
  }

  override async mset(pairs: [string, Uint8Array][]): Promise<void> {
    const o = { contentType: 'application/octet-stream', ttl: this.#ttl, keep: 0 };
    const files = [...new Map(pairs)].map(async ([key, content]) => {
      return { path: await segment(key), content, metadata: { key }, ...o };
    });
    await new FileWriter(this.#files).write(await Promise.all(files));
  }

  override async mdelete(keys: string[]): Promise<void> {
    await this.#files.remove({ paths: await Promise.all(keys.map(segment)) });
  }

  override async *yieldKeys(prefix = ''): AsyncGenerator<string> {
    for await (const { metadata } of this.#files.all())
      if (String(metadata.key).startsWith(prefix)) yield String(metadata.key);
  }
}
