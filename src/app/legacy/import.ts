import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { isUuid, uuidFrom } from '../../base/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { ARTIFACT_BYTES, ARTIFACT_NAME_CHARS, THREAD_NAME_CHARS } from '../../base/limits.ts';
import { ARTIFACT_TYPES, type Artifact, type ArtifactType } from '../../contract/threads/artifacts.ts';
import { guessType, KINDS } from '../../domain/threads/artifact-kind.ts';
import { ContentScan, countTokens } from '../../domain/threads/content-scan.ts';
import type { LegacyThread } from '../../interfaces/cli/host.ts';
import { makePreview } from '../../text/preview/preview.ts';
import { ownTextWork } from '../store/own-text-work.ts';
import { LEGACY_AUTHOR, type LegacyContent, type LegacyParts, legacyBundle, openFile } from './bundle.ts';
import { takeOverState } from './state.ts';

/** A folder with none of these is something else. */
const PARTS = ['state.json', 'events.log', 'artifacts'];

/** An event of the log travels in one piece. */
const EVENT_BYTES = 64 * 1024;

/**
 * The threads in a Go relay's folder, from its legible files alone: `threads/<id>/state.json`, `events.log` and
 * `artifacts/<ref>.<ext>`. The folder is only read; its database is not opened.
 */
