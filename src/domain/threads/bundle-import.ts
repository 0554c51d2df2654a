import { limitBytes, readBeginning, readBytes, streamFrom } from '../../base/byte-streams.ts';
import { isRelayError, RelayError, tooLarge } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { isRef, toHex } from '../../base/ids.ts';
import { isJsonObject, type Json } from '../../base/json.ts';
import {
  ARTIFACT_BYTES,
  BUNDLE_BYTES,
  DAMAGED_NAMED,
  ORPHAN_AGE_MS,
  STATE_BYTES,
} from '../../base/limits.ts';
import { mapConcurrent } from '../../base/map-concurrent.ts';
import { pause } from '../../base/pause.ts';
import type { Caller } from '../../contract/caller.ts';
import { ARTIFACT_TYPE, type Artifact, type ImportAnswer } from '../../contract/threads.ts';
import { openZip, type ZipArchive, type ZipSource } from '../../formats/zip/zip-reader.ts';
import { type HeldLease, withLease } from '../lease.ts';
import { fromJson } from '../records.ts';
import { isSearchResult } from './artifact-index.ts';
import { artifactKind, MEDIA_TYPE } from './artifact-kind.ts';
import { artifactRecords, withoutContent } from './artifacts.ts';
import {
  ARTIFACTS,
  BUNDLE_SCHEMA,
  contentBatches,
  contentFile,
  eventsFile,
  LEDGER,
  MANIFEST,
  type Manifest,
  type ManifestFile,
  STATE,
} from './bundle-export.ts';
import { ContentScan } from './content-scan.ts';
import {
  artifactStorageBytes,
  eventBytes,
  LEGACY_EVENT_ID,
  type LegacyEvent,
  makesVersion,
  type StoredEvent,
} from './event.ts';
import { emptyHead, type Head } from './fold.ts';
import { badBundle } from './fold-job.ts';
import {
  artifactBlob,
  artifactKey,
  bareRoot,
  COUNTERS,
  type Counters,
  counterKey,
  lockKey,
  metaKey,
  rootsFor,
  type ThreadRoot,
} from './keys.ts';
import { isoTime, versionRef } from './state.ts';
import type { ThreadLog, ThreadVerb } from './thread-log.ts';
import { clearThread } from './thread-removal.ts';
import { writeThreadRecords } from './threads.ts';

/** Number of characters that are parsed before yielding to the event loop. */
const PARSED_CHARS = 256 * 1024;
/** Maximum size in bytes of the manifest, of the list of artifacts and of each file of events in a bundle. */
const FILE_BYTES = 64 * 1024 * 1024;
/** Maximum bytes of a bundle that is held in memory. */
const IN_MEMORY_BYTES = 8 * 1024 * 1024;

/** Imports a bundle, completely or not at all. */
export const importThread: ThreadVerb<'import'> = async (log, caller, body) => {
  if (body instanceof Uint8Array) {
    return importFrom(log, caller, {
      size: body.length,
      read: async (start, end) => body.subarray(start, end),
    });
  }
  // A ZIP file is read from its end, so a large stream is stored in a blob first.
  const { engine, env } = log.deps;
  const key = `ten.${caller.tenant}/imports/${toHex(env.randomBytes(12))}`;
  const limited = limitBytes(body, BUNDLE_BYTES, () => tooLarge('a bundle', BUNDLE_BYTES));
  const beginning = await readBeginning(limited, IN_MEMORY_BYTES);
  if (beginning instanceof Uint8Array) return importThread(log, caller, beginning);
  try {
    const { size } = await engine.blobs.put(key, beginning, { expiresAt: env.now() + ORPHAN_AGE_MS });
    return await importFrom(log, caller, {
      size,
      read: async (start, end) => {
        const found = await engine.blobs.get(key, { start, end });
        if (!found) throw badBundle('its temporary copy was deleted during the import');
        return readBytes(found.body);
      },
    });
  } finally {
    await engine.blobs.delete(key);
  }
};

async function importFrom(log: ThreadLog, caller: Caller, source: ZipSource): Promise<ImportAnswer> {
  const zip = await openZip(source);
  const manifest = await readManifest(zip);
  const { tenant } = caller;
  const id = manifest.thread_id;
  const [first, second] = rootsFor(tenant, id);
  const owner = await log.ownerOf(first);
  const root = owner === undefined || owner === tenant ? first : second;
  const answer = await withLease(log.deps, lockKey(root), async (lock) => {
    // Checking the bundle takes long, so first check whether the thread already exists.
    if (await log.find(tenant, id)) {
      throw new RelayError('conflict', {
        what: `Thread ${id} already exists.`,
        hint: `Delete it first with relay thread rm ${id}, or import into another home.`,
      });
    }
    const bundle = await readBundle(log, tenant, zip, manifest);
    return storeBundle(log, { caller, root, lock }, zip, bundle);
  });
  if (!answer) throw new RelayError('busy', { what: `thread ${id} is already being imported` });
  return answer;
}

/**
 * Stores a thread from a bundle. The meta record is written last: until then the thread is invisible. On an error,
 * everything is deleted.
 */
