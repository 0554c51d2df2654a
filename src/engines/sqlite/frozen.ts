import type { Departure } from '../../kernel/moving.ts';
import type { Database } from './database.ts';
import { MOVED, MOVING } from './failure.ts';

/** The time of the machine, as SQLite tells it inside a trigger. */
const NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
const LIVE = `OLD.expires IS NULL OR OLD.expires > ${NOW}`;

/**
 * While a store is frozen its own triggers refuse whoever writes, in every process that has it open and whatever version that
 * is. They are made when a store is moved, so that nobody pays for them otherwise. What has expired or was dropped may still be
 * swept, and bodies may change their place.
 */
const REFUSED: readonly { readonly on: string; readonly when: string }[] = [
  { on: 'INSERT ON blobs', when: '1' },
  { on: 'UPDATE OF key, sha256, at, expires ON blobs', when: '1' },
  { on: 'DELETE ON blobs', when: LIVE },
  { on: 'INSERT ON records', when: '1' },
  { on: 'UPDATE ON records', when: '1' },
  { on: 'DELETE ON records', when: LIVE },
  { on: 'INSERT ON streams', when: '1' },
  { on: 'UPDATE ON streams', when: '1' },
  { on: 'DELETE ON streams', when: 'OLD.name IS NOT NULL' },
  { on: 'INSERT ON entries', when: '1' },
  { on: 'DELETE ON entries', when: '(SELECT name FROM streams WHERE id = OLD.stream) IS NOT NULL' },
  { on: 'INSERT ON documents', when: '1' },
  { on: 'DELETE ON documents', when: '1' },
];

/** To be called inside a transaction. `ms`: for how long; null for good. */
export function freezeWrites(db: Database, { to, ms }: { to: string; ms: number | null }): void {
  thawWrites(db);
  db.exec('CREATE TABLE moving (target TEXT NOT NULL, until INTEGER)');
  db.sql(`INSERT INTO moving VALUES (?, ${NOW} + ?)`).run(to, ms);
  const message = `${ms === null ? MOVED : MOVING}${to}`.replaceAll("'", "''");
  const frozen = ms === null ? '1' : `(SELECT until FROM moving) > ${NOW}`;
  for (const [i, { on, when }] of REFUSED.entries())
    db.exec(
      `CREATE TRIGGER moving_${i} BEFORE ${on} WHEN ${frozen} AND (${when})
       BEGIN SELECT RAISE(ABORT, '${message}'); END`,
    );
}

export function thawWrites(db: Database): void {
  for (const i of REFUSED.keys()) db.exec(`DROP TRIGGER IF EXISTS moving_${i}`);
  db.exec('DROP TABLE IF EXISTS moving');
}

/** Null where nothing is in the way of writing. */
export function departureOf(db: Database): Departure | null {
  const there = db.sql("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'moving'").get();
  if (!there) return null;
  const sql = `SELECT target, until - ${NOW} AS ms FROM moving`;
  const { target, ms } = db.sql<{ target: string; ms: number | null }>(sql).get()!;
  return ms !== null && ms <= 0 ? null : { to: target, ms };
}
