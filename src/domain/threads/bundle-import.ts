import { readBeginning, readBytes, readThrough, streamFrom } from '../../base/byte-streams.ts';
import { RelayError, tooLarge } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import { BUNDLE_BYTES, DAMAGED_NAMED, ORPHAN_AGE_MS } from '../../base/limits.ts';
import { mapConcurrent } from '../../base/map-concurrent.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Artifact, ImportAnswer } from '../../contract/threads.ts';
import { openZip, type ZipArchive, type ZipSource } from '../../formats/zip/zip-reader.ts';
import { isSearchResult } from './artifact-index.ts';
import { extensionOf, kindOf } from './artifact-kind.ts';
import { artifactRecords, withoutContent } from './artifacts.ts';
import { type Bundle, badBundle, contentFile, readBundle, readManifest } from './bundle.ts';
import { inTurns } from './bundle-export.ts';
import { ContentScan } from './content-scan.ts';
import { emptyHead, type Head } from './fold.ts';
import {
  artifactBlob,
  artifactKey,
  COUNTERS,
  counterKey,
  metaKey,
  rootsFor,
  type ThreadRoot,
} from './keys.ts';
import { isoTime, versionRef } from './state.ts';
import type { ThreadLog, ThreadVerb } from './thread-log.ts';
import { clearThread, inTurn, type Turn } from './thread-removal.ts';
import { introduceThread } from './threads.ts';

/** A bundle up to this is read from memory. */
const HELD_BYTES = 8 * 1024 * 1024;

/** Takes a bundle in, whole or not at all. */
export const importThread: ThreadVerb<'import'> = async (log, caller, body) => {
  if (body instanceof Uint8Array) {
    return importFrom(log, caller, {
      size: body.length,
      read: async (start, end) => body.subarray(start, end),
    });
  }
  // A ZIP is read from its end, so a stream is put down first, unless it is small.
  const { engine, env } = log.deps;
  const key = `ten.${caller.tenant}/imports/${toHex(env.randomBytes(12))}`;
  const begun = await readBeginning(atMost(body, BUNDLE_BYTES), HELD_BYTES);
  if (begun instanceof Uint8Array) return importThread(log, caller, begun);
  try {
    const { size } = await engine.blobs.put(key, begun, { expiresAt: env.now() + ORPHAN_AGE_MS });
    return await importFrom(log, caller, {
      size,
      read: async (start, end) => {
        const found = await engine.blobs.get(key, { start, end });
        if (!found) throw badBundle('it is gone');
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
  const answer = await inTurn(log, root, async (turn) => {
    // To fold the events of a bundle takes long, so a thread that is here already is looked for first.
    if (await log.find(tenant, id)) {
      throw new RelayError('conflict', {
        what: `Thread ${id} is here already.`,
        hint: `Delete it first with relay thread rm ${id}, or import into another home.`,
      });
    }
    const bundle = await readBundle(zip, manifest, (start, events) =>
      log.deps.texts.fold({ kind: 'check', start, versions: [] }, each(events), { tenant }),
    );
    return store(log, { caller, root, turn }, zip, bundle);
  });
  if (!answer) throw new RelayError('busy', { what: `thread ${id} is being imported already` });
  return answer;
}

/** The record that makes it a thread comes last: until then there is nothing to see, and a failure leaves nothing. */
async function store(
  log: ThreadLog,
  { caller, root, turn }: { caller: Caller; root: ThreadRoot; turn: Turn },
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
    const kept = await storeContents(log, { tenant, root }, zip, bundle);
    for (const event of events) {
      const next = await log.append(tenant, head, event, { old: true });
      if (!next) throw new RelayError('busy', { what: `someone else is importing thread ${id}` });
      head = next;
    }
    for (const what of COUNTERS) {
      if (ledger[what] > 0) await records.add(counterKey(root, what), ledger[what]);
    }
    if (!(await turn.isMine()))
      throw new RelayError('busy', { what: `the import of thread ${id} took too long` });
    const created = Date.parse(manifest.created_at);
    await introduceThread(log, root, { tenant, name, created, by, key });
    await log.index.begin(tenant, kept);
    log.announce(head, events.at(-1)!);
    log.deps.activity.note(tenant, { kind: 'thread.created', by, thread: id, ...(name ? { name } : {}) });
    const state_ref = versionRef(head.version);
    const taken = { thread_id: id, name, state_ref, artifacts: artifacts.length, events: events.length };
    return damaged.size > 0 ? { ...taken, damaged: [...damaged].slice(0, DAMAGED_NAMED) } : taken;
  } catch (error) {
    await log.storage.freed(tenant, head.totals.stored);
    // What is there once the turn has ended may be another's.
    if (await turn.isMine()) {
      await records.delete(metaKey(root));
      await clearThread(log, tenant, root);
    }
    throw error;
  }
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

/** Gives the artifacts that are yet to be indexed. */
async function storeContents(
  log: ThreadLog,
  { tenant, root }: { tenant: string; root: ThreadRoot },
  zip: ZipArchive,
  { artifacts, damaged }: Bundle,
): Promise<Artifact[]> {
  const { blobs } = log.deps.engine;
  const kept: Artifact[] = [];
  const take = async (described: Artifact): Promise<Artifact[]> => {
    const { ref, size, hash, deleted_at } = described;
    const records = artifactRecords(log);
    const key = artifactKey(root, ref);
    if (deleted_at !== undefined) {
      const gone = { ...withoutContent(described), deleted_at: isoTime(Date.parse(deleted_at)) };
      await records.put(key, gone);
      return [];
    }
    if (damaged.has(ref)) {
      await records.put(key, withoutContent(described));
      return [];
    }
    const ext = extensionOf(described);
    const scan = new ContentScan(streamFrom(zip.stream(zip.items.get(contentFile(ref, ext))!)), size);
    const stored = await blobs.put(artifactBlob(root, ref, ext), scan.body, { size });
    if (stored.sha256 !== hash) throw badBundle(`the content of artifact ${ref} has another hash`);
    const seen = scan.seen();
    const preview = await log.deps.texts.preview(kindOf(described), seen, { tenant });
    const artifact: Artifact = { ...described, preview };
    await records.put(key, artifact);
    if (isSearchResult(described)) return [];
    const isLong = seen.isText && log.index.isLong(artifact);
    if (isLong) await log.index.plan(tenant, root, artifact);
    else await log.index.putShort(tenant, artifact, seen.text);
    return isLong ? [artifact] : [];
  };
  for (const some of inTurns(artifacts)) kept.push(...(await mapConcurrent(some, take)).flat());
  return kept;
}

function atMost(source: ReadableStream<Uint8Array>, limit: number): ReadableStream<Uint8Array> {
  let size = 0;
  return readThrough(source, async (next) => {
    const read = await next();
    size += read.value?.length ?? 0;
    if (size > limit) throw tooLarge('a bundle', limit);
    return read;
  });
}
