import type { Processor } from '@mastra/core/processors';
import { MastraCompositeStore } from '@mastra/core/storage';
import { createTool, type Tool } from '@mastra/core/tools';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { type LargeResultOptions, LargeResults } from '../large-results.ts';
import { swapResults } from '../prompt-results.ts';
import { type RelayToolOptions, relayTools } from '../relay-tools.ts';
import { relayMemory } from './memory.ts';

/** Entry point `contextrelay/mastra`. Every export here is public API. */
export type { LargeResultOptions } from '../large-results.ts';
export type { RelayToolOptions } from '../relay-tools.ts';

/** Tools of an agent, by the names that the model calls. */
export interface ContextRelayTools {
  [name: string]: Tool<unknown, unknown>;
  push_context: Tool<unknown, unknown>;
  peek_context: Tool<unknown, unknown>;
  pull_context: Tool<unknown, unknown>;
}

export function contextRelayTools(relay: ContextRelay, options: RelayToolOptions = {}): ContextRelayTools {
  const tools = relayTools(relay, options).map(({ name, description, schema, run }) => [
    name,
    createTool({
      id: name,
      description,
      inputSchema: schema,
      execute: (input: unknown, context) => run(input, { signal: context?.abortSignal }),
    }),
  ]);
  return Object.fromEntries(tools);
}

type LargeResultProcessor = Processor<'contextrelay-large-results'> &
  Required<Pick<Processor, 'processLLMRequest'>>;

/**
 * Processor for `inputProcessors` of an agent. Replaces large tool results with pointers. The memory keeps the full
 * results. Give the agent the tool `pull_context` of `contextRelayTools`, so that it can read what it needs.
 */
export function largeResultProcessor(
  relay: ContextRelay,
  options: LargeResultOptions = {},
): LargeResultProcessor {
  const results = new LargeResults(relay, options);
  return {
    id: 'contextrelay-large-results',
    async processLLMRequest({ prompt, abortSignal }) {
      return { prompt: await swapResults(prompt, results, abortSignal) };
    },
  };
}

export interface ContextRelayStorageOptions {
  /** Space of the conversation files; `mastra` by default. */
  readonly space?: string;
  /** Store for everything else: workflows, traces, scores. Without it, Mastra does not store them. */
  readonly default?: MastraCompositeStore;
}

/** Storage for a `Mastra` or `Memory` object: keeps threads, messages and working memory as files of a relay. */
export class ContextRelayStorage extends MastraCompositeStore {
  constructor(relay: ContextRelay, options: ContextRelayStorageOptions = {}) {
    super({
      id: 'contextrelay',
      name: 'ContextRelayStorage',
      default: options.default,
      domains: { memory: relayMemory(relay.files.space(options.space ?? 'mastra')) },
    });
  }
}
