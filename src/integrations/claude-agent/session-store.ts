import type { SessionKey, SessionStore, SessionStoreEntry } from '@anthropic-ai/claude-agent-sdk';
import type { JsonObject } from '../../base/json.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import type { FileSpace } from '../../sdk/files.ts';
import { EntryLog } from '../entry-log.ts';
import { segment } from '../file-names.ts';
import { KeptPointers } from '../kept-pointers.ts';

export interface ContextRelaySessionStoreOptions {
  /** The space of files that transcripts are in; `claude-sessions` by default. */
  readonly space?: string;
  /** Seconds that a transcript stays after it was written; until it is deleted by default. */
  readonly ttl?: number;
}

/**
 * Transcripts as files of a relay, for `sessionStore` of a query: `resume` goes on with a session on any machine that reaches it.
 * The files are `<project>/<session>/main/…` and `<project>/<session>/sub/<subpath>/…`.
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

  /** What was appended twice, as a retry does, is there once. */
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

  /** One transcript where the key names a subpath, else the whole session. */
  async delete(key: SessionKey): Promise<void> {
    if (key.subpath) await (await this.#log(key)).clear();
    else await this.#files.remove({ prefix: await sessionFolder(key) });
  }

  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
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

async function sessionFolder({
  projectKey,
  sessionId,
}: {
  projectKey: string;
  sessionId: string;
}): Promise<string> {
  return `${await segment(projectKey)}/${await segment(sessionId)}/`;
}
