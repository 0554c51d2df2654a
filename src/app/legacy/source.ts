import { existsSync, realpathSync } from 'node:fs';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { type ArtifactRow, type LegacyDatabase, parseObject, type StateRow } from './database.ts';

/** A thread as a Go relay kept it, wherever that could be read. */
export interface LegacySource {
  readonly name: string;
  readonly created: string | undefined;
  readonly hops: number;
  /** In rising order of their versions. */
  states(): Iterable<StateRow>;
  /** Oldest first. */
  readonly events: readonly LegacyLogEvent[];
  /** Files of the thread's folder `artifacts`, oldest first. */
  readonly artifacts: readonly LegacyFile[];
}

export interface LegacyLogEvent {
  readonly id: string | undefined;
  readonly type: string;
  readonly payload: JsonObject;
  readonly timestamp: string;
}

/** What is known of an artifact besides its file. */
export interface LegacyFile extends Partial<Omit<ArtifactRow, 'path'>> {
  readonly ref: string;
  readonly file: string;
}

export const UNKNOWN_EVENT = 'legacy.event';

/** From the database, which knows everything. What lies in the folder beyond that is told. */
export async function fromDatabase(
  db: LegacyDatabase,
  id: string,
  folder: string,
  notes: string[],
): Promise<LegacySource> {
  const { name, created_at, hop_count } = db.threads.get(id)!;
  const artifacts = db
    .artifacts(id)
    .map(({ path, ...row }) => ({ ...row, file: path.replace(/^.*[\\/]/, '') }));
  const known = new Set(artifacts.map(({ file }) => file));
  for (const file of await filesIn(folder)) {
    if (!known.has(file)) notes.push(`artifacts/${file} is unknown to its relay.db and was left out`);
  }
  const events = db.events(id).map(({ payload, ...row }) => eventOf({ ...row, payload: parse(payload) }));
  return { name, created: created_at, hops: hop_count, states: () => db.states(id), events, artifacts };
}

/** From the legible files alone: the last state, the log, and the artifacts by the names of their files. */
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
  for (const ref of links.keys())
    notes.push(`artifact ${ref} is named in its state, and its file is missing`);
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
    notes.push('it has no state.json');
    return null;
  }
  const state = parseObject(await readFile(file, 'utf8'));
  if (!state) notes.push('its state.json is not a JSON object and was left out');
  return state;
}

/** A line is `[time] id type {json}`, or in another version a JSON object; what is neither is kept as it is. */
async function readLog(file: string): Promise<LegacyLogEvent[]> {
  if (!isHere(file)) return [];
  let timestamp = new Date((await lstat(file)).mtimeMs).toISOString();
  const events: LegacyLogEvent[] = [];
  for (const line of (await readFile(file, 'utf8')).split('\n')) {
    if (line.trim() === '') continue;
    const [, time, id, type, json] = /^\[([^\]]*)\] (\S+) (\S+) (.*)$/.exec(line) ?? [];
    const said: JsonObject =
      time === undefined
        ? (parseObject(line) ?? { payload: { line } })
        : { timestamp: time, id: id!, type: type!, payload: parse(json!) };
    const moment = said.timestamp ?? said.ts ?? /\d{4}-\d\d-\d\dT[\d:.]+Z?/.exec(line)?.[0];
    if (isMoment(moment)) timestamp = moment;
    events.push(eventOf({ ...said, timestamp }));
  }
  return events;
}

function eventOf(said: JsonObject & { timestamp: string }): LegacyLogEvent {
  const { id, type, payload, timestamp } = said;
  if (typeof type === 'string' && isJsonObject(payload)) return { id: text(id), type, payload, timestamp };
  const { timestamp: _, id: __, ...rest } = said;
  return {
    id: text(id),
    type: UNKNOWN_EVENT,
    payload: isJsonObject(rest.payload) ? rest.payload : rest,
    timestamp,
  };
}

function parse(json: string): Json {
  try {
    return JSON.parse(json) as Json;
  } catch {
    return json;
  }
}

/** Whether something is there, and no link leads elsewhere on the way: a home from somebody else may have some. */
export function isHere(path: string): boolean {
  return existsSync(path) && realpathSync(path) === path;
}

/** Go writes its zero time, year 1, for what was never set. */
export function isMoment(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 40 && Date.parse(value) > 0;
}
