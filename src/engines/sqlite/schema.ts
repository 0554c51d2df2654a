/** SQLite application id that marks the file as a relay store: "RELY". */
export const APPLICATION_ID = 0x52454c59;

/**
 * Page size of new stores, in bytes. A push changes about ten pages at random positions. Each page is written as a
 * whole, to the WAL and to the database, so small pages mean fewer bytes.
 */
export const PAGE_BYTES = 4096;

/**
 * Migration steps in order: step N creates format N from format N-1. The format number is `user_version`. A released
 * step never changes. A new format adds a step at the end.
 *
 * - `blobs`: the bytes are in `body`, or in the file `file` (relative to the home). If the file is a segment, which
 * contains many bodies, `offset` is the position in it; otherwise `offset` is null. `blocks` contains the block
 * checksums (`src/kernel/block-hashes.ts`), or is null for a body of format 1 that no sweep has hashed yet.
 * - `expires` is null if the row never expires.
 * - `records`: new rows are appended. This fills the pages and writes half as many bytes as a table in key order.
 * `records_key` is descending, because in lists the newest entry comes first: SQLite leaves pages half empty if each
 * key sorts before the previous key.
 * - `gone`: the queue of deleted bodies that must be wiped (`secure-delete.ts`). A row is a range in a segment.
 * Without a file, it stands for bytes that the WAL may still contain. Ids are never reused.
 * - `streams`: `first`, `last` and `count` describe the entries. `trimmed` is the largest trimmed sequence number. A
 * dropped stream has no name; a sweep deletes its entries.
 * - `documents`: `scope` has one word for each folder in the key.
 */
export const STEPS: readonly string[] = [
  `
  CREATE TABLE counter (one INTEGER PRIMARY KEY CHECK (one = 1), value INTEGER NOT NULL);
  INSERT INTO counter VALUES (1, 0);

  CREATE TABLE blobs (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    at INTEGER NOT NULL,
    expires INTEGER,
    file TEXT,
    body BLOB
  );
  CREATE INDEX blobs_expires ON blobs (expires) WHERE expires IS NOT NULL;
  CREATE INDEX blobs_file ON blobs (file) WHERE file IS NOT NULL;

  CREATE TABLE records (
    key TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    expires INTEGER,
    value TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX records_expires ON records (expires) WHERE expires IS NOT NULL;

  CREATE TABLE streams (
    id INTEGER PRIMARY KEY,
    name TEXT UNIQUE,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    count INTEGER NOT NULL,
    trimmed INTEGER NOT NULL
  );
  CREATE TABLE entries (
    stream INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    id TEXT,
    data TEXT NOT NULL,
    PRIMARY KEY (stream, seq)
  ) WITHOUT ROWID;
  CREATE UNIQUE INDEX entries_id ON entries (stream, id) WHERE id IS NOT NULL;

  CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    fields TEXT NOT NULL,
    text TEXT NOT NULL
  );
  CREATE VIRTUAL TABLE words USING fts5 (
    scope, text,
    content = 'documents', content_rowid = 'id',
    tokenize = 'unicode61 remove_diacritics 2', prefix = '1'
  );
  `,
  `
  ALTER TABLE blobs ADD COLUMN offset INTEGER;
  ALTER TABLE blobs ADD COLUMN blocks BLOB;
  CREATE INDEX blobs_without_blocks ON blobs (id) WHERE blocks IS NULL;
  CREATE TABLE gone (id INTEGER PRIMARY KEY AUTOINCREMENT, file TEXT, offset INTEGER, size INTEGER);
  `,
  `
  ALTER TABLE records RENAME TO old_records;
  CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    revision INTEGER NOT NULL,
    expires INTEGER,
    value TEXT NOT NULL
  );
  INSERT INTO records (key, revision, expires, value) SELECT key, revision, expires, value FROM old_records;
  DROP TABLE old_records;
  CREATE UNIQUE INDEX records_key ON records (key DESC);
  CREATE INDEX records_expires ON records (expires) WHERE expires IS NOT NULL;
  `,
];

/** Current format of the store. */
export const FORMAT = STEPS.length;
