import { RelayError } from '../base/errors.ts';
import { GET_RUNTIME } from '../base/installing.ts';

/** The oldest whose SQLite has full-text search. 23 is no longer looked after. */
export const SQLITE_SINCE = [22, 16] as const;

export function hasSqlite(version: string = process.versions.node): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [since, sinceMinor] = SQLITE_SINCE;
  return major >= 24 || (major === since && minor >= sinceMinor);
}

/**
 * Loads `node:sqlite` when it is first needed. The published command also runs on Node 20, which lacks it, for everything that asks a
 * server: there this throws `node_too_old`. The warning that it is experimental, which some versions of Node print, is suppressed.
 */
export function loadSqlite(): typeof import('node:sqlite') {
  if (!hasSqlite())
    throw new RelayError('node_too_old', {
      since: SQLITE_SINCE.join('.'),
      version: process.version,
      how: GET_RUNTIME,
    });
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return process.getBuiltinModule('node:sqlite');
  } finally {
    process.emitWarning = emitWarning;
  }
}
