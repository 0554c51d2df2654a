import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { isRelayError, RelayError } from '../../base/errors.ts';

type Failure = 'busy' | 'store_full' | 'store_damaged' | 'store_unusable';

/** SQLite's primary result codes that mean something to us. */
const BY_RESULT: { readonly [code: number]: Failure } = {
  5: 'busy', // BUSY: another process has the lock.
  6: 'busy', // LOCKED
  15: 'busy', // PROTOCOL: another process is just opening, closing or recovering.
  8: 'store_unusable', // READONLY
  10: 'store_unusable', // IOERR
  14: 'store_unusable', // CANTOPEN
  11: 'store_damaged', // CORRUPT
  26: 'store_damaged', // NOTADB
  13: 'store_full', // FULL
};
const IOERR = 10;

/** What the file system may say. */
const BY_ERRNO: { readonly [code: string]: Failure } = {
  ENOSPC: 'store_full',
  EDQUOT: 'store_full',
  EFBIG: 'store_full',
  EACCES: 'store_unusable',
  EPERM: 'store_unusable',
  EROFS: 'store_unusable',
  ENOTDIR: 'store_unusable',
  EISDIR: 'store_unusable',
  ELOOP: 'store_unusable',
  ENAMETOOLONG: 'store_unusable',
  EIO: 'store_unusable',
};

/** What the triggers of a store that moves say (`moving.ts`), before the place that it moves to. */
export const MOVING = 'relay: moving to ';
export const MOVED = 'relay: moved to ';

/** A writer who is told to come back does so when the last changes have been copied. */
const MOVING_SECONDS = 5;

/** With less than this left, an I/O error of SQLite's that does not say why is taken to be a full disk. */
const ROOM_BYTES = 1024 * 1024;

/** Another process is in the way: it passes. */
export function isBusy(error: unknown): boolean {
  return BY_RESULT[resultCode(error) ?? 0] === 'busy';
}

export function isFull(error: unknown, path: string): boolean {
  return isRelayError(translateError(error, path), 'store_full');
}

/** SQLite may have rolled the whole transaction back, not just the statement. */
export function endsTransaction(error: unknown): boolean {
  const code = resultCode(error);
  return code !== undefined && code !== 1 && code !== 19;
}

/** What SQLite or the file system said, as a row of the error table where there is one; `path` is the database. */
export function translateError(error: unknown, path: string): unknown {
  if (isRelayError(error) || !(error instanceof Error)) return error;
  const { message } = error;
  if (message.startsWith(MOVED))
    return new RelayError('store_moved', { to: message.slice(MOVED.length) }, error);
  if (message.startsWith(MOVING))
    return new RelayError(
      'store_moving',
      { to: message.slice(MOVING.length), seconds: MOVING_SECONDS },
      error,
    );
  const result = resultCode(error);
  const place = result === undefined ? dirname(path) : path;
  let failure =
    result === undefined ? BY_ERRNO[String((error as NodeJS.ErrnoException).code)] : BY_RESULT[result];
  if (result === IOERR && !hasRoom(path)) failure = 'store_full';
  switch (failure) {
    case 'busy':
      return new RelayError('busy', { what: 'other processes hold it without a pause' }, error);
    case 'store_full':
      return new RelayError('store_full', { what: `the disk under ${place} is full` }, error);
    case 'store_damaged':
      return new RelayError(failure, { what: `${path}: ${error.message}` }, error);
    case 'store_unusable':
      return new RelayError(failure, { path, what: error.message }, error);
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
