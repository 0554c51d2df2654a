import type { BlobBody } from '../../kernel/blobs.ts';
import { damagedBodyError } from '../../kernel/block-hashes.ts';
import type {
  ExportedBlob,
  ExportedDocument,
  ExportedEntry,
  ExportedLog,
  ExportedRecord,
  MoveStatus,
  Moving,
} from '../../kernel/moving.ts';
import { keyRange } from '../../kernel/validate-input.ts';
import { joinLetters } from '../full-text.ts';
import type { SqliteBlobs } from './blobs.ts';
import type { Store } from './commit-queue.ts';
import type { Database } from './database.ts';
import { WRITE_RECORD } from './records.ts';
import { MOVED, MOVING } from './translate-error.ts';

/** Record in which older versions of the relay stored a clock. It is not exported. */
const FORMER_CLOCK = 'sys/clock';

/** Number of rows that are read at once. Other work can run between two pages. */
const PAGE_ROWS = 500;
/** Number of documents that are read at once. It is small, because documents contain long texts. */
const PAGE_DOCUMENTS = 50;

/** Implements the export and import of a SQLite store. */
export function sqliteMoving({ db, queue, env }: Store, blobs: SqliteBlobs): Moving {
  /** Reads rows in pages, in key order. The parameters of the statement are the last key and the current time. */
  const pages = async function* <Row extends { key: string }>(
    sql: string,
    size: number,
  ): AsyncGenerator<Row> {
    for (let after = ''; ; ) {
      const rows = await db.retryWhileBusy(() => db.sql<Row>(sql).all(after, env.now()));
      for (const row of rows) yield { ...row };
      if (rows.length < size) return;
      after = rows.at(-1)!.key;
    }
  };
  return {
    async *exportBlobs(prefix = ''): AsyncGenerator<ExportedBlob> {
      const sql = (where: string) => `SELECT key, size, sha256, at, expires FROM blobs WHERE ${where}
        AND (expires IS NULL OR expires > ?) ORDER BY key LIMIT ${PAGE_ROWS}`;
      for (let after: string | undefined; ; ) {
        const { where, from, to } = keyRange(prefix, after);
        const rows = await db.retryWhileBusy(() =>
          db.sql<ExportedBlob & Expires>(sql(where)).all(from, to, env.now()),
        );
        for (const { expires, ...blob } of rows) yield { ...blob, ...expiry(expires) };
        if (rows.length < PAGE_ROWS) return;
        after = rows.at(-1)!.key;
      }
    },

    async *exportRecords(): AsyncGenerator<ExportedRecord> {
      const sql = `SELECT key, revision, value, expires FROM records WHERE key > ?
        AND (expires IS NULL OR expires > ?) AND key <> '${FORMER_CLOCK}' ORDER BY key LIMIT ${PAGE_ROWS}`;
      type Row = Expires & { key: string; revision: number; value: string };
      for await (const { key, revision, value, expires } of pages<Row>(sql, PAGE_ROWS))
        yield { key, revision, value: JSON.parse(value), ...expiry(expires) };
    },

    async *exportLogs(): AsyncGenerator<ExportedLog> {
      const sql = `SELECT name AS key, name AS stream, last, count, trimmed FROM streams
        WHERE name > ? AND ? > 0 ORDER BY name LIMIT ${PAGE_ROWS}`;
      for await (const { key: _, ...log } of pages<ExportedLog & { key: string }>(sql, PAGE_ROWS)) yield log;
    },

    exportLog(stream: string): Promise<ExportedLog | null> {
      const sql = 'SELECT name AS stream, last, count, trimmed FROM streams WHERE name = ?';
      return db.retryWhileBusy(() => db.sql<ExportedLog>(sql).get(stream) ?? null);
    },

    async *exportEntries(stream: string, after: number): AsyncGenerator<ExportedEntry> {
      const sql = `SELECT e.seq, e.at, e.id, e.data FROM streams s JOIN entries e ON e.stream = s.id
        WHERE s.name = ? AND e.seq > ? ORDER BY e.seq LIMIT ${PAGE_ROWS}`;
      type Row = { seq: number; at: number; id: string | null; data: string };
      for (let from = after; ; ) {
        const rows = await db.retryWhileBusy(() => db.sql<Row>(sql).all(stream, from));
        for (const { seq, at, id, data } of rows)
          yield { seq, at, data: JSON.parse(data), ...(id === null ? {} : { id }) };
        if (rows.length < PAGE_ROWS) return;
        from = rows.at(-1)!.seq;
      }
    },

    async *exportDocuments(): AsyncGenerator<ExportedDocument> {
      const sql = `SELECT key, text, fields FROM documents WHERE key > ? AND ? > 0
        ORDER BY key LIMIT ${PAGE_DOCUMENTS}`;
      type Row = { key: string; text: string; fields: string };
      for await (const { key, text, fields } of pages<Row>(sql, PAGE_DOCUMENTS))
        yield { key, text: joinLetters(text), fields: JSON.parse(fields) };
    },

    highestNumber(): Promise<number> {
      return db.retryWhileBusy(() => db.sql<{ value: number }>('SELECT value FROM counter').get()!.value);
    },

    async prepare(above: number): Promise<void> {
      await queue.run((tx) => tx.skipTo(above));
    },

    async importBlob(blob: ExportedBlob, body: BlobBody): Promise<void> {
      const { key, size, sha256, at, expiresAt } = blob;
      const stored = await blobs.put(key, body, { size, expiresAt });
      if (stored.sha256 !== sha256) {
        await blobs.delete(key);
        throw damagedBodyError(`the body ${key}`, 'altered');
      }
      const sql = 'UPDATE blobs SET at = ? WHERE key = ? AND sha256 = ?';
      await queue.run(() => db.sql(sql).run(at, key, sha256));
    },

    async importRecord({ key, value, revision, expiresAt }: ExportedRecord): Promise<void> {
      const json = JSON.stringify(value);
      await queue.run((tx) => {
        tx.skipTo(revision);
        db.sql(WRITE_RECORD).run(key, revision, expiresAt ?? null, json);
      }, json.length);
    },

    async importEntries(
      { stream, trimmed }: Pick<ExportedLog, 'stream' | 'trimmed'>,
      entries: readonly ExportedEntry[],
    ): Promise<void> {
      const rows = entries.map(({ data, ...entry }) => ({ ...entry, json: JSON.stringify(data) }));
      const bytes = rows.reduce((sum, { json }) => sum + json.length, 0);
      await queue.run((tx) => {
        const find = 'SELECT id, last FROM streams WHERE name = ?';
        let found = db.sql<{ id: number; last: number }>(find).get(stream);
        if (!found) {
          if (rows.length === 0) return;
          found = { id: tx.next(), last: 0 };
          const sql = 'INSERT INTO streams (id, name, first, last, count, trimmed) VALUES (?, ?, ?, 0, 0, 0)';
          db.sql(sql).run(found.id, stream, rows[0]!.seq);
        }
        const { id: owner, last } = found;
        const added = rows.filter(({ seq }) => seq > last);
        const insert = db.sql('INSERT INTO entries (stream, seq, at, id, data) VALUES (?, ?, ?, ?, ?)');
        for (const { seq, at, id, json } of added) insert.run(owner, seq, at, id ?? null, json);
        const end = added.at(-1)?.seq ?? last;
        tx.skipTo(end);
        db.sql('UPDATE streams SET last = ?, count = count + ?, trimmed = max(trimmed, ?) WHERE id = ?').run(
          ...[end, added.length, trimmed, owner],
        );
        tx.touch(stream);
      }, bytes);
    },

    freeze(o: { to: string; ms: number }): Promise<void> {
      return queue.free(() => freezeWrites(db, o));
    },

    leave({ to }: { to: string }): Promise<boolean> {
      return queue.free(() => {
        const frozen = readMoveStatus(db)?.to === to;
        if (frozen) freezeWrites(db, { to, ms: null });
        return frozen;
      });
    },

    thaw(): Promise<void> {
      return queue.free(() => thawWrites(db));
    },

    moveStatus(): Promise<MoveStatus | null> {
      return db.retryWhileBusy(() => readMoveStatus(db));
    },
  };
}