export async function* readLegacy(dir: string): AsyncGenerator<LegacyThread> {
  const root = join(dir, 'threads');
  if (!existsSync(root)) {
    throw new RelayError('not_found', {
      what: `the folder ${root}`,
      hint: 'Name the folder of a Go relay, the one with threads/ in it: relay import --legacy DIR',
    });
  }
  const folders = (await readdir(root, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  for (const { name } of folders.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(root, name);
    if (PARTS.some((part) => existsSync(join(path, part)))) yield await readThread(path, name);
  }
}

async function readThread(path: string, folder: string): Promise<LegacyThread> {
  const notes: string[] = [];
  const thread_id = isUuid(folder) ? folder.toLowerCase() : uuidFrom(await derived(`thread ${folder}`));
  if (thread_id !== folder.toLowerCase()) notes.push(`"${folder}" is not a UUID; here it is ${thread_id}`);
  const { mtimeMs, birthtimeMs } = await lstat(path);
  const state = await readState(path, notes);
  const history = await readHistory(path);
  const created = timeOf(state.created_at) ?? history[0]?.at ?? (birthtimeMs || mtimeMs);
  const { contents, refs } = await readContents(path, thread_id, state, notes);
  const taken = takeOverState(state, refs);
  // What has no place in a state here is not lost: the old file is kept whole, beside the new state.
  if (taken.left.length > 0) {
    notes.push(...taken.left, 'the old state.json is kept as the artifact legacy-state.json');
    const ref = await derivedRef(thread_id, 'legacy-state.json');
    contents.push(await describe(join(path, 'state.json'), thread_id, ref, 'legacy-state.json', 'json'));
  }
  const parts: LegacyParts = {
    thread_id,
    name: nameOf(state, history),
    created: Math.round(created),
    updated: Math.round(timeOf(state.updated_at) ?? mtimeMs),
    version: typeof state.version === 'number' ? state.version : null,
    state: taken,
    history,
    contents,
  };
  const artifacts = contents.length;
  return { path, thread_id, name: parts.name, artifacts, notes, bundle: () => legacyBundle(parts) };
}

async function readState(path: string, notes: string[]): Promise<JsonObject> {
  const file = join(path, 'state.json');
  if (!existsSync(file)) {
    notes.push('it has no state.json');
    return {};
  }
  const state = parseObject(await readFile(file, 'utf8'));
  if (!state) notes.push('its state.json is not a JSON object and was left out');
  return state ?? {};
}

/** Each line as it is: JSON where it is that, else text. */
async function readHistory(path: string): Promise<{ at: number; payload: JsonObject }[]> {
  const file = join(path, 'events.log');
  if (!existsSync(file)) return [];
  const history: { at: number; payload: JsonObject }[] = [];
  let at = Math.round((await lstat(file)).mtimeMs);
  for (const line of (await readFile(file, 'utf8')).split('\n')) {
    if (line.trim() === '') continue;
    const event = parseObject(line);
    at =
      timeOf(event?.timestamp ?? event?.ts ?? event?.at ?? /\d{4}-\d\d-\d\dT[\d:.]+Z?/.exec(line)?.[0]) ?? at;
    const fits = event !== null && Buffer.byteLength(line) <= EVENT_BYTES;
    history.push({ at: Math.round(at), payload: fits ? event : { line: line.slice(0, EVENT_BYTES / 4) } });
  }
  return history;
}

function parseObject(text: string): JsonObject | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return isJsonObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

/** What the state says of the artifacts, and the files that are really there, oldest first. */
async function readContents(path: string, thread: string, state: JsonObject, notes: string[]) {
  const folder = join(path, 'artifacts');
  const names = existsSync(folder) ? (await readdir(folder)).sort() : [];
  const said = new Map<string, JsonObject>();
  for (const link of Array.isArray(state.artifacts) ? state.artifacts : []) {
    if (isJsonObject(link) && typeof link.ref === 'string') said.set(link.ref, link);
  }
  const contents: LegacyContent[] = [];
  const taken = new Set<string>();
  const refs = new Map<string, string>();
  for (const file of names) {
    const old = file.replace(/\.[^.]*$/, '');
    const stat = await lstat(join(folder, file));
    if (!stat.isFile()) continue;
    if (stat.size > ARTIFACT_BYTES) {
      notes.push(`artifact ${file} is larger than ${ARTIFACT_BYTES} bytes and was left out`);
      continue;
    }
    const { type, name } = said.get(old) ?? {};
    said.delete(old);
    // What is no ref here gets one, the same at every import; so does a second file by the same ref.
    const fits = /^[0-9a-f]{26}$/.test(old) && !taken.has(old);
    const ref = fits ? old : await derivedRef(thread, file);
    taken.add(ref);
    if (!fits && !taken.has(old) && !refs.has(old)) refs.set(old, ref);
    const title = typeof name === 'string' && name !== '' ? name : file;
    const known = ARTIFACT_TYPES.includes(type as ArtifactType);
    const kind = known ? (type as ArtifactType) : guessType(file, undefined);
    contents.push(await describe(join(folder, file), thread, ref, title, kind));
  }
  for (const ref of said.keys()) notes.push(`artifact ${ref} is named in its state, and its file is missing`);
  contents.sort((a, b) => Date.parse(a.artifact.created_at) - Date.parse(b.artifact.created_at));
  return { contents, refs };
}

/** An artifact as it would have been stored here: counted, and with the hash of what is there now. */
async function describe(
  path: string,
  thread_id: string,
  ref: string,
  title: string,
  type: ArtifactType,
): Promise<LegacyContent> {
  const hash = createHash('sha256');
  const scan = new ContentScan(openFile(path));
  for await (const chunk of scan.body as ReadableStream<Uint8Array>) hash.update(chunk);
  const seen = scan.seen();
  const preview = makePreview(type, seen);
  const tokens = await countTokens(ownTextWork, seen, preview.text);
  const created_at = new Date((await lstat(path)).mtimeMs).toISOString();
  const provenance = { created_by: LEGACY_AUTHOR, created_at, source_refs: [], capability: null };
  const name = [...title].slice(0, ARTIFACT_NAME_CHARS).join('');
  const { size } = seen;
  const artifact: Artifact = {
    ref,
    thread_id,
    type,
    mime: KINDS[type].mime,
    name,
    size,
    hash: hash.digest('hex'),
    preview,
    provenance,
    tokens,
    created_at,
  };
  return { artifact, path };
}

/** The state of a Go relay does not always say; its first event may. */
function nameOf(state: JsonObject, history: readonly { payload: JsonObject }[]): string {
  const first = history[0]?.payload.payload;
  const said = [state.name, isJsonObject(first) ? first.name : undefined, history[0]?.payload.name];
  const name = said.find((text): text is string => typeof text === 'string' && text !== '') ?? '';
  return [...name].slice(0, THREAD_NAME_CHARS).join('');
}

function timeOf(value: Json | undefined): number | undefined {
  if (typeof value !== 'string') return undefined;
  const time = Date.parse(value);
  // Go writes its zero time, year 1, for what was never set.
  return Number.isNaN(time) || time <= 0 ? undefined : time;
}

async function derivedRef(thread: string, file: string): Promise<string> {
  return (await sha256Hex(`legacy ${thread} ${file}`)).slice(0, 26);
}

async function derived(text: string): Promise<Uint8Array> {
  return Uint8Array.from(Buffer.from(await sha256Hex(`legacy ${text}`), 'hex'));
}
