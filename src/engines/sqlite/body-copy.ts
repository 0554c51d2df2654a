import { closeSync, fdatasync, openSync, rmSync, write } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { BlobInfo } from '../../kernel/blobs.ts';
import { BodyFile } from './body-stream.ts';
import type { Database } from './database.ts';
import { FolderSync } from './folder-sync.ts';

export interface BodyRow {
  readonly id: number;
  readonly key: string;
  readonly file: string;
  readonly size: number;
  readonly sha256: string;
}

const dataSync = promisify(fdatasync);
const writePiece = promisify(write);

/** Copies a file piece by piece, makes it last, and gives what it really holds; null where there is none. */
export async function copyBody(from: string, to: string): Promise<BlobInfo | null> {
  const source = BodyFile.open(from);
  if (!source) return null;
  const folders = new FolderSync(true);
  folders.ensure(dirname(to));
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256');
  const fd = openSync(to, 'wx', 0o600);
  let size = 0;
  try {
    for await (const piece of source.stream(0, source.size)) {
      hash.update(piece);
      for (let at = 0; at < piece.length; ) {
        at += (await writePiece(fd, piece, at, piece.length - at)).bytesWritten;
      }
      size += piece.length;
    }
    await dataSync(fd);
  } catch (error) {
    rmSync(to, { force: true });
    throw error;
  } finally {
    source.close();
    closeSync(fd);
  }
  await folders.sync(dirname(to));
  return { size, sha256: hash.digest('hex') };
}

/** The rows whose body is a file, a page at a time, so that they may be changed meanwhile. */
export function* bodyRows(db: Database): Generator<BodyRow> {
  const sql =
    'SELECT id, key, file, size, sha256 FROM blobs WHERE id > ? AND file IS NOT NULL ORDER BY id LIMIT 100';
  for (let after = -1; ; ) {
    const rows = db.sql(sql).all(after) as unknown as BodyRow[];
    if (rows.length === 0) return;
    yield* rows;
    after = rows.at(-1)!.id;
  }
}
