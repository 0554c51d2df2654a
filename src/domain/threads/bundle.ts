import { isRelayError, RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { isRef } from '../../base/ids.ts';
import { isJsonObject, type Json } from '../../base/json.ts';
import { ARTIFACT_BYTES, STATE_BYTES } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import type { WorkMeter } from '../../base/work-meter.ts';
import { ARTIFACT_TYPE, type Artifact, type State } from '../../contract/threads.ts';
import type { ZipArchive } from '../../formats/zip/zip-reader.ts';
import { asJson, fromJson } from '../records.ts';
import { extensionOf, MEDIA_TYPE } from './artifact-kind.ts';
import { artifactBytes, LEGACY_EVENT_ID, type LegacyEvent, makesVersion, type StoredEvent } from './event.ts';
import { advance, emptyHead, type MutableHead, stateAfter } from './fold.ts';
import { bareRoot, COUNTERS, type Counters } from './keys.ts';
import { bytesOf } from './state.ts';

/** What a bundle holds, and how it is laid out. */

export const BUNDLE_SCHEMA = 'com.relay.bundle.v1';

export const MANIFEST = 'manifest.json';
export const STATE = 'state.json';
export const LEDGER = 'ledger.json';
export const ARTIFACTS = 'artifacts.ndjson';
/** A state as a bundle writes it. */
export const bundledState = (state: State) => `${JSON.stringify(state, null, 2)}\n`;
export const eventsFile = (part: number) => `events/${String(part).padStart(6, '0')}.ndjson`;
export const contentFile = (ref: string, ext: string) => `artifacts/${ref}.${ext}`;

/** About how much one file of events holds. */
export const EVENTS_FILE_BYTES = 4 * 1024 * 1024;
/** Parsed in one go; then others have a turn. */
const PARSED_CHARS = 256 * 1024;
/** No file but a content is larger than this. */
const FILE_BYTES = 64 * 1024 * 1024;

export interface Manifest {
  readonly schema: typeof BUNDLE_SCHEMA;
  readonly thread_id: string;
  readonly name: string;
  readonly created_at: string;
  readonly created_by: string;
  readonly state_version: number;
  readonly events: number;
  readonly artifacts: number;
  /** Every other file, in the order of the archive. */
  readonly files: readonly ManifestFile[];
  /** Contents that were gone or not as they were stored, and are not in the archive. Absent where all was whole. */
  readonly damaged?: readonly DamagedFile[];
}

export interface DamagedFile {
  readonly ref: string;
  /** Where it would be. */
  readonly path: string;
  readonly what: 'missing' | 'changed' | 'unreadable';
}

export interface ManifestFile {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

export function badBundle(what: string): RelayError {
  return new RelayError('bad_bundle', { what });
}

/** What the events of a bundle amount to. */
export interface CheckedEvents {
  readonly version: number;
  readonly count: number;
  readonly refs: readonly string[];
  /** Bytes that the thread will take up, and those of its events alone. */
  readonly stored: number;
  readonly eventBytes: number;
  /** SHA-256 of the state as a bundle writes it. */
  readonly stateHash: string;
}

/** Folds the events of a bundle, by the rules for patches that are sent. */
export type CheckEvents = (start: MutableHead, events: readonly StoredEvent[]) => Promise<CheckedEvents>;

export type Bundle = Awaited<ReturnType<typeof readBundle>>;

export async function readManifest(zip: ZipArchive): Promise<Manifest> {
  return checkManifest(parse(await text(zip, MANIFEST, FILE_BYTES), MANIFEST));
}

/** Reads and checks everything but the contents, and makes sure that nothing is there that does not belong. */
export async function readBundle(zip: ZipArchive, manifest: Manifest, check: CheckEvents) {
  const files = new Map(manifest.files.map((file) => [file.path, file]));
  for (const name of zip.items.keys()) {
    if (name !== MANIFEST && !files.has(name)) throw badBundle(`${name} is not in its manifest`);
  }
  for (const { path, size } of manifest.files) {
    const item = zip.items.get(path);
    if (!item) throw badBundle(`${path} is missing`);
    if (item.size !== size) throw badBundle(`${path} has another size than its manifest says`);
  }
  const checked = async (path: string, limit: number) => {
    const content = await text(zip, path, limit);
    if ((await sha256Hex(content)) !== files.get(path)?.sha256) throw badBundle(`${path} has another hash`);
    return content;
  };
  await checked(STATE, 4 * STATE_BYTES);
  const ledger = checkLedger(parse(await checked(LEDGER, 4096), LEDGER));
  const artifacts = lines(await checked(ARTIFACTS, FILE_BYTES), ARTIFACTS).map((line) =>
    checkArtifact(line, manifest.thread_id),
  );
  const events: StoredEvent[] = [];
  let part = 1;
  for (; zip.items.has(eventsFile(part)); part++) {
    let parsed = 0;
    for (const line of (await checked(eventsFile(part), FILE_BYTES)).split('\n')) {
      if (line !== '') events.push(checkEvent(parse(line, eventsFile(part))));
      parsed += line.length;
      if (parsed < PARSED_CHARS) continue;
      parsed = 0;
      await pause(0);
    }
  }
  const damaged = new Set(manifest.damaged?.map(({ ref }) => ref));
  const present = artifacts.filter(({ deleted_at }) => deleted_at === undefined);
  const there = present.filter(({ ref }) => !damaged.has(ref));
  if (there.length + damaged.size !== present.length) throw badBundle('what it calls damaged is no artifact');
  for (const artifact of there) checkContent(artifact, files);
  if (there.length + part + 2 !== manifest.files.length)
    throw badBundle('files are there that nothing refers to');
  const found = await check(emptyHead(bareRoot(manifest.thread_id)), events);
  const begins = events[0]?.type === 'thread.created' && makesVersion(events[0]);
  if (!begins || found.version !== manifest.state_version || found.count !== manifest.events) {
    throw badBundle('its events are not those of its manifest');
  }
  if (found.stateHash !== files.get(STATE)?.sha256) throw badBundle('its events do not lead to its state');
  const refs = artifacts.map(({ ref }) => ref).join();
  if (refs !== found.refs.join() || artifacts.length !== manifest.artifacts) {
    throw badBundle('its artifacts are not those of its events');
  }
  const bytes = found.stored;
  if (there.reduce((sum, { size }) => sum + artifactBytes(size), found.eventBytes) > bytes)
    throw badBundle('its events tell of less than it holds');
  return { manifest, events, artifacts, ledger, damaged, bytes };
}

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
const METRICS = ['cache_hits', 'cache_misses', 'tokens_estimate', 'tokens_avoided', 'hop_count'] as const;
const isText = (value: unknown, chars: number) => typeof value === 'string' && value.length <= chars;

function checkManifest(value: Json): Manifest {
  const manifest = fromJson<Manifest>(value);
  if (isJsonObject(value) && typeof value.relay_version === 'string' && value.schema === undefined) {
    throw new RelayError('legacy_export');
  }
  if (!isJsonObject(value) || manifest.schema !== BUNDLE_SCHEMA)
    throw badBundle('its manifest is of another kind');
  const { thread_id, created_at, files, damaged = [] } = manifest;
  const fine =
    [thread_id, manifest.name, created_at, manifest.created_by].every((text) => typeof text === 'string') &&
    /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(thread_id) &&
    !Number.isNaN(Date.parse(created_at)) &&
    [manifest.state_version, manifest.events, manifest.artifacts].every(isCount) &&
    Array.isArray(files) &&
    files.every(
      (file) =>
        typeof file?.path === 'string' &&
        isCount(file.size) &&
        typeof file.sha256 === 'string' &&
        /^[0-9a-f]{64}$/.test(file.sha256),
    ) &&
    Array.isArray(damaged) &&
    damaged.every((file) => isText(file?.ref, 26));
  if (!fine) throw badBundle('its manifest is broken');
  return manifest;
}

/** The fields of an artifact that are taken over; the preview is made anew, since it goes to models. */
function checkArtifact(value: Json, threadId: string): Artifact {
  const artifact = fromJson<Artifact>(value);
  const { provenance: from, tokens } = artifact ?? {};
  const texts = [artifact?.type, artifact?.mime, artifact?.name, artifact?.hash, artifact?.created_at];
  const fine =
    isText(artifact?.ref, 26) &&
    isRef(artifact.ref) &&
    artifact.thread_id === threadId &&
    [...texts, from?.created_by, from?.created_at, tokens?.tokenizer].every((text) => isText(text, 1024)) &&
    ARTIFACT_TYPE.test(artifact.type) &&
    MEDIA_TYPE.test(artifact.mime) &&
    [artifact.size, tokens.content, tokens.preview].every(isCount) &&
    (artifact.deleted_at === undefined || !Number.isNaN(Date.parse(artifact.deleted_at))) &&
    Array.isArray(from.source_refs) &&
    from.source_refs.length <= 100 &&
    from.source_refs.every((ref) => isText(ref, 128)) &&
    (from.capability === null || typeof from.capability === 'string');
  if (!fine) throw badBundle('an artifact is described wrongly');
  return artifact;
}

function checkContent(artifact: Artifact, files: ReadonlyMap<string, ManifestFile>): void {
  const { ref, size, hash } = artifact;
  const file = files.get(contentFile(ref, extensionOf(artifact)));
  if (file?.size !== size || file.sha256 !== hash || size > ARTIFACT_BYTES) {
    throw badBundle(`artifact ${ref} does not agree with its file`);
  }
}

function checkLedger(value: Json): Counters {
  const ledger = fromJson<Counters>(value);
  // One of another version may lack some, and have others.
  const figures = COUNTERS.map((what) => [what, ledger?.[what] ?? 0] as const);
  if (!figures.every(([, figure]) => isCount(figure))) throw badBundle('its ledger is broken');
  return Object.fromEntries(figures) as Counters;
}

/** An event of a bundle, as this relay might have written it. */
function checkEvent(value: Json): StoredEvent {
  const event = fromJson<StoredEvent>(value);
  const isDigest = (field: unknown) => field === undefined || isText(field, 64);
  const fine =
    isJsonObject(value) &&
    typeof event.type === 'string' &&
    /^[a-z][a-z0-9_.]{1,63}$/.test(event.type) &&
    Number.isSafeInteger(event.at) &&
    Math.abs(event.at) <= 8.64e15 &&
    isJsonObject(event.payload) &&
    isDigest(event.key) &&
    isDigest(event.request) &&
    event.ops_blob === undefined &&
    (event.legacy === undefined || isLegacyEvent(event.type, event.legacy));
  if (!fine) throw badBundle('an event is broken');
  if (event.type === 'artifact.created' && !event.legacy && !isJsonObject(event.payload.tokens))
    throw badBundle('an event is broken');
  if (event.type !== 'thread.created' && !('ops' in event.payload) && bytesOf(asJson(event)) > 256 * 1024) {
    throw badBundle('an event is too large');
  }
  return event;
}

/** What a Go relay said of an event, as our own import writes it. */
function isLegacyEvent(type: string, legacy: LegacyEvent): boolean {
  const isMoment = (time: unknown) => isText(time, 40) && !Number.isNaN(Date.parse(time as string));
  const { id, timestamp, stamp, artifacts = [] } = legacy ?? {};
  const figures = METRICS.map((name) => stamp?.metrics?.[name]);
  const isStamp = () =>
    (type === 'thread.created' || type === 'state.patch.applied') &&
    isMoment(stamp?.updated_at) &&
    figures.every(Number.isSafeInteger) &&
    Object.keys(stamp!.metrics).length === METRICS.length;
  return (
    (id === undefined || (typeof id === 'string' && LEGACY_EVENT_ID.test(id))) &&
    isMoment(timestamp) &&
    (stamp === undefined || isStamp()) &&
    Array.isArray(artifacts) &&
    artifacts.every(
      (artifact) =>
        isText(artifact?.ref, 26) &&
        isCount(artifact.size) &&
        isText(artifact.tokens?.tokenizer, 64) &&
        [artifact.tokens.content, artifact.tokens.preview].every(isCount),
    )
  );
}

/**
 * Takes in an event of somebody else's by the rules of a patch that is sent: what it may not do here, it did not do
 * there. The head is changed in place.
 */
export function advanceChecked(head: MutableHead, event: StoredEvent, meter?: WorkMeter): void {
  if (event.type === 'thread.created' && head.count > 0) throw badBundle('it begins twice');
  try {
    advance(head, head.seq + 1, event, { ready: stateAfter(head, event, { meter }) });
  } catch (error) {
    if (!isRelayError(error)) throw error;
    if (error.code === 'too_costly') throw error;
    if (error.code === 'store_damaged') throw badBundle('its versions have gaps');
    throw badBundle(`event ${head.count + 1} is not possible: ${error.message}`);
  }
}

async function text(zip: ZipArchive, name: string, limit: number): Promise<string> {
  const item = zip.items.get(name);
  if (!item) throw badBundle(`${name} is missing`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await zip.bytes(item, limit));
  } catch (error) {
    throw isRelayError(error) ? error : badBundle(`${name} is not text`);
  }
}

function parse(json: string, name: string): Json {
  try {
    return JSON.parse(json) as Json;
  } catch {
    throw badBundle(`${name} is not JSON`);
  }
}

function lines(content: string, name: string): Json[] {
  return content
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => parse(line, name));
}
