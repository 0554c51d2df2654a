import { sha256Hex } from '../../base/hash.ts';
import { checkIdempotencyKey } from '../../base/ids.ts';
import { PULL_RETRY_WINDOW_MS } from '../../base/limits.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import type { Ground } from '../ground.ts';
import { keptUntil, type Loaded, notFound, pullsKey, retryKey } from './record.ts';

/** Counts a pull against `max_pulls`, at the first byte and not before; a repeated key is free for a while. */
export async function countPull(
  { engine, env }: Ground,
  { id, record }: Loaded,
  rawKey: string | undefined,
  body?: BlobBody,
): Promise<void> {
  if (record.max_pulls === null) return;
  const key = checkIdempotencyKey(rawKey);
  if (key) {
    const expiresAt = Math.min(keptUntil(record), env.now() + PULL_RETRY_WINDOW_MS);
    const seen = retryKey(id, await sha256Hex(key));
    if ((await engine.records.put(seen, 1, { expect: 'absent', expiresAt })) === null) return;
  }
  const max = record.max_pulls;
  if ((await engine.records.add(pullsKey(id), 1, { max, expiresAt: keptUntil(record) })) !== null) return;
  if (body && !(body instanceof Uint8Array)) await body.cancel().catch(() => {});
  throw notFound();
}
