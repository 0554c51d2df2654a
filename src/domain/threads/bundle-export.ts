import { readBytes, streamFrom } from '../../base/byte-streams.ts';
import { isRelayError } from '../../base/errors.ts';
import { crc32, sha256Hex } from '../../base/hash.ts';
import { DAMAGED_NAMED } from '../../base/limits.ts';
import type { Artifact } from '../../contract/threads.ts';
import { writeZip, type ZipEntry } from '../../formats/zip/zip-writer.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import { extensionOf } from './artifact-kind.ts';
import { openArtifact, readArtifact } from './artifacts.ts';
import type { StoredEvent } from './event.ts';
import type { Head } from './fold.ts';
import { serializeState } from './fold-job.ts';
import type { Counters, ThreadRoot } from './keys.ts';
import { isoTime } from './state.ts';
import type { ThreadLog, ThreadVerb } from './thread-log.ts';

export const BUNDLE_SCHEMA = 'com.relay.bundle.v1';

export const MANIFEST = 'manifest.json';
export const STATE = 'state.json';
export const LEDGER = 'ledger.json';
export const ARTIFACTS = 'artifacts.ndjson';
/** Returns the path of a file of events in the archive. `part` counts from 1. */
export const eventsFile = (part: number) => `events/${String(part).padStart(6, '0')}.ndjson`;
/** Returns the path of an artifact's content in the archive. */
export const contentFile = (about: Pick<Artifact, 'ref' | 'type' | 'name' | 'mime'>) =>
  `artifacts/${about.ref}.${extensionOf(about)}`;

/** Approximate size of one file of events, in bytes. */
const EVENTS_FILE_BYTES = 4 * 1024 * 1024;

/** Manifest of a bundle (the ZIP export of a thread). It describes the thread and lists the files with their hashes. */
export interface Manifest {
  readonly schema: typeof BUNDLE_SCHEMA;
  readonly thread_id: string;
  readonly name: string;
  readonly created_at: string;
  readonly created_by: string;
  readonly state_version: number;
  readonly events: number;
  readonly artifacts: number;
  /** All files except the manifest, in the order in which the archive contains them. */
  readonly files: readonly ManifestFile[];
  /**
   * Artifact contents that were missing or damaged, so the archive does not contain them. Absent if there were none.
   */
  readonly damaged?: readonly DamagedFile[];
}

interface DamagedFile {
  readonly ref: string;
  /** Path that the content would have in the archive if it were not damaged. */
  readonly path: string;
  readonly what: 'missing' | 'changed' | 'unreadable';
}