async function storeBundle(
  log: ThreadLog,
  { caller, root, lock }: { caller: Caller; root: ThreadRoot; lock: HeldLease },
  zip: ZipArchive,
  bundle: Bundle,
): Promise<ImportAnswer> {
  const { manifest, events, artifacts, ledger, damaged } = bundle;
  const { thread_id: id, name, created_by: by } = manifest;
  const { tenant, keyId: key } = caller;
  const { records } = log.deps.engine;
  await log.storage.admit(tenant, bundle.bytes);
  await clearThread(log, tenant, root);
  let head: Head = emptyHead(root);
  try {
    const importedArtifacts = await storeContents(log, { tenant, root }, zip, bundle);
    for (const event of events) {
      const next = await log.append(tenant, head, event, { imported: true });
      if (!next) throw new RelayError('busy', { what: `another import of thread ${id} is running` });
      head = next;
    }
    for (const what of COUNTERS) {
      if (ledger[what] > 0) await records.add(counterKey(root, what), ledger[what]);
    }
    if (!(await lock.isHeld()))
      throw new RelayError('busy', { what: `the import of thread ${id} took too long` });
    const created = Date.parse(manifest.created_at);
    await writeThreadRecords(log, root, { tenant, name, created, by, key });
    await log.index.begin(tenant, importedArtifacts);
    log.announce(head, events.at(-1)!);
    log.deps.activity.note(tenant, { kind: 'thread.created', by, thread: id, name: name || undefined });
    const state_ref = versionRef(head.version);
    const imported = { thread_id: id, name, state_ref, artifacts: artifacts.length, events: events.length };
    return damaged.size > 0 ? { ...imported, damaged: [...damaged].slice(0, DAMAGED_NAMED) } : imported;
  } catch (error) {
    await log.storage.freed(tenant, head.totals.stored);
    // Delete only while this process holds the lock. Otherwise the data may belong to another import.
    if (await lock.isHeld()) {
      await records.delete(metaKey(root));
      await clearThread(log, tenant, root);
    }
    throw error;
  }
}

/** Stores the artifacts of a bundle. Returns those that still have to be indexed. */
async function storeContents(
  log: ThreadLog,
  { tenant, root }: { tenant: string; root: ThreadRoot },
  zip: ZipArchive,
  { artifacts, damaged }: Bundle,
): Promise<Artifact[]> {
  const { blobs } = log.deps.engine;
  const storedArtifacts: Artifact[] = [];
  const storeArtifact = async (described: Artifact): Promise<Artifact[]> => {
    const { ref, size, hash, deleted_at } = described;
    const records = artifactRecords(log);
    const key = artifactKey(root, ref);
    if (deleted_at !== undefined || damaged.has(ref)) {
      const time = deleted_at === undefined ? {} : { deleted_at: isoTime(Date.parse(deleted_at)) };
      await records.put(key, { ...withoutContent(described), ...time });
      return [];
    }
    const scan = new ContentScan(streamFrom(zip.stream(zip.items.get(contentFile(described))!)), size);
    const stored = await blobs.put(artifactBlob(root, described), scan.body, { size });
    if (stored.sha256 !== hash) throw badBundle(`the content of artifact ${ref} does not match its hash`);
    const scanned = scan.result();
    const preview = await log.deps.texts.preview(artifactKind(described), scanned, { tenant });
    const artifact: Artifact = { ...described, preview };
    await records.put(key, artifact);
    if (isSearchResult(described)) return [];
    const isLong = scanned.isText && log.index.isLong(artifact);
    if (isLong) await log.index.plan(tenant, root, artifact);
    else await log.index.putShort(tenant, artifact, scanned.text);
    return isLong ? [artifact] : [];
  };
  for (const batch of contentBatches(artifacts))
    storedArtifacts.push(...(await mapConcurrent(batch, storeArtifact)).flat());
  return storedArtifacts;
}

type Bundle = Awaited<ReturnType<typeof readBundle>>;

async function readManifest(zip: ZipArchive): Promise<Manifest> {
  return checkManifest(parseJson(await text(zip, MANIFEST, FILE_BYTES), MANIFEST));
}

/**
 * Reads and checks a bundle, except the contents of its artifacts. Rejects a bundle with files that do not belong in
 * it.
 */
