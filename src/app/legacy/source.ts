import { existsSync, realpathSync } from 'node:fs';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isJsonObject, type Json, type JsonObject, jsonObjectIn } from '../../base/json.ts';
import { orElse } from '../../base/or-else.ts';
import { Database } from '../../engines/sqlite/database.ts';

/** A thread of a Go relay as it was stored. Versions, events and artifacts are in order, oldest first. */
type LegacySource = Awaited<ReturnType<typeof fromDatabase>>;

export type LegacyLogEvent = Readonly<ReturnType<typeof eventOf>>;

/** Metadata of an artifact's file. */
export interface LegacyFile extends Partial<Omit<ArtifactRow, 'path'>> {
  readonly ref: string;
  readonly file: string;
}

export const UNKNOWN_EVENT = 'legacy.event';

/**
 * Reads a thread from the database, which has more data than the files. `notes` lists files in the folder
 * that the database lacks.
 */
export async function fromDatabase(db: LegacyDatabase, id: string, folder: string, notes: string[]) {
  const { name, created_at, hop_count } = db.threads.get(id)!;
  const rows = db.artifacts(id);
  const artifacts: LegacyFile[] = rows.map(({ path, ...row }) => ({
    ...row,
    file: path.replace(/^.*[\\/]/, ''),
  }));
  const listedFiles = new Set(artifacts.map(({ file }) => file));
  for (const file of await filesIn(folder)) {
    if (!listedFiles.has(file))
      notes.push(`artifacts/${file} is not listed in relay.db and was not imported`);
  }
  const events = db.events(id).map(({ payload, ...row }) => eventOf({ ...row, payload: parse(payload) }));
  const created = created_at as string | undefined;
  return { name, created, hops: hop_count, states: () => db.states(id), events, artifacts };
}

/**
 * Reads a thread from its files: the last state, the log, and the artifacts. The name of an artifact's file,
 * without extension, is its ref.
 */
export async function fromFiles(folder: string, notes: string[]): Promise<LegacySource> {
  const state = await readState(folder, notes);
  const events = await readLog(join(folder, 'events.log'));
  const links = new Map<string, JsonObject>();
  for (const link of Array.isArray(state?.artifacts) ? state.artifacts : []) {
    if (isJsonObject(link) && typeof link.ref === 'string') links.set(link.ref, link);
  }
  const artifacts: LegacyFile[] = [];
  for (const file of await filesIn(folder)) {
    const ref = file.replace(/\.[^.]*$/, '');
    const { name, type } = links.get(ref) ?? {};
    links.delete(ref);
    artifacts.push({ ref, file, name: text(name), type: text(type) });
  }
  for (const ref of links.keys()) notes.push(`the state names artifact ${ref}, but its file is missing`);
  const first = events[0]?.payload.name;
  return {
    name: text(state?.name) ?? text(first) ?? '',
    created: text(state?.created_at) ?? events[0]?.timestamp,
    hops: 0,
    states: () => (state ? [{ version: Number(state.version ?? 1), data: state }] : []),
    events,
    artifacts,
  };
}

const text = (value: Json | undefined) => (typeof value === 'string' && value !== '' ? value : undefined);

async function filesIn(folder: string): Promise<string[]> {
  const path = join(folder, 'artifacts');
  return isHere(path) ? (await readdir(path)).sort() : [];
}

async function readState(folder: string, notes: string[]): Promise<JsonObject | null> {
  const file = join(folder, 'state.json');
  if (!isHere(file)) {
    notes.push('state.json is missing');
    return null;
  }
  const state = jsonObjectIn(await readFile(file, 'utf8'));
  if (!state) notes.push('state.json is not a JSON object and was not imported');
  return state;
}

/**
 * Reads a log. A line has the form `[time] id type {json}` or, in some versions, is a JSON object. Any other
 * line becomes an event with the line as text.
 */
