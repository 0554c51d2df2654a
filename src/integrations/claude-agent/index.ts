import {
  createSdkMcpServer,
  type HookCallback,
  type HookCallbackMatcher,
  type McpSdkServerConfigWithInstance,
  type SessionKey,
  type SessionStore,
  type SessionStoreEntry,
  tool,
} from '@anthropic-ai/claude-agent-sdk';
import * as z from 'zod';
import type { JsonObject } from '../../base/json.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import type { FileSpace } from '../../sdk/files.ts';
import { EntryLog } from '../entry-log.ts';
import { segment } from '../file-names.ts';
import { KeptPointers } from '../kept-pointers.ts';
import { type LargeResultOptions, LargeResults } from '../large-results.ts';
import { swapTexts } from '../prompt-results.ts';
import { type RelayToolOptions, type RelayToolSchema, relayTools } from '../relay-tools.ts';

/** Entry point `contextrelay/claude-agent`. Every export here is public API. */
export type { LargeResultOptions } from '../large-results.ts';
export type { RelayToolOptions } from '../relay-tools.ts';

/**
 * Creates a server for `mcpServers` that runs in this process and has the tools `push_context`,
 * `peek_context` and `pull_context`. If it is registered as `contextrelay`, allow its tools under names such
 * as `mcp__contextrelay__push_context`.
 */
export function contextRelayServer(
  relay: ContextRelay,
  options: RelayToolOptions = {},
): McpSdkServerConfigWithInstance {
  const tools = relayTools(relay, options).map(({ name, description, schema, run }) =>
    tool(name, description, shapeOf(schema), async (input, extra) => {
      const { signal } = (extra ?? {}) as { signal?: AbortSignal };
      return { content: [{ type: 'text', text: await run(input, { signal }) }] };
    }),
  );
  return createSdkMcpServer({ name: 'contextrelay', tools });
}

/** Returns the schema as zod fields, because the framework accepts only zod. */
function shapeOf({ properties, required }: RelayToolSchema): z.ZodRawShape {
  const fields = Object.entries(properties).map(([name, { type, description }]) => {
    const field = (type === 'boolean' ? z.boolean() : z.string()).describe(description);
    return [name, required.includes(name) ? field : field.optional()];
  });
  return Object.fromEntries(fields);
}

/**
 * Hooks for a query. They replace large tool results with pointers. Give the model the tools of `contextRelayServer`,
 * so that it can read what it needs.
 */
export function largeResultHooks(
  relay: ContextRelay,
  options: LargeResultOptions = {},
): { PostToolUse: HookCallbackMatcher[] } {
  const results = new LargeResults(relay, options);
  const swap: HookCallback = async (input, _id, { signal }) => {
    if (input.hook_event_name !== 'PostToolUse') return {};
    const before = input.tool_response;
    const updatedToolOutput = await swapTexts(before, (text) =>
      results.replaceText(text, input.tool_name, { signal }),
    );
    if (updatedToolOutput === before) return {};
    return { hookSpecificOutput: { hookEventName: 'PostToolUse', updatedToolOutput } };
  };
  return { PostToolUse: [{ hooks: [swap] }] };
}

export interface ContextRelaySessionStoreOptions {
  /** Space of the transcript files; `claude-sessions` by default. */
  readonly space?: string;
  /** Seconds until a transcript expires; by default it never does. */
  readonly ttl?: number;
}

/**
 * Stores transcripts as files of a relay. A query with this store as `sessionStore` can `resume` a session on any
 * machine that can reach the relay. The files are `<project>/<session>/main/…` and
 * `<project>/<session>/sub/<subpath>/…`.
 */
export class ContextRelaySessionStore implements SessionStore {
  readonly #files: FileSpace;
  readonly #ttl: number | undefined;
  readonly #pointers: KeptPointers;

  constructor(relay: ContextRelay, { space = 'claude-sessions', ttl }: ContextRelaySessionStoreOptions = {}) {
    this.#files = relay.files.space(space);
    this.#ttl = ttl;
    this.#pointers = new KeptPointers(relay, ttl);
  }

  async append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    await (await this.#log(key)).append(entries);
  }

  /**
   * Returns the entries of a transcript. A retried append may have stored entries twice; such duplicates are
   * left out.
   */
  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const entries = await (await this.#log(key)).read();
    const seen = new Set<string>();
    return entries?.filter(({ uuid }) => uuid === undefined || (!seen.has(uuid) && seen.add(uuid))) ?? null;
  }

  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    const prefix = `${await segment(projectKey)}/`;
    const latest = new Map<string, number>();
    for await (const { metadata, modified_at } of this.#files.all({ prefix })) {
      if (metadata.subpath !== undefined) continue;
      const id = String(metadata.session);
      latest.set(id, Math.max(latest.get(id) ?? 0, Date.parse(modified_at)));
    }
    return [...latest].map(([sessionId, mtime]) => ({ sessionId, mtime }));
  }

  /** Deletes one transcript if the key has a subpath, otherwise the whole session. */
  async delete(key: SessionKey): Promise<void> {
    if (key.subpath) await (await this.#log(key)).clear();
    else await this.#files.remove({ prefix: await sessionFolder(key) });
  }

  async listSubkeys(key: Pick<SessionKey, 'projectKey' | 'sessionId'>): Promise<string[]> {
    const prefix = `${await sessionFolder(key)}sub/`;
    const found = new Set<string>();
    for await (const { metadata } of this.#files.all({ prefix })) found.add(String(metadata.subpath));
    return [...found];
  }

  async #log(key: SessionKey): Promise<EntryLog<SessionStoreEntry>> {
    const { sessionId: session, subpath } = key;
    const part = subpath ? `sub/${await segment(subpath)}/` : 'main/';
    const metadata: JsonObject = subpath ? { session, subpath } : { session };
    const options = { ttl: this.#ttl, metadata, pointers: this.#pointers };
    return new EntryLog(this.#files, (await sessionFolder(key)) + part, options);
  }
}

async function sessionFolder(key: Pick<SessionKey, 'projectKey' | 'sessionId'>): Promise<string> {
  return `${await segment(key.projectKey)}/${await segment(key.sessionId)}/`;
}