interface Expires {
  readonly expires: number | null;
}

function expiry(expires: number | null): { expiresAt?: number } {
  return expires === null ? {} : { expiresAt: expires };
}

/** SQL expression for the current time in ms, for use inside a trigger. */
const NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
const LIVE = `OLD.expires IS NULL OR OLD.expires > ${NOW}`;

/**
 * Writes that triggers block while a store is frozen. The triggers work in every process that has the store open,
 * whatever its version, and exist only during and after a move. Sweeps and moves of bodies between segments stay
 * allowed.
 */
const BLOCKED_WRITES: readonly { readonly on: string; readonly when: string }[] = [
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

/**
 * Blocks writes for `ms` milliseconds. If `ms` is null, blocks them forever. Must run inside a transaction.
 */
function freezeWrites(db: Database, { to, ms }: { to: string; ms: number | null }): void {
  thawWrites(db);
  db.exec('CREATE TABLE moving (target TEXT NOT NULL, until INTEGER)');
  db.sql(`INSERT INTO moving VALUES (?, ${NOW} + ?)`).run(to, ms);
  const message = `${ms === null ? MOVED : MOVING}${to}`.replaceAll("'", "''");
  const frozen = ms === null ? '1' : `(SELECT until FROM moving) > ${NOW}`;
  for (const [i, { on, when }] of BLOCKED_WRITES.entries())
    db.exec(
      `CREATE TRIGGER moving_${i} BEFORE ${on} WHEN ${frozen} AND (${when})
       BEGIN SELECT RAISE(ABORT, '${message}'); END`,
    );
}

function thawWrites(db: Database): void {
  for (const i of BLOCKED_WRITES.keys()) db.exec(`DROP TRIGGER IF EXISTS moving_${i}`);
  db.exec('DROP TABLE IF EXISTS moving');
}

/** Returns the current or finished move. Returns null if writes are allowed. */
function readMoveStatus(db: Database): MoveStatus | null {
  const isMoving = db.sql("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'moving'").get();
  if (!isMoving) return null;
  const sql = `SELECT target, until - ${NOW} AS ms FROM moving`;
  const { target, ms } = db.sql<{ target: string; ms: number | null }>(sql).get()!;
  return ms !== null && ms <= 0 ? null : { to: target, ms };
}