async function readLog(file: string): Promise<LegacyLogEvent[]> {
  if (!isHere(file)) return [];
  let timestamp = new Date((await lstat(file)).mtimeMs).toISOString();
  const events: LegacyLogEvent[] = [];
  for (const line of (await readFile(file, 'utf8')).split('\n')) {
    if (line.trim() === '') continue;
    const [, time, id, type, json] = /^\[([^\]]*)\] (\S+) (\S+) (.*)$/.exec(line) ?? [];
    const fields: JsonObject =
      time === undefined
        ? (jsonObjectIn(line) ?? { payload: { line } })
        : { timestamp: time, id: id!, type: type!, payload: parse(json!) };
    const moment = fields.timestamp ?? fields.ts ?? /\d{4}-\d\d-\d\dT[\d:.]+Z?/.exec(line)?.[0];
    if (isMoment(moment)) timestamp = moment;
    events.push(eventOf({ ...fields, timestamp }));
  }
  return events;
}

function eventOf(fields: JsonObject & { timestamp: string }) {
  const { id, type, payload, timestamp } = fields;
  if (typeof type === 'string' && isJsonObject(payload)) return { id: text(id), type, payload, timestamp };
  const { timestamp: _, id: __, ...rest } = fields;
  const content = isJsonObject(payload) ? payload : rest;
  return { id: text(id), type: UNKNOWN_EVENT, payload: content, timestamp };
}

const parse = (json: string): Json => orElse(() => JSON.parse(json), json);

/**
 * Returns whether a path exists and contains no symbolic links. The home may come from someone else, so links in it
 * are not followed.
 */
export function isHere(path: string): boolean {
  return existsSync(path) && realpathSync(path) === path;
}

/** Returns whether a value is a valid time. Go writes the year 1 for a time that was never set. */
export function isMoment(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 40 && Date.parse(value) > 0;
}

/** The database of a Go relay. Only the database has all names, media types and versions. */
export type LegacyDatabase = ReturnType<typeof readDatabase>;

interface ThreadRow {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
  readonly hop_count: number;
}

export interface StateRow {
  readonly version: number;
  readonly data: JsonObject | null;
}

interface EventRow {
  readonly id: string;
  readonly type: string;
  /** Payload of the event, as JSON text. */
  readonly payload: string;
  readonly timestamp: string;
}

interface ArtifactRow {
  readonly ref: string;
  readonly type: string;
  readonly mime: string;
  readonly name: string;
  readonly hash: string;
  /** Provenance of the artifact, as JSON text. */
  readonly provenance: string;
  readonly created_at: string;
  /** Path of the artifact's file when it was stored. The folder may have moved since. */
  readonly path: string;
}

/**
 * Opens relay.db in a read transaction, because a Go relay may be writing to it. If the file is missing or cannot be
 * read, calls `onFailure` with the reason and returns null.
 */
export function openLegacyDatabase(home: string, onFailure: (why: string) => void): LegacyDatabase | null {
  const path = join(home, 'relay.db');
  if (!existsSync(path)) {
    onFailure('relay.db is missing');
    return null;
  }
  let db: Database | undefined;
  try {
    // Without a WAL file, no process has the database open. Opening it as immutable is then safe, and SQLite
    // creates no files next to it.
    db = new Database(path, existsSync(`${path}-wal`) ? { readOnly: true } : { immutable: true });
    return readDatabase(db);
  } catch (error) {
    db?.close();
    onFailure(`relay.db cannot be read (${(error as Error).message})`);
    return null;
  }
}

function readDatabase(db: Database) {
  db.sql('BEGIN').run();
  const threads = db.sql<ThreadRow>(
    "SELECT id, coalesce(name, '') AS name, created_at, coalesce(hop_count, 0) AS hop_count FROM threads",
  );
  const states = db.sql<{ version: number; data: string }>(
    'SELECT version, data FROM states WHERE thread_id = ? ORDER BY version',
  );
  // Sort by id: ids begin with the time, whereas Go's timestamps omit trailing zeros and cannot be sorted as
  // text.
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
    /** Number of cached results of capabilities in the database. */
    cached,
    /** Yields all versions of a thread's state, the oldest first. */
    *states(thread: string): Iterable<StateRow> {
      for (const { version, data } of states.iterate(thread)) yield { version, data: jsonObjectIn(data) };
    },
    /** Returns the events of a thread, the oldest first. */
    events: (thread: string) => events.all(thread),
    /** Returns the artifacts of a thread, the oldest first. */
    artifacts: (thread: string) => artifacts.all(thread),
    [Symbol.dispose]: () => db.close(),
  };
}
