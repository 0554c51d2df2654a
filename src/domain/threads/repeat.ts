import { RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { checkIdempotencyKey } from '../../base/ids.ts';
import type { Head, KeyUse } from './fold.ts';

/** A request that may come again under the same key and must then be done only once. */
export interface Repeatable {
  /** What is written into the event. */
  readonly mark: { readonly key: string; readonly request: string };
  /** What the first one did; throws where the key was used for something else. */
  seen(head: Head): KeyUse | undefined;
}

/** Null without a key. `request` digests all that must be alike for it to be the same request. */
export async function repeatable(
  kind: string,
  key: string | undefined,
  request: () => Promise<string>,
): Promise<Repeatable | null> {
  if (checkIdempotencyKey(key) === undefined) return null;
  const mark = {
    key: (await sha256Hex(`${kind}\n${key}`)).slice(0, 32),
    request: (await request()).slice(0, 32),
  };
  return {
    mark,
    seen(head) {
      const use = head.keys.get(mark.key);
      if (use && use.request !== mark.request) throw new RelayError('idempotency_conflict');
      return use;
    },
  };
}
