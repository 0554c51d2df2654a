import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { isRelayError, RelayError } from '../../base/errors.ts';

/** SQLite's primary result codes that mean something to us. */
const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const PROTOCOL = 15;
const NOTADB = 26;

const OUT_OF_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
const OUT_OF_REACH = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOTDIR',
  'EISDIR',
  'ELOOP',
  'ENAMETOOLONG',
  'EIO',
]);

/** With less than this left, an I/O error of SQLite's that does not say why is taken to be a full disk. */
const ROOM_BYTES = 1024 * 1024;

/** Another process has the lock, is recovering, or is just opening or closing: it passes. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === BUSY || code === LOCKED || code === PROTOCOL;
}

/** SQLite may have rolled the whole transaction back, not just the statement. */
export function endsTransaction(error: unknown): boolean {
  const code = resultCode(error);
  return code !== undefined && code !== 1 && code !== 19;
}

/** What SQLite or the file system said, as a row of the error table where there is one; `path` is the database. */
export function translated(error: unknown, path: string): unknown {
  if (isRelayError(error) || !(error instanceof Error)) return error;
  const said = error.message;
  switch (resultCode(error)) {
    case BUSY:
    case LOCKED:
    case PROTOCOL:
      return new RelayError('busy', { what: 'other processes hold it without a pause' }, error);
    case FULL:
      return new RelayError('store_full', { what: `the disk under ${path} is full` }, error);
    case CORRUPT:
    case NOTADB:
      return new RelayError('store_damaged', { path, what: said }, error);
    case IOERR:
      if (hasRoom(path)) return new RelayError('store_unusable', { path, what: said }, error);
      return new RelayError('store_full', { what: `the disk under ${path} is full` }, error);
    case READONLY:
    case CANTOPEN:
      return new RelayError('store_unusable', { path, what: said }, error);
  }
  const { code } = error as NodeJS.ErrnoException;
  if (code !== undefined && OUT_OF_ROOM.has(code)) {
    return new RelayError('store_full', { what: `the disk under ${dirname(path)} is full` }, error);
  }
  if (code !== undefined && OUT_OF_REACH.has(code)) {
    return new RelayError('store_unusable', { path, what: said }, error);
  }
  return error;
}

function resultCode(error: unknown): number | undefined {
  const extended = (error as { errcode?: unknown } | null)?.errcode;
  return typeof extended === 'number' ? extended & 0xff : undefined;
}

function hasRoom(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize >= ROOM_BYTES;
  } catch {
    return true;
  }
}
