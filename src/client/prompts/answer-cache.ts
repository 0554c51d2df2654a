import { isRelayError } from '../../base/errors.ts';
import { readText } from '../../base/utf8.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import type { ThreadsApi } from '../../contract/threads.ts';

/** Answers kept for an identical question, across threads. */
export interface AnswerCache {
  get(key: string): Promise<CachedAnswer | null>;
  put(key: string, answer: CachedAnswer, ttlMs: number): Promise<void>;
}

export interface CachedAnswer {
  readonly thread_id: string;
  readonly ref: string;
}

/** The answer under the first of the keys that has one; null where there is none, or it is gone by now. */
export async function keptAnswer(
  cache: AnswerCache,
  threads: ThreadsApi,
  ...keys: readonly string[]
): Promise<{ readonly artifact: Artifact; readonly text: string } | null> {
  let found: CachedAnswer | null = null;
  for (const key of keys) found ??= await cache.get(key);
  if (!found) return null;
  try {
    const { artifact, body } = await threads.content(found.thread_id, found.ref, { counted: false });
    return { artifact, text: await readText(body) };
  } catch (error) {
    if (isRelayError(error, 'not_found')) return null;
    throw error;
  }
}
