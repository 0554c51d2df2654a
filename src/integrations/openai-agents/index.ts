import {
  type AgentInputItem,
  type CallModelInputFilter,
  type FunctionTool,
  type Session,
  tool,
} from '@openai/agents';
import { systemEnv } from '../../base/env.ts';
import { uuid } from '../../base/ids.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { EntryLog } from '../entry-log.ts';
import { segment } from '../file-names.ts';
import { KeptPointers } from '../kept-pointers.ts';
import { type LargeResultOptions, LargeResults } from '../large-results.ts';
import { type RelayToolOptions, relayTools } from '../relay-tools.ts';

/** Entry point `contextrelay/openai-agents`. Every export here is public API. */
export type { LargeResultOptions } from '../large-results.ts';
export type { RelayToolOptions } from '../relay-tools.ts';

/** Returns `push_context`, `peek_context` and `pull_context`, for `new Agent({ tools })`. */
export function contextRelayTools(
  relay: ContextRelay,
  options: RelayToolOptions = {},
  // biome-ignore lint/suspicious/noExplicitAny: they go with an agent of any context
): FunctionTool<any, any, string>[] {
  return relayTools(relay, options).map(({ name, description, schema, run }) =>
    tool({
      name,
      description,
      // With `strict: true`, the model would have to send every argument, even optional ones.
      strict: false,
      parameters: { ...schema, additionalProperties: true },
      execute: (input: unknown, _context, details) => run(input, { signal: details?.signal }),
    }),
  );
}

type ResultItem = Extract<AgentInputItem, { type: 'function_call_result' }>;

/**
 * Filter for `callModelInputFilter` of a runner or a run. Replaces large tool results with pointers. Give the agent
 * `pull_context` of `contextRelayTools`, so that it can read what it needs.
 */
export function largeResultFilter(
  relay: ContextRelay,
  options: LargeResultOptions = {},
): CallModelInputFilter {
  const results = new LargeResults(relay, options);
  return async ({ modelData }) => ({ ...modelData, input: await swapItems(modelData.input, results) });
}

function swapItems(items: readonly AgentInputItem[], results: LargeResults): Promise<AgentInputItem[]> {
  return Promise.all(
    items.map(async (item): Promise<AgentInputItem> => {
      if (item.type !== 'function_call_result') return item;
      return { ...item, output: await swapped(item, results) };
    }),
  );
}

/** Replaces large texts in a tool result. Images and files stay. */
async function swapped({ name, output }: ResultItem, results: LargeResults): Promise<ResultItem['output']> {
  if (typeof output === 'string') return results.replaceText(output, name);
  if (Array.isArray(output)) return [...(await results.replaceBlocks(output, name))];
  return output.type === 'text' ? { ...output, text: await results.replaceText(output.text, name) } : output;
}

export interface ContextRelaySessionOptions {
  /** Conversation to continue; a new one by default. */
  readonly sessionId?: string;
  /** Space of the sessions; `openai-agents` by default. */
  readonly space?: string;
  /** Seconds until entries expire; by default they never do. */
  readonly ttl?: number;
  /**
   * If this is set, tool results that are too large are stored as pointers, which live as long as the
   * session. By default they are stored in full, in the session.
   */
  readonly largeResults?: LargeResultOptions;
}

/**
 * Stores the history of a conversation as files of a relay. Any process that can reach the relay can continue the
 * conversation.
 */
export class ContextRelaySession implements Session {
  readonly #id: string;
  readonly #log: Promise<EntryLog<AgentInputItem>>;
  readonly #results: LargeResults | null;

  constructor(relay: ContextRelay, options: ContextRelaySessionOptions = {}) {
    const { sessionId = uuid(systemEnv), space = 'openai-agents', ttl, largeResults } = options;
    this.#id = sessionId;
    this.#results = largeResults ? new LargeResults(relay, largeResults) : null;
    const pointers = new KeptPointers(relay, ttl);
    this.#log = segment(sessionId).then(
      (name) => new EntryLog(relay.files.space(space), `${name}/`, { ttl, pointers }),
    );
  }

  async getSessionId(): Promise<string> {
    return this.#id;
  }

  async getItems(limit?: number): Promise<AgentInputItem[]> {
    if (limit !== undefined && limit <= 0) return [];
    return (await (await this.#log).read(limit)) ?? [];
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    await (await this.#log).append(this.#results ? await swapItems(items, this.#results) : items);
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    return (await this.#log).pop();
  }

  async clearSession(): Promise<void> {
    await (await this.#log).clear();
  }
}
