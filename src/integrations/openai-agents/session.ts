import type { AgentInputItem, Session } from '@openai/agents';
import { systemEnv } from '../../base/env.ts';
import { uuid } from '../../base/ids.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { EntryLog } from '../entry-log.ts';
import { segment } from '../file-names.ts';
import { KeptPointers } from '../kept-pointers.ts';
import { type LargeResultOptions, LargeResults } from '../large-results.ts';
import { swapItems } from './input-filter.ts';

export interface ContextRelaySessionOptions {
  /** The conversation to go on with; a new one by default. */
  readonly sessionId?: string;
  /** The space of files that sessions are in; `openai-agents` by default. */
  readonly space?: string;
  /** Seconds that what is said stays; until it is deleted by default. */
  readonly ttl?: number;
  /** Keeps results of tools that are too large as pointers, which live as long as the session; whole by default. */
  readonly largeResults?: LargeResultOptions;
}

/** The history of a conversation as files of a relay: any process that reaches it goes on with it. */
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
