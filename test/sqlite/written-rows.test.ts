import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { mock, test } from 'node:test';
import { openMemory } from '../../src/engines/memory/engine.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { ROWS, rowsWritten } from '../written-rows.ts';
import { temporaryHome } from './home.ts';

const MODES = ['open', 'keys'] as const;

function assertFew(rows: { push: number; pull: number }): void {
  assert.ok(rows.push > 0 && rows.push <= ROWS.push, JSON.stringify(rows));
  assert.ok(rows.pull > 0 && rows.pull <= ROWS.pull, JSON.stringify(rows));
}

for (const auth of MODES)
  test(`a push and a pull write few rows in SQLite (${auth})`, async (t) => {
    const databases: DatabaseSync[] = [];
    const prepare = DatabaseSync.prototype.prepare;
    const noting = mock.method(DatabaseSync.prototype, 'prepare', function (this: DatabaseSync, sql: string) {
      if (!databases.includes(this)) databases.push(this);
      return prepare.call(this, sql);
    });
    const engine = await openSqlite({ home: temporaryHome(t) });
    t.after(() => engine[Symbol.asyncDispose]());
    const changes = (db: DatabaseSync) =>
      Number((prepare.call(db, 'SELECT total_changes() AS n').get() as { n: number }).n);
    const rows = await rowsWritten(engine, auth, () =>
      databases.filter((db) => db.isOpen).reduce((sum, db) => sum + changes(db), 0),
    );
    noting.mock.restore();
    t.diagnostic(JSON.stringify(rows));
    assertFew(rows);
  });

for (const auth of MODES)
  test(`a push and a pull make few writes of an engine (${auth})`, async (t) => {
    let writes = 0;
    const counting = <T extends object>(port: T, ...names: (keyof T)[]): T =>
      new Proxy(port, {
        get(target, name) {
          const value = target[name as keyof T] as (...args: unknown[]) => unknown;
          return (...args: unknown[]) => {
            if (names.includes(name as keyof T)) writes++;
            if (name === 'put' && (args[2] as { append?: object } | undefined)?.append) writes++;
            return value.apply(target, args);
          };
        },
      });
    const memory = openMemory();
    const engine: Engine = {
      ...memory,
      blobs: counting(memory.blobs, 'put', 'stage'),
      records: counting(memory.records, 'put', 'stage', 'add', 'delete'),
      logs: counting(memory.logs, 'append'),
    };
    const rows = await rowsWritten(engine, auth, () => writes);
    t.diagnostic(JSON.stringify(rows));
    assertFew(rows);
  });
