import { RelayError } from '../base/errors.ts';
import { GET_RUNTIME } from '../base/installing.ts';

/** Oldest Node version whose SQLite has full-text search. Node 23 is not supported. */
export const SQLITE_SINCE = [22, 16] as const;

/** Returns whether this Node version has a SQLite that the relay can use. */
export function hasSqlite(version: string = process.versions.node): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [since, sinceMinor] = SQLITE_SINCE;
  return major >= 24 || (major === since && minor >= sinceMinor);
}

/**
 * Loads `node:sqlite` on first use, without its warning that SQLite is experimental. Throws `node_too_old` on Node
 * 20, where the published CLI runs only commands that use a server.
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
