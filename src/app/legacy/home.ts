import { closeSync, openSync, readSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { shellWord } from '../../base/format.ts';
import { APPLICATION_ID } from '../../engines/sqlite/schema.ts';

/** Where an SQLite file says whose it is. */
const OWNER_AT = 68;

/** Whether a home was another relay's before: it has a database, and that is none of ours. */
export function isLegacyHome(home: string): boolean {
  try {
    const file = openSync(join(home, 'relay.db'), 'r');
    try {
      const head = Buffer.alloc(OWNER_AT + 4);
      // A database of ours that was only just made may be empty still.
      if (readSync(file, head, 0, head.length, 0) === 0) return false;
      return head.readUInt32BE(OWNER_AT) !== APPLICATION_ID;
    } finally {
      closeSync(file);
    }
  } catch {
    return false;
  }
}

/** How its threads are taken over, into a home of its own. */
export function legacyHint(home: string): string {
  const elsewhere = join(homedir(), '.contextrelay');
  const to = elsewhere === home ? `${home}-new` : elsewhere;
  return `Take its threads over into a home of their own: relay import --legacy ${shellWord(home)} --home ${shellWord(to)}, and set RELAY_HOME=${shellWord(to)} from then on.`;
}
