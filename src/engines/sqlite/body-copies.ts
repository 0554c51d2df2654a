import { hash } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { BlobInfo } from '../../kernel/blobs.ts';
import { type StoredBody, wholeBody } from './body-check.ts';
import { type WrittenBody, writeBody } from './body-files.ts';
import { BodyFile } from './body-stream.ts';
import type { Database } from './database.ts';
import { readSpot, type Segments } from './segments.ts';
import { makeFolder } from './syncing.ts';

/** A body that is in a file, as its row has it. */
export interface BodyRow extends BlobInfo {
  readonly id: number;
  readonly key: string;
  readonly file: string;
  readonly offset: number | null;
  readonly expires: number | null;
  readonly blocks: Uint8Array | null;
}

/** Copied at once: what goes into a segment then shares a wait for the disk. */
const AT_ONCE = 32;

export type CopiedBody = WrittenBody & Pick<BodyRow, 'file' | 'offset'>;

/**
 * Copies a body from one home to another, makes it last, and gives what it really holds and where it is; null where it is
 * missing, or its place in a segment has something else.
 */
export async function copyBody(
  row: BodyRow,
  from: string,
  to: string,
  segments: Segments,
): Promise<CopiedBody | null> {
  const { file, offset, size, sha256, blocks, expires } = row;
  if (offset !== null) {
    const body = readSpot(from, { file, offset }, size);
    if (!body || hash('sha256', body) !== sha256) return null;
    return { size, sha256, blocks: blocks!, ...(await segments.append([body], expires)) };
  }
  using source = BodyFile.open(join(from, file));
  if (!source) return null;
  makeFolder(dirname(join(to, file)), true);
  const stream = await source.stream({ start: 0, end: source.size });
  if (!stream) return null;
  const written = await writeBody(join(to, file), stream, { syncsFile: true, syncsName: true });
  return { ...written, file, offset };
}

export function setBody(
  copy: Database,
  { id }: BodyRow,
  { size, sha256, blocks, file, offset }: CopiedBody,
): void {
  const sql = 'UPDATE blobs SET size = ?, sha256 = ?, blocks = ?, file = ?, offset = ? WHERE id = ?';
  copy.sql(sql).run(size, sha256, blocks, file, offset, id);
}

export const BODY_COLUMNS = 'id, key, file, offset, size, sha256, blocks, expires';

/** The rows whose body is in a file. */
export function bodyRows(db: Database): BodyRow[] {
  return db.sql<BodyRow>(`SELECT ${BODY_COLUMNS} FROM blobs WHERE file IS NOT NULL ORDER BY id`).all();
}

export async function inGroups<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += AT_ONCE) await Promise.all(all.slice(at, at + AT_ONCE).map(work));
}

/** The keys of bodies inside the database that are not what was stored; they are taken out of this copy of it. */
export function dropDamagedRows(copy: Database): string[] {
  const next = `SELECT id, key, size, sha256, file, offset, blocks, body FROM blobs
    WHERE file IS NULL AND id > ? ORDER BY id LIMIT 1`;
  const dropped: string[] = [];
  for (let after = 0; ; ) {
    const row = copy.sql<StoredBody & { id: number; key: string }>(next).get(after);
    if (!row) return dropped;
    after = row.id;
    if (wholeBody({ home: '' }, row)) continue;
    copy.sql('DELETE FROM blobs WHERE id = ?').run(row.id);
    dropped.push(row.key);
  }
}
