import type { BlobItem, BlobPage } from '../../kernel/blobs.ts';
import { checkLimit, checkPrefix, keyRange } from '../../kernel/validate-input.ts';
import type { RowStore } from './commit-queue.ts';

/** Lists blobs in key order. All stores with the table `blobs` use it. */
export async function listBlobs(
  { db, env }: Pick<RowStore, 'db' | 'env'>,
  prefix: string,
  o: { after?: string; limit?: number } = {},
): Promise<BlobPage> {
  checkPrefix('the prefix of a listing', prefix);
  const limit = checkLimit(o.limit);
  const { where, from, to } = keyRange(prefix, o.after);
  const sql = `SELECT key, size, at FROM blobs WHERE ${where}
    AND (expires IS NULL OR expires > ?) ORDER BY key LIMIT ?`;
  const rows = await db.retryWhileBusy(() => db.sql<BlobItem>(sql).all(from, to, env.now(), limit + 1));
  const items = rows.slice(0, limit).map((row) => ({ ...row }));
  return rows.length > limit ? { items, next: items.at(-1)!.key } : { items };
}