export interface ManifestFile {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

/**
 * Maximum size in bytes of an artifact content that is compressed. A larger content is streamed twice, for its
 * checksum and for the archive, so that it is never in memory as a whole.
 */
const PACKED_BYTES = 8 * 1024 * 1024;
const BATCH_ITEMS = 32;

/** The data of a thread that goes into a bundle. */
interface BundleParts {
  readonly head: Head;
  readonly about: Pick<Manifest, 'name' | 'created_at' | 'created_by'>;
  readonly ledger: Partial<Counters>;
  /** Events of the thread. Only the first `head.count` are written. */
  readonly events: AsyncIterable<{ event: StoredEvent }> | Iterable<{ event: StoredEvent }>;
  readonly artifacts: readonly Artifact[];
  readonly damaged?: readonly DamagedFile[];
  /** Opens the content of an artifact. Called twice for a content that is too large to be in memory. */
  open(artifact: Artifact): Promise<BlobBody>;
}

/**
 * Exports the current state of a thread as a bundle. Damaged contents are left out, and the manifest lists
 * them.
 */
export const exportThread: ThreadVerb<'export'> = async (log, caller, id) => {
  const { name, created, by } = await log.meta(caller, id);
  await log.ledger.flush();
  const head = await log.head(caller, id);
  const refs = head.refs.slice(0, head.totals.artifacts);
  const artifacts = await Promise.all(refs.map((ref) => readArtifact(log, head.root, ref)));
  const damaged = await findDamaged(log, head.root, artifacts);
  const body = writeBundle({
    head,
    about: { name, created_at: isoTime(created), created_by: by },
    ledger: await log.ledger.counters(head.root),
    events: log.heads.events(head.root, 0),
    artifacts,
    damaged,
    open: (artifact) => openArtifact(log, head.root, artifact),
  });
  const named = damaged.slice(0, DAMAGED_NAMED).map(({ ref }) => ref);
  return { body, name: `thread-${head.id}.zip`, damaged: named };
};

/**
 * Returns the damaged contents. Reads all contents and compares their hashes before the first byte is sent,
 * so that the response headers can name the damaged contents.
 */
async function findDamaged(
  log: ThreadLog,
  root: ThreadRoot,
  artifacts: readonly Artifact[],
): Promise<DamagedFile[]> {
  const damaged: DamagedFile[] = [];
  for (const batch of contentBatches(artifacts.filter(({ deleted_at }) => deleted_at === undefined))) {
    const faults = await Promise.all(
      batch.map((artifact) => findFault(artifact.hash, () => openArtifact(log, root, artifact))),
    );
    for (const [i, artifact] of batch.entries()) {
      const what = faults[i] ?? null;
      if (what !== null) damaged.push({ ref: artifact.ref, path: contentFile(artifact), what });
    }
  }
  return damaged;
}

/**
 * Splits artifacts into batches whose contents are read concurrently. Limits the number of contents and the
 * bytes of a batch.
 */
export function* contentBatches(artifacts: readonly Artifact[]): Generator<Artifact[]> {
  let batch: Artifact[] = [];
  let bytes = 0;
  for (const artifact of artifacts) {
    if (batch.length === BATCH_ITEMS || bytes + artifact.size > PACKED_BYTES) {
      if (batch.length > 0) yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(artifact);
    bytes += artifact.size;
  }
  if (batch.length > 0) yield batch;
}

async function findFault(hash: string, open: () => Promise<BlobBody>): Promise<DamagedFile['what'] | null> {
  try {
    const bytes = await readBytes(await open());
    return (await sha256Hex(bytes as Uint8Array<ArrayBuffer>)) === hash ? null : 'changed';
  } catch (error) {
    const fault = isRelayError(error, 'store_damaged') ? error.details.fault : undefined;
    if (fault === 'missing' || isRelayError(error, 'not_found')) return 'missing';
    return fault === undefined ? 'unreadable' : 'changed';
  }
}

/** Writes a thread as a ZIP archive. */
export function writeBundle(parts: BundleParts): ReadableStream<Uint8Array> {
  return streamFrom(writeZip(bundleEntries(parts)));
}

/** Yields the files of the archive. The manifest comes last, because it lists all others. */
async function* bundleEntries(parts: BundleParts): AsyncGenerator<ZipEntry> {
  const { head, about, artifacts, damaged = [] } = parts;
  const damagedRefs = new Set(damaged.map(({ ref }) => ref));
  const files: ManifestFile[] = [];
  const textEntry = async (path: string, text: string): Promise<ZipEntry> => {
    const bytes = new TextEncoder().encode(text);
    files.push({ path, size: bytes.length, sha256: await sha256Hex(bytes) });
    return { name: path, bytes };
  };
  yield await textEntry(STATE, serializeState(head.state));
  yield await textEntry(LEDGER, `${JSON.stringify(parts.ledger)}\n`);
  let part = 0;
  for await (const text of eventTexts(parts)) yield await textEntry(eventsFile(++part), text);
  yield await textEntry(ARTIFACTS, artifacts.map((artifact) => `${JSON.stringify(artifact)}\n`).join(''));
  const readable = artifacts.filter(
    ({ deleted_at, ref }) => deleted_at === undefined && !damagedRefs.has(ref),
  );
  for (const batch of contentBatches(readable)) {
    for (const artifact of batch)
      files.push({ path: contentFile(artifact), size: artifact.size, sha256: artifact.hash });
    yield* await Promise.all(batch.map((artifact) => contentEntry(parts, artifact)));
  }
  const manifest: Manifest = {
    schema: BUNDLE_SCHEMA,
    thread_id: head.id,
    ...about,
    state_version: head.version,
    events: head.count,
    artifacts: artifacts.length,
    files,
    ...(damaged.length > 0 ? { damaged } : {}),
  };
  yield { name: MANIFEST, bytes: new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`) };
}

async function* eventTexts({ events, head }: BundleParts): AsyncGenerator<string> {
  let text = '';
  let count = 0;
  for await (const { event } of events) {
    if (count++ === head.count) break;
    text += `${JSON.stringify(event)}\n`;
    if (text.length > EVENTS_FILE_BYTES) {
      yield text;
      text = '';
    }
  }
  if (text !== '') yield text;
}

async function contentEntry({ open }: BundleParts, artifact: Artifact): Promise<ZipEntry> {
  const { size } = artifact;
  const name = contentFile(artifact);
  if (size <= PACKED_BYTES) return { name, bytes: await readBytes(await open(artifact)) };
  const chunks = async () => {
    const body = await open(artifact);
    return body instanceof Uint8Array ? [body] : body;
  };
  let crc = 0;
  for await (const chunk of await chunks()) crc = crc32(chunk, crc);
  return { name, size, crc, open: chunks };
}
