import type { Env } from '../../base/env.ts';
import type { Json } from '../../base/json.ts';
import type { AnswerCache, CachedAnswer } from '../../client/prompts/types.ts';
import type { Engine } from '../../kernel/engine.ts';

/** Answers by what was asked, in records that expire by themselves. */
export function answerCache(engine: Engine, tenant: string, env: Env): AnswerCache {
  const key = (digest: string) => `ten.${tenant}/answers/${digest}`;
  return {
    get: async (digest) => {
      const found = await engine.records.get(key(digest));
      return (found?.value ?? null) as unknown as CachedAnswer | null;
    },
    put: async (digest, answer, ttlMs) => {
      await engine.records.put(key(digest), answer as unknown as Json, { expiresAt: env.now() + ttlMs });
    },
  };
}
