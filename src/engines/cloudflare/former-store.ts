import type { DurableObjectId, R2Bucket, SqlStorage } from '@cloudflare/workers-types';
import type { JsonObject } from '../../base/json.ts';
import type { Blobs } from '../../kernel/blobs.ts';
import { damagedBodyError } from '../../kernel/block-hashes.ts';
import type { SearchIndex } from '../../kernel/search-index.ts';
import { joinLetters } from '../full-text.ts';
import type { RowStore, Transaction } from '../sqlite/commit-queue.ts';
import { WRITE_RECORD } from '../sqlite/records.ts';

/**
 * Tables of the store of earlier versions, in which a tenant's data was spread over many Durable Objects. They are
 * moved in this order.
 */
export const FORMER_TABLES = ['bodies', 'records', 'streams', 'entries', 'documents'] as const;
export type FormerTable = (typeof FORMER_TABLES)[number];

type Value = string | number | ArrayBuffer | null;
/** A row, with the tenant that owns it if its key does not name one. */
export type FormerRow = { readonly [column: string]: Value } & { readonly tenant: string | null };

/** Position after which the next page begins. */
export interface FormerPosition {
  readonly key: string;
  readonly seq: number;
}

/** A page of rows. `next` is null at the end of the table. */
export interface FormerPage {
  readonly rows: FormerRow[];
  readonly next: FormerPosition | null;
}

/** Namespace of the objects of earlier versions. */
export interface FormerObjects {
  idFromName(name: string): DurableObjectId;
  get(id: DurableObjectId): {
    listObjects(after: string, limit: number): Promise<string[]>;
    rows(table: FormerTable, after?: FormerPosition): Promise<FormerPage>;
  };
}

const START: FormerPosition = { key: '', seq: 0 };

const SELECT: { readonly [table in FormerTable]: string } = {
  bodies: 'SELECT * FROM bodies WHERE key > ? AND ? >= 0 AND (expires IS NULL OR expires > ?) ORDER BY key',
  records: 'SELECT * FROM records WHERE key > ? AND ? >= 0 AND (expires IS NULL OR expires > ?) ORDER BY key',
  streams: 'SELECT name AS key, trimmed FROM streams WHERE name > ? AND ? >= 0 AND ? > 0 ORDER BY name',
  entries: `SELECT stream AS key, seq, at, id, data FROM entries WHERE (stream, seq) > (?, ?) AND ? > 0
    ORDER BY stream, seq`,
  documents: 'SELECT key, fields, text FROM documents WHERE key > ? AND ? >= 0 AND ? > 0 ORDER BY key',
};

/** Maximum number of rows and of characters or bytes of one page. */
const PAGE_ROWS = 100;
const PAGE_SIZE = 4 * 1024 * 1024;

/** Reads a page of a table. */
export function readFormerRows(
  sql: SqlStorage,
  table: FormerTable,
  after: FormerPosition = START,
  now: number,
): FormerPage {
  const rows: FormerRow[] = [];
  let size = 0;
  for (const row of sql.exec<Record<string, Value>>(SELECT[table], after.key, after.seq, now)) {
    if (rows.length === PAGE_ROWS || size > PAGE_SIZE) {
      const { key, seq = 0 } = rows.at(-1)!;
      return { rows, next: { key: String(key), seq: Number(seq) } };
    }
    rows.push({ ...row, tenant: ownerOf(sql, table, row) });
    for (const value of Object.values(row))
      size += typeof value === 'string' ? value.length : value instanceof ArrayBuffer ? value.byteLength : 8;
  }
  return { rows, next: null };
}

/** Returns the tenant of a row whose key names none: the tenant in its value, or in the meta record of its item. */
function ownerOf(sql: SqlStorage, table: FormerTable, row: Record<string, Value>): string | null {
  const key = String(row.key);
  const item = /^(?:(?:ptr|rcp)\.([^/]+)|(thr\.[^/]+))/.exec(key);
  const [meta] = item
    ? sql
        .exec<{ value: string }>(
          'SELECT value FROM records WHERE key = ?',
          `${item[2] ?? `ptr.${item[1]}`}/meta`,
        )
        .toArray()
    : table === 'records'
      ? [{ value: String(row.value) }]
      : [];
  const value = meta && (JSON.parse(meta.value) as { tenant?: string; caller?: { tenant: string } } | null);
  return value?.tenant ?? value?.caller?.tenant ?? null;
}

/** Stores of the object into which rows are moved. */
interface Target {
  readonly store: RowStore;
  readonly blobs: Blobs;
  readonly index: SearchIndex;
  readonly bucket: R2Bucket;
}

/** Writes rows of an earlier version. Rows that exist already stay as they are, so a move can be repeated. */
export async function writeFormerRows(
  { store, blobs, index, bucket }: Target,
  table: FormerTable,
  rows: readonly FormerRow[],
): Promise<void> {
  const { db, queue } = store;
  const has = (key: string) => db.sql('SELECT 1 FROM records WHERE key = ?').get(key) !== undefined;
  for (const row of rows) {
    const key = String(row.key);
    switch (table) {
      case 'records':
        await queue.run((tx) => {
          if (has(key)) return;
          db.sql(WRITE_RECORD).run(
            key,
            Number(row.revision),
            row.expires as number | null,
            String(row.value),
          );
          tx.skipTo(Number(row.revision));
        });
        break;
      case 'streams':
      case 'entries':
        await queue.run((tx) => writeEntry(store, key, row, tx));
        break;
      case 'bodies':
        await moveBody(blobs, bucket, key, row);
        break;
      case 'documents':
        await index.put(key, joinLetters(String(row.text)), JSON.parse(String(row.fields)) as JsonObject);
    }
  }
}

/** Appends an entry, or creates its stream with the position up to which it was trimmed. */
function writeEntry({ db }: RowStore, name: string, row: FormerRow, tx: Transaction): void {
  const find = () => db.sql<{ id: number }>('SELECT id FROM streams WHERE name = ?').get(name)?.id;
  const insert = 'INSERT INTO streams (id, name, trimmed) VALUES (?, ?, ?)';
  if (find() === undefined) db.sql(insert).run(tx.next(), name, Number(row.trimmed ?? 0));
  if (row.seq === undefined) return;
  const [seq, at, data] = [Number(row.seq), Number(row.at), String(row.data)];
  const sql = 'INSERT OR IGNORE INTO entries (stream, seq, at, id, data) VALUES (?, ?, ?, ?, ?)';
  db.sql(sql).run(find()!, seq, at, row.id as string | null, data);
  tx.skipTo(seq);
}

/** Stores a body. The bytes of a large body are copied within the bucket; then the former object is deleted. */
async function moveBody(blobs: Blobs, bucket: R2Bucket, key: string, row: FormerRow): Promise<void> {
  if ((await blobs.list(key, { limit: 1 })).items[0]?.key === key) return;
  const expiresAt = row.expires === null ? undefined : Number(row.expires);
  const name = row.name === null ? null : String(row.name);
  const object = name === null ? null : await bucket.get(name);
  if (name !== null && object === null) return;
  const body =
    (object?.body as ReadableStream<Uint8Array> | undefined) ?? new Uint8Array(row.bytes as ArrayBuffer);
  const { sha256 } = await blobs.put(key, body, { size: Number(row.size), expiresAt });
  if (sha256 !== row.sha256) {
    await blobs.delete(key);
    throw damagedBodyError(`the body of ${key}`, 'altered');
  }
  if (name !== null) await bucket.delete(name);
}
