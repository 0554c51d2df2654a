import { closeSync, openSync, readSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { shellWord } from '../../base/format.ts';
import { APPLICATION_ID } from '../../engines/sqlite/schema.ts';

/** Offset in bytes of the application id in an SQLite file. */
const OWNER_AT = 68;

/**
 * Returns whether a home belongs to the earlier relay in Go: its relay.db does not have our application id.
 */
export function isLegacyHome(home: string): boolean {
  try {
    const file = openSync(join(home, 'relay.db'), 'r');
    try {
      const head = Buffer.alloc(OWNER_AT + 4);
      // An empty file may be a new database of ours, so it does not show a Go relay.
      if (readSync(file, head, 0, head.length, 0) === 0) return false;
      return head.readUInt32BE(OWNER_AT) !== APPLICATION_ID;
    } finally {
      closeSync(file);
    }
  } catch {
    return false;
  }
}

/** Explains how to import the threads of a Go relay into a new home. */
export function legacyHint(home: string): string {
  const elsewhere = join(homedir(), '.contextrelay');
  const to = elsewhere === home ? `${home}-new` : elsewhere;
  return `Import its threads into a new home: relay import --legacy ${shellWord(home)} --home ${shellWord(to)}. Then set RELAY_HOME=${shellWord(to)}.`;
}