async function readBundle(log: ThreadLog, tenant: string, zip: ZipArchive, manifest: Manifest) {
  const files = new Map(manifest.files.map((file) => [file.path, file]));
  for (const name of zip.items.keys()) {
    if (name !== MANIFEST && !files.has(name)) throw badBundle(`${name} is not in the manifest`);
  }
  for (const { path, size } of manifest.files) {
    const item = zip.items.get(path);
    if (!item) throw badBundle(`${path} is missing`);
    if (item.size !== size) throw badBundle(`${path} does not have the size given in the manifest`);
  }
  const checked = async (path: string, limit: number) => {
    const content = await text(zip, path, limit);
    if ((await sha256Hex(content)) !== files.get(path)?.sha256)
      throw badBundle(`${path} does not match its hash`);
    return content;
  };
  await checked(STATE, 4 * STATE_BYTES);
  const ledger = checkLedger(parseJson(await checked(LEDGER, 4096), LEDGER));
  const artifacts = parseLines(await checked(ARTIFACTS, FILE_BYTES), ARTIFACTS).map((line) =>
    checkArtifact(line, manifest.thread_id),
  );
  const events: StoredEvent[] = [];
  let part = 1;
  for (; zip.items.has(eventsFile(part)); part++) {
    let parsed = 0;
    for (const line of (await checked(eventsFile(part), FILE_BYTES)).split('\n')) {
      if (line !== '') events.push(checkEvent(parseJson(line, eventsFile(part))));
      parsed += line.length;
      if (parsed < PARSED_CHARS) continue;
      parsed = 0;
      await pause(0);
    }
  }
  const damaged = new Set(manifest.damaged?.map(({ ref }) => ref));
  const present = artifacts.filter(({ deleted_at }) => deleted_at === undefined);
  const intact = present.filter(({ ref }) => !damaged.has(ref));
  if (intact.length + damaged.size !== present.length)
    throw badBundle('its list of damaged contents names something that is not an artifact');
  for (const artifact of intact) checkContent(artifact, files);
  if (intact.length + part + 2 !== manifest.files.length)
    throw badBundle('it has files that nothing refers to');
  const start = emptyHead(bareRoot(manifest.thread_id));
  const job = { kind: 'check', start, versions: [] } as const;
  const folded = await log.deps.texts.fold(async () => ({ job, events }), { tenant });
  const begins = events[0]?.type === 'thread.created' && makesVersion(events[0]);
  if (!begins || folded.version !== manifest.state_version || folded.count !== manifest.events) {
    throw badBundle('its events do not match its manifest');
  }
  if (folded.stateHash !== files.get(STATE)?.sha256)
    throw badBundle('replaying its events gives a different state');
  const refs = artifacts.map(({ ref }) => ref).join();
  if (refs !== folded.refs.join() || artifacts.length !== manifest.artifacts) {
    throw badBundle('its artifacts do not match its events');
  }
  const bytes = folded.stored;
  if (intact.reduce((sum, { size }) => sum + artifactStorageBytes(size), folded.eventBytes) > bytes)
    throw badBundle('its contents are larger than its events say');
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
    throw badBundle('its manifest has an unknown schema');
  const { thread_id, created_at, files, damaged = [] } = manifest;
  const isValid =
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
  if (!isValid) throw badBundle('its manifest is invalid');
  return manifest;
}

/**
 * Checks the description of an artifact, except for the preview. A bundle may come from anybody and models
 * read previews, so the relay makes a new preview from the content.
 */
function checkArtifact(value: Json, threadId: string): Artifact {
  const artifact = fromJson<Artifact>(value);
  const { provenance: from, tokens } = artifact ?? {};
  const texts = [artifact?.type, artifact?.mime, artifact?.name, artifact?.hash, artifact?.created_at];
  const isValid =
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
  if (!isValid) throw badBundle('the description of an artifact is invalid');
  return artifact;
}

function checkContent(artifact: Artifact, files: ReadonlyMap<string, ManifestFile>): void {
  const { ref, size, hash } = artifact;
  const file = files.get(contentFile(artifact));
  if (file?.size !== size || file.sha256 !== hash || size > ARTIFACT_BYTES) {
    throw badBundle(`artifact ${ref} does not match its file`);
  }
}

function checkLedger(value: Json): Counters {
  const ledger = fromJson<Counters>(value);
  // The ledger of a bundle may come from another version of the relay. Counters that it lacks are 0, and counters that
  // this version does not know are ignored.
  const figures = COUNTERS.map((what) => [what, ledger?.[what] ?? 0] as const);
  if (!figures.every(([, figure]) => isCount(figure)))
    throw badBundle('ledger.json, the file with its token counts, is invalid');
  return Object.fromEntries(figures) as Counters;
}

/** Checks that this relay could have written the event of a bundle. */
function checkEvent(value: Json): StoredEvent {
  const event = fromJson<StoredEvent>(value);
  const isDigest = (field: unknown) => field === undefined || isText(field, 64);
  const isValid =
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
  if (!isValid) throw badBundle('an event is invalid');
  if (event.type === 'artifact.created' && !event.legacy && !isJsonObject(event.payload.tokens))
    throw badBundle('an event is invalid');
  if (event.type !== 'thread.created' && !('ops' in event.payload) && eventBytes(event) > 256 * 1024) {
    throw badBundle('an event is too large');
  }
  return event;
}

/** Checks the original data of an event from a Go relay. Only the import from a Go relay writes such data. */
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

async function text(zip: ZipArchive, name: string, limit: number): Promise<string> {
  const item = zip.items.get(name);
  if (!item) throw badBundle(`${name} is missing`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await zip.bytes(item, limit));
  } catch (error) {
    throw isRelayError(error) ? error : badBundle(`${name} is not text`);
  }
}

function parseJson(json: string, name: string): Json {
  try {
    return JSON.parse(json) as Json;
  } catch {
    throw badBundle(`${name} is not JSON`);
  }
}

function parseLines(content: string, name: string): Json[] {
  return content
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => parseJson(line, name));
}
