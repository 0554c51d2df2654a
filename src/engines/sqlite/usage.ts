import { promises } from 'node:fs';
import type { Env } from '../../base/env.ts';
import type { Usage } from '../../kernel/engine.ts';
import type { Database } from './database.ts';
import { bodyFiles } from './sweep.ts';

/** What has expired and waits for a sweep still takes its room on disk, but is no longer counted. */
export async function usageOf(db: Database, home: string, env: Env): Promise<Usage> {
  const row = await db.patiently(() => {
    const sql = `WITH live AS (SELECT size FROM blobs WHERE expires IS NULL OR expires > ?1) SELECT
      (SELECT count(*) FROM live) AS blobs,
      (SELECT coalesce(sum(size), 0) FROM live) AS bytes,
      (SELECT count(*) FROM records WHERE expires IS NULL OR expires > ?1) AS records,
      (SELECT coalesce(sum(count), 0) FROM streams WHERE name IS NOT NULL) AS entries,
      (SELECT coalesce(sum(size), 0) FROM blobs WHERE file NOT LIKE 'blobs/%') AS placed`;
    return db.sql(sql).get(env.now()) as Record<'blobs' | 'bytes' | 'records' | 'entries' | 'placed', number>;
  });
  let diskBytes = row.placed;
  for (const end of ['', '-wal', '-shm']) diskBytes += await sizeOf(db.path + end);
  for await (const { path } of bodyFiles(home)) diskBytes += await sizeOf(path);
  return {
    blobs: { count: row.blobs, bytes: row.bytes },
    records: row.records,
    entries: row.entries,
    diskBytes,
  };
}

async function sizeOf(path: string): Promise<number> {
  const stat = await promises.stat(path).catch(() => null);
  return stat?.size ?? 0;
}
