import { isRelayError, RelayError } from '../../base/errors.ts';

type Failure = 'busy' | 'store_full' | 'store_damaged' | 'store_unusable';

/** SQLite's primary result codes that need special handling. */
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

/** Error codes of the file system. */
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

/**
 * Start of the error message of a trigger that blocks writes during a move (`moving.ts`). The name of the target
 * store follows.
 */
export const MOVING = 'relay: moving to ';
/** Start of the error message of a trigger that blocks writes after a move. The name of the target store follows. */
export const MOVED = 'relay: moved to ';

/** Seconds after which a rejected writer should retry. By then the last changes are usually copied. */
const MOVING_SECONDS = 5;

/** Free bytes on the disk below which an unspecific I/O error of SQLite is reported as a full disk. */
const ROOM_BYTES = 1024 * 1024;

/** Returns whether another process has the lock, so that a retry helps. */
export function isBusy(error: unknown): boolean {
  return BY_RESULT[resultCode(error) ?? 0] === 'busy';
}

/** Returns whether the error means that the disk is full. */
export function isFull(error: unknown, path: string): boolean {
  return isRelayError(translateError(error, path), 'store_full');
}

/** Returns whether SQLite may have rolled back the whole transaction and not only the statement. */
export function endsTransaction(error: unknown): boolean {
  const code = resultCode(error);
  return code !== undefined && code !== 1 && code !== 19;
}

/**
 * Converts an error of SQLite or the file system to a RelayError if `error-rows.ts` has a row for it. Returns any
 * other error unchanged. `path` is the database file.
 */
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
  const place = result === undefined ? folderOf(path) : path;
  let failure =
    result === undefined ? BY_ERRNO[String((error as NodeJS.ErrnoException).code)] : BY_RESULT[result];
  if (result === IOERR && !hasRoom(path)) failure = 'store_full';
  switch (failure) {
    case 'busy':
      return new RelayError('busy', { what: 'other processes keep it locked' }, error);
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
    // Imported only here, because the file also runs in a Worker, which has no file system.
    const { bavail, bsize } = process.getBuiltinModule('node:fs').statfsSync(folderOf(path));
    return bavail * bsize >= ROOM_BYTES;
  } catch {
    return true;
  }
}

function folderOf(path: string): string {
  return process.getBuiltinModule('node:path').dirname(path);
}

/** Returns the error for a store that is used after it was closed. */
export function closedError(): RelayError {
  return new RelayError('store_unavailable', {
    what: 'It was closed.',
    hint: 'The program is stopping or has stopped. Start it and try again.',
  });
}
