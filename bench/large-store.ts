import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { loadConfig } from '../src/app/config.ts';
import { openCore } from '../src/app/store/open-core.ts';
import { LOCAL_CALLER } from '../src/contract/caller.ts';
import { benchFolder } from './servers.ts';

/**
 * Creates a store with this many pointers and returns its home. Pushes one pointer and copies its database rows with
 * other ids.
 */
export async function storeOf(pointers: number): Promise<string> {
  const home = benchFolder();
  const opened = await openCore(loadConfig({ RELAY_HOME: home }), 'cli');
  const relay = opened.core.relay(LOCAL_CALLER, 'http://relay.invalid');
  const body = new TextEncoder().encode('All happy relays are alike.');
  const { id } = await relay.pointers.push({ body, metadata: { summary: 'a report on forty files' } });
  await opened[Symbol.asyncDispose]();
  const db = new DatabaseSync(join(home, 'relay.db'));
  db.exec('PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF');
  for (const table of ['blobs', 'records']) copyRows(db, table, id, pointers - 1);
  db.exec('PRAGMA journal_mode = WAL');
  db.close();
  return home;
}

/** Copies rows. The ids are evenly distributed like random ids, but inserted in ascending order, which is faster. */
function copyRows(db: DatabaseSync, table: string, id: string, copies: number): void {
  const columns = db
    .prepare('SELECT name FROM pragma_table_info(?)')
    .all(table)
    .map(({ name }) => String(name))
    .filter((name) => name !== 'id');
  const copied = columns.map((name) =>
    name === 'key' || name === 'value' ? `replace(${name}, ?1, new_id)` : name,
  );
  db.prepare(`
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2),
      ids (new_id) AS (SELECT printf('%08x-0000-4000-8000-%012x', n * (0xffffffff / (?2 + 1)), n) FROM numbers)
    INSERT INTO ${table} (${columns}) SELECT ${copied} FROM ids CROSS JOIN ${table} WHERE instr(key, ?1) > 0
  `).run(id, copies);
}
