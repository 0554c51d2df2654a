/** Marks the file as ours: "RELY", at the place in the header that SQLite keeps for it. */
export const APPLICATION_ID = 0x52454c59;

/** Of a store that is made now. A push changes about ten pages, wherever its keys fall, and each is written whole, twice. */
export const PAGE_BYTES = 4096;

/**
 * What makes format N of format N-1, in order; the format is `user_version`. A step that was ever released is
 * never changed again: a new one is added behind it.
 *
 * `expires` is null where nothing expires. A body is in `body`, or in the file `file`, relative to the home: all of that
 * file, or from `offset` on where it is a segment, which holds many. `blocks` has the hashes of its blocks
 * (`src/kernel/block-hashes.ts`), null for one that format 1 stored and that no sweep has read yet.
 * `gone` lists what is no longer referred to and is still to be made unreadable: a place in a segment, or, without a
 * file, what the WAL may still show. Its ids are never given twice.
 * `first`, `last` and `count` describe the entries of a stream; `trimmed` is the largest sequence trimmed away. A
 * dropped stream has lost its name and waits for a sweep to take its entries.
 * `scope` holds a word for every folder that the key of a document lies in.
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
];

export const FORMAT = STEPS.length;
