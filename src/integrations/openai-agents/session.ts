import type { AgentInputItem, Session } from '@openai/agents';
import { systemEnv } from '../../base/env.ts';
import { uuid } from '../../base/ids.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { EntryLog } from '../entry-log.ts';
import { segment } from '../file-names.ts';

export interface ContextRelaySessionOptions {
  /** The conversation to go on with; a new one by default. */
  readonly sessionId?: string;
  /** The space of files that sessions are in; `openai-agents` by default. */
  readonly space?: string;
  /** Seconds that what is said stays; until it is deleted by default. */
  readonly ttl?: number;
}

/** The history of a conversation as files of a relay: any process that reaches it goes on with it. */
export class ContextRelaySession implements Session {
  readonly #id: string;
  readonly #log: Promise<EntryLog<AgentInputItem>>;

  constructor(relay: ContextRelay, options: ContextRelaySessionOptions = {}) {
    const { sessionId = uuid(systemEnv), space = 'openai-agents', ttl } = options;
    this.#id = sessionId;
    this.#log = segment(sessionId).then((name) => new EntryLog(relay.files.space(space), `${name}/`, { ttl }));
  }

  async getSessionId(): Promise<string> {
    return this.#id;
  }

  async getItems(limit?: number): Promise<AgentInputItem[]> {
    if (limit !== undefined && limit <= 0) return [];
    return (await (await this.#log).read(limit)) ?? [];
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    await (await this.#log).append(items);
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    return (await this.#log).pop();
  }

  async clearSession(): Promise<void> {
    await (await this.#log).clear();
  }
}
