import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { Database } from '../../engines/sqlite/database.ts';

/** The database of a Go relay: what its REST answered from. Only there are all names, media types and versions. */
export interface LegacyDatabase extends Disposable {
  readonly threads: ReadonlyMap<string, ThreadRow>;
  /** Results of capabilities that it could have answered again. */
  readonly cached: number;
  /** Every version of a state there is, in rising order. */
  states(thread: string): Iterable<StateRow>;
  /** Oldest first. */
  events(thread: string): EventRow[];
  /** Oldest first. */
  artifacts(thread: string): ArtifactRow[];
}

export interface ThreadRow {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
  readonly hop_count: number;
}

export interface StateRow {
  readonly version: number;
  readonly data: JsonObject | null;
}

export interface EventRow {
  readonly id: string;
  readonly type: string;
  /** JSON. */
  readonly payload: string;
  readonly timestamp: string;
}

export interface ArtifactRow {
  readonly ref: string;
  readonly type: string;
  readonly mime: string;
  readonly name: string;
  readonly hash: string;
  /** JSON. */
  readonly provenance: string;
  readonly created_at: string;
  /** Where its file was; the folder may have been moved since. */
  readonly path: string;
}

/**
 * Opens relay.db for reading, all of it as it is at this moment, though a Go relay may be writing to it. Null, with the
 * reason told, where it is missing or none of a Go relay's.
 */
export function openLegacyDatabase(home: string, tell: (why: string) => void): LegacyDatabase | null {
  const path = join(home, 'relay.db');
  if (!existsSync(path)) {
    tell('it has no relay.db');
    return null;
  }
  let db: Database | undefined;
  try {
    // Without a WAL nobody has it open, and it is looked at without leaving anything beside it.
    db = new Database(path, existsSync(`${path}-wal`) ? { readOnly: true } : { asItIs: true });
    return readDatabase(db);
  } catch (error) {
    db?.close();
    tell(`its relay.db cannot be read (${(error as Error).message})`);
    return null;
  }
}

function readDatabase(db: Database): LegacyDatabase {
  db.sql('BEGIN').run();
  const threads = db.sql<ThreadRow>(
    "SELECT id, coalesce(name, '') AS name, created_at, coalesce(hop_count, 0) AS hop_count FROM threads",
  );
  const states = db.sql<{ version: number; data: string }>(
    'SELECT version, data FROM states WHERE thread_id = ? ORDER BY version',
  );
  // Their ids begin with the time. The timestamps themselves do not sort as text: Go leaves out zeros at the end.
  const events = db.sql<EventRow>(
    'SELECT id, type, payload, timestamp FROM events WHERE thread_id = ? ORDER BY id',
  );
  const artifacts = db.sql<ArtifactRow>(
    `SELECT ref, type, mime, coalesce(name, '') AS name, hash, provenance, created_at, path
     FROM artifacts WHERE thread_id = ? ORDER BY ref`,
  );
  const cached = db.sql<{ n: number }>('SELECT count(*) AS n FROM cache').get()!.n;
  return {
    threads: new Map(threads.all().map((row) => [row.id, row])),
    cached,
    *states(thread) {
      for (const { version, data } of states.iterate(thread)) yield { version, data: parseObject(data) };
    },
    events: (thread) => events.all(thread),
    artifacts: (thread) => artifacts.all(thread),
    [Symbol.dispose]: () => db.close(),
  };
}

export function parseObject(text: string): JsonObject | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return isJsonObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}
