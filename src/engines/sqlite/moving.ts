import { keyRange } from '../../kernel/admission.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import { damagedBody } from '../../kernel/block-hashes.ts';
import type {
  Departure,
  KeptBlob,
  KeptDocument,
  KeptEntry,
  KeptLog,
  KeptRecord,
  Moving,
} from '../../kernel/moving.ts';
import { unsegmented } from '../full-text.ts';
import type { SqliteBlobs } from './blobs.ts';
import { departureOf, freezeWrites, thawWrites } from './frozen.ts';
import type { Store } from './store.ts';

/** Older versions kept a clock of the store in this record. No store that is copied gets it. */
const FORMER_CLOCK = 'sys/clock';

/** Rows that are read at once, between which others run. */
const PAGE_ROWS = 500;
/** Rows that hold a text or a value, likewise. */
const PAGE_DOCUMENTS = 50;

export class SqliteMoving implements Moving {
  readonly #store: Store;
  readonly #blobs: SqliteBlobs;

  constructor(store: Store, blobs: SqliteBlobs) {
    this.#store = store;
    this.#blobs = blobs;
  }

  async *exportBlobs(prefix = ''): AsyncGenerator<KeptBlob> {
    const sql = (where: string) => `SELECT key, size, sha256, at, expires FROM blobs WHERE ${where}
      AND (expires IS NULL OR expires > ?) ORDER BY key LIMIT ${PAGE_ROWS}`;
    const { db, env } = this.#store;
    for (let after: string | undefined; ; ) {
      const { where, from, to } = keyRange(prefix, after);
      const rows = await db.patiently(() => db.sql<KeptBlob & Expires>(sql(where)).all(from, to, env.now()));
      for (const { expires, ...blob } of rows) yield { ...blob, ...expiry(expires) };
      if (rows.length < PAGE_ROWS) return;
      after = rows.at(-1)!.key;
    }
  }

  async *exportRecords(): AsyncGenerator<KeptRecord> {
    const sql = `SELECT key, revision, value, expires FROM records WHERE key > ?
      AND (expires IS NULL OR expires > ?) AND key <> '${FORMER_CLOCK}' ORDER BY key LIMIT ${PAGE_ROWS}`;
    type Row = Expires & { key: string; revision: number; value: string };
    for await (const { key, revision, value, expires } of this.#pages<Row>(sql, PAGE_ROWS))
      yield { key, revision, value: JSON.parse(value), ...expiry(expires) };
  }

  async *exportLogs(): AsyncGenerator<KeptLog> {
    const sql = `SELECT name AS key, name AS stream, last, count, trimmed FROM streams
      WHERE name > ? AND ? > 0 ORDER BY name LIMIT ${PAGE_ROWS}`;
    for await (const { key: _, ...log } of this.#pages<KeptLog & { key: string }>(sql, PAGE_ROWS)) yield log;
  }

  exportLog(stream: string): Promise<KeptLog | null> {
    const { db } = this.#store;
    const sql = 'SELECT name AS stream, last, count, trimmed FROM streams WHERE name = ?';
    return db.patiently(() => db.sql<KeptLog>(sql).get(stream) ?? null);
  }

  async *exportEntries(stream: string, after: number): AsyncGenerator<KeptEntry> {
    const sql = `SELECT e.seq, e.at, e.id, e.data FROM streams s JOIN entries e ON e.stream = s.id
      WHERE s.name = ? AND e.seq > ? ORDER BY e.seq LIMIT ${PAGE_ROWS}`;
    type Row = { seq: number; at: number; id: string | null; data: string };
    const { db } = this.#store;
    for (let from = after; ; ) {
      const rows = await db.patiently(() => db.sql<Row>(sql).all(stream, from));
      for (const { seq, at, id, data } of rows)
        yield { seq, at, data: JSON.parse(data), ...(id === null ? {} : { id }) };
      if (rows.length < PAGE_ROWS) return;
      from = rows.at(-1)!.seq;
    }
  }

  async *exportDocuments(): AsyncGenerator<KeptDocument> {
    const sql = `SELECT key, text, fields FROM documents WHERE key > ? AND ? > 0
      ORDER BY key LIMIT ${PAGE_DOCUMENTS}`;
    type Row = { key: string; text: string; fields: string };
    for await (const { key, text, fields } of this.#pages<Row>(sql, PAGE_DOCUMENTS))
      yield { key, text: unsegmented(text), fields: JSON.parse(fields) };
  }

  highest(): Promise<number> {
    const { db } = this.#store;
    return db.patiently(() => db.sql<{ value: number }>('SELECT value FROM counter').get()!.value);
  }

  async prepare(above: number): Promise<void> {
    await this.#store.queue.run((tx) => tx.pass(above));
  }

  async importBlob(kept: KeptBlob, body: BlobBody): Promise<void> {
    const { key, size, sha256, at, expiresAt } = kept;
    const stored = await this.#blobs.put(key, body, { size, expiresAt });
    if (stored.sha256 !== sha256) {
      await this.#blobs.delete(key);
      throw damagedBody(`the body ${key}`, 'altered');
    }
    const sql = 'UPDATE blobs SET at = ? WHERE key = ? AND sha256 = ?';
    await this.#store.queue.run(() => this.#store.db.sql(sql).run(at, key, sha256));
  }

  async importRecord({ key, value, revision, expiresAt }: KeptRecord): Promise<void> {
    const json = JSON.stringify(value);
    const sql = `INSERT INTO records (key, revision, expires, value) VALUES (?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, expires = excluded.expires, value = excluded.value`;
    await this.#store.queue.run((tx) => {
      tx.pass(revision);
      this.#store.db.sql(sql).run(key, revision, expiresAt ?? null, json);
    }, json.length);
  }

  async importEntries(
    { stream, trimmed }: Pick<KeptLog, 'stream' | 'trimmed'>,
    entries: readonly KeptEntry[],
  ): Promise<void> {
    const { db, queue } = this.#store;
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
      tx.pass(end);
      db.sql('UPDATE streams SET last = ?, count = count + ?, trimmed = max(trimmed, ?) WHERE id = ?').run(
        ...[end, added.length, trimmed, owner],
      );
      tx.touch(stream);
    }, bytes);
  }

  freeze(o: { to: string; ms: number }): Promise<void> {
    return this.#store.queue.free(() => freezeWrites(this.#store.db, o));
  }

  leave({ to }: { to: string }): Promise<boolean> {
    return this.#store.queue.free(() => {
      const { db } = this.#store;
      const frozen = departureOf(db)?.to === to;
      if (frozen) freezeWrites(db, { to, ms: null });
      return frozen;
    });
  }

  thaw(): Promise<void> {
    return this.#store.queue.free(() => thawWrites(this.#store.db));
  }

  departure(): Promise<Departure | null> {
    return this.#store.db.patiently(() => departureOf(this.#store.db));
  }

  /** By key; the statement takes the last key and the time. */
  async *#pages<Row extends { key: string }>(sql: string, size: number): AsyncGenerator<Row> {
    const { db, env } = this.#store;
    for (let after = ''; ; ) {
      const rows = await db.patiently(() => db.sql<Row>(sql).all(after, env.now()));
      for (const row of rows) yield { ...row };
      if (rows.length < size) return;
      after = rows.at(-1)!.key;
    }
  }
}

interface Expires {
  readonly expires: number | null;
}

function expiry(expires: number | null): { expiresAt?: number } {
  return expires === null ? {} : { expiresAt: expires };
}
