import { INDEX_TEXT_CHARS } from '../../base/limits.ts';
import { reaches } from '../../contract/authorize.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Artifact, SearchHit } from '../../contract/threads/artifacts.ts';
import { neutralise } from '../../text/sanitize/neutralise.ts';
import { indexKey, indexScope } from './keys.ts';
import type { ThreadLog } from './thread-log.ts';

/** A stretch of an artifact that has to do with what was asked. */
export interface Passage {
  readonly ref: string;
  readonly thread_id: string;
  readonly name: string;
  readonly type: string;
  readonly score: number;
  /** As it stands there. */
  readonly text: string;
  readonly line: number;
}

/** Ranked full-text search over all threads of the tenant, or over one that the caller has made sure to be the tenant's. */
export async function searchArtifacts(
  log: ThreadLog,
  caller: Caller,
  id: string | null,
  query: string,
  o: { limit?: number } = {},
): Promise<SearchHit[]> {
  const passages = await marked(log, caller, id, query, o.limit ?? 20);
  return passages.map(({ ref, thread_id, name, type, score, text, line }) => ({
    ref,
    thread_id,
    name: neutralise(name),
    type,
    score,
    snippet: neutralise(text.replace(/[\u0002\u0003]/g, '**')),
    line,
  }));
}

/** The same of one thread without marks and without the name, for whoever has made sure that the thread is the caller's. */
export async function findPassages(
  log: ThreadLog,
  caller: Caller,
  id: string,
  query: string,
  limit: number,
): Promise<Passage[]> {
  const passages = await marked(log, caller, id, query, limit);
  return passages.map((passage) => {
    const text = passage.text.replace(/[\u0002\u0003]/g, '');
    const heading = `${passage.name}\n`;
    return { ...passage, text: text.startsWith(heading) ? text.slice(heading.length) : text };
  });
}

async function marked(
  log: ThreadLog,
  caller: Caller,
  id: string | null,
  query: string,
  limit: number,
): Promise<Passage[]> {
  const hits = await log.deps.engine.index.search(indexScope(caller.tenant, id ?? undefined), query, {
    limit,
  });
  // A thread that has expired is still in the index until it is tidied up.
  const there = await Promise.all(
    hits.map(({ fields }) => log.find(caller.tenant, String(fields.thread_id))),
  );
  const reached = there.map((thread) => thread !== null && reaches(caller, { by: thread.key }));
  return hits
    .filter((_, i) => reached[i])
    .map(({ score, snippet, line, fields }) => ({
      ref: String(fields.ref),
      thread_id: String(fields.thread_id),
      name: String(fields.name),
      type: String(fields.type),
      score,
      text: snippet,
      // The name stands above the content in the index.
      line: Math.max(1, line - 1),
    }));
}

/** The name of an artifact stands above its content. */
export async function indexArtifact(
  log: ThreadLog,
  tenant: string,
  artifact: Artifact,
  text: string,
): Promise<void> {
  const { ref, thread_id, name, type } = artifact;
  const key = indexKey(tenant, thread_id, ref);
  const fields = { ref, thread_id, name, type };
  const begin = text.slice(0, INDEX_TEXT_CHARS - name.length - 1);
  await log.deps.engine.index.put(key, `${name}\n${begin}`, fields);
}
