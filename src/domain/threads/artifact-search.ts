import type { JsonObject } from '../../base/json.ts';
import { reaches } from '../../contract/authorize.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Artifact, SearchHit, Unsearched } from '../../contract/threads.ts';
import { neutralise } from '../../text/sanitize/neutralise.ts';
import { recordsOf } from '../records.ts';
import { artifactKey, indexScope } from './keys.ts';
import type { ThreadLog } from './thread-log.ts';

/**
 * Number of hits to examine for an API key with a channel prefix. It is large, because most hits may be in
 * threads that the key has no access to.
 */
const PREFIX_KEY_HITS = 200;

/** Default number of hits of a search. */
export const SEARCH_HITS = 20;

/** A part of an artifact that matches a query. */
export interface Passage {
  readonly ref: string;
  readonly thread_id: string;
  readonly name: string;
  readonly type: string;
  readonly score: number;
  /** Text of the passage, as it is in the artifact. */
  readonly text: string;
  readonly line: number;
}

/**
 * Searches one thread, or all threads of the tenant if `id` is null. Returns only hits in threads that the caller may
 * read, best match first.
 */
export async function searchArtifacts(
  log: ThreadLog,
  caller: Caller,
  id: string | null,
  query: string,
  o: { limit?: number } = {},
): Promise<SearchHit[]> {
  const passages = await searchPassages(log, caller, id, query, o.limit ?? SEARCH_HITS);
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

/**
 * Searches one thread that the caller may read. Returns passages without highlight marks and without the
 * artifact's name.
 */
export async function findPassages(
  log: ThreadLog,
  caller: Caller,
  id: string,
  query: string,
  limit: number,
): Promise<Passage[]> {
  const passages = await searchPassages(log, caller, id, query, limit);
  return passages.map((passage) => {
    const text = passage.text.replace(/[\u0002\u0003]/g, '');
    const heading = `${passage.name}\n`;
    return { ...passage, text: text.startsWith(heading) ? text.slice(heading.length) : text };
  });
}

async function searchPassages(
  log: ThreadLog,
  caller: Caller,
  id: string | null,
  query: string,
  limit: number,
): Promise<Passage[]> {
  const isBound = id === null && caller.channelPrefix !== undefined;
  const hits = await log.deps.engine.index.search(indexScope(caller.tenant, id ?? undefined), query, {
    limit: isBound ? Math.max(limit, PREFIX_KEY_HITS) : limit,
  });
  // The index can still contain deleted artifacts, and expired threads until the sweep. Filter out their
  // hits.
  const reached = await Promise.all(hits.map(({ fields }) => isVisible(log, caller, fields)));
  return hits
    .filter((_, i) => reached[i])
    .slice(0, limit)
    .map(({ score, snippet, line, fields }) => ({
      ref: String(fields.ref),
      thread_id: String(fields.thread_id),
      name: String(fields.name),
      type: String(fields.type),
      score,
      text: snippet,
      // Index entries of earlier versions of the relay have no `lines_before`. Their first line is the artifact's
      // name, so subtract 1 from the line number.
      line: Math.max(1, line + Number(fields.lines_before ?? -1)),
    }));
}

async function isVisible(log: ThreadLog, caller: Caller, { thread_id, ref }: JsonObject): Promise<boolean> {
  const found = await log.find(caller.tenant, String(thread_id));
  if (!found || !reaches(caller, { by: found.key })) return false;
  const artifacts = recordsOf<Artifact>(log.deps.engine.records);
  const artifact = await artifacts.get(artifactKey(found.root, String(ref)));
  return artifact?.value.deleted_at === undefined;
}

/** Returns which artifacts a search does not cover completely, or undefined if it covers all. */
export async function findUnsearched(
  log: ThreadLog,
  caller: Caller,
  id: string | null,
): Promise<Unsearched | undefined> {
  const unsearched = await log.index.unsearched(caller.tenant, id);
  if (!unsearched || id !== null) return unsearched;
  const { indexing, artifacts } = unsearched;
  const reached = await Promise.all(
    artifacts.map(({ thread_id, ref }) => isVisible(log, caller, { thread_id, ref })),
  );
  return { indexing, artifacts: artifacts.filter((_, i) => reached[i]) };
}
