import { RelayError } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import { BUNDLE_BYTES, ORPHAN_AGE_MS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { ImportAnswer } from '../../contract/threads/answers.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import { openZip, type ZipArchive, type ZipSource } from '../../formats/zip/zip-reader.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import { makePreview } from '../../text/preview/preview.ts';
import type { Deps } from '../deps.ts';
import { recordsOf } from '../records.ts';
import { KINDS } from './artifact-kind.ts';
import type { Artifacts } from './artifacts.ts';
import { badBundle, contentFile, type LedgerFile, streamOf, wholeBody } from './bundle.ts';
import { type Bundle, foldChecked, readBundle } from './bundle-read.ts';
import { ContentScan } from './content-scan.ts';
import { emptyHead, type Head } from './fold.ts';
import { artifactBlob, artifactKey, hopsKey, ledgerKey, metaKey } from './keys.ts';
import type { Removal } from './removal.ts';
import type { ThreadLog } from './thread-log.ts';
import type { Threads } from './threads.ts';
import { versionRef } from './version.ts';

/** Takes a bundle in, whole or not at all. */
export class BundleImport {
  readonly #deps: Deps;
  readonly #log: ThreadLog;
  readonly #threads: Threads;
  readonly #artifacts: Artifacts;
  readonly #removal: Removal;

  constructor(deps: Deps, log: ThreadLog, threads: Threads, artifacts: Artifacts, removal: Removal) {
    this.#deps = deps;
    this.#log = log;
    this.#threads = threads;
    this.#artifacts = artifacts;
    this.#removal = removal;
  }

  async import(caller: Caller, body: BlobBody): Promise<ImportAnswer> {
    if (body instanceof Uint8Array) return this.#from(caller, inMemory(body));
    // A ZIP is read from its end, so a stream is put down first.
    const { engine, env } = this.#deps;
    const key = `ten.${caller.tenant}/imports/${toHex(env.randomBytes(12))}`;
    try {
      const { size } = await engine.blobs.put(key, atMost(body, BUNDLE_BYTES), {
        expiresAt: env.now() + ORPHAN_AGE_MS,
      });
      return await this.#from(caller, {
        size,
        read: async (start, end) => {
          const found = await engine.blobs.get(key, { start, end });
          if (!found) throw badBundle('it is gone');
          return wholeBody(found.body);
        },
      });
    } finally {
      await engine.blobs.delete(key);
    }
  }

  async #from(caller: Caller, source: ZipSource): Promise<ImportAnswer> {
    const zip = await openZip(source);
    const bundle = await readBundle(zip);
    const id = bundle.manifest.thread_id;
    const { engine, env } = this.#deps;
    const { records } = engine;
    const turn = `ten.${caller.tenant}/importing/${id}`;
    if ((await records.put(turn, 1, { expect: 'absent', expiresAt: env.now() + ORPHAN_AGE_MS })) === null) {
      throw new RelayError('busy', { what: `thread ${id} is being imported already` });
    }
    try {
      return await this.#store(caller, zip, bundle);
    } finally {
      await records.delete(turn);
    }
  }

  /** The record that makes it a thread comes last: until then there is nothing to see, and a failure leaves nothing. */
  async #store(caller: Caller, zip: ZipArchive, bundle: Bundle): Promise<ImportAnswer> {
    const { manifest, events, artifacts, ledger } = bundle;
    const id = manifest.thread_id;
    const { records } = this.#deps.engine;
    if (await records.get(metaKey(id))) {
      throw new RelayError('conflict', {
        what: `Thread ${id} is here already.`,
        hint: `Delete it first with relay thread rm ${id}, or import into another home.`,
      });
    }
    await this.#removal.clear(caller.tenant, id);
    const created = Date.parse(manifest.created_at);
    try {
      const kept = await this.#contents(zip, artifacts);
      let head: Head = emptyHead(id);
      for (const event of events) {
        const next = await this.#log.append(head, event, foldChecked(head, event));
        if (!next) throw new RelayError('busy', { what: `someone else is importing thread ${id}` });
        head = next;
      }
      await this.#counters(id, ledger);
      await this.#threads.introduce(id, {
        tenant: caller.tenant,
        name: manifest.name,
        created,
        by: manifest.created_by,
      });
      for (const { artifact, text } of kept) {
        if (artifact.provenance.capability !== 'retrieval.search') {
          await this.#artifacts.index(caller.tenant, artifact, text).catch(() => {});
        }
      }
      this.#log.announce(head, events.at(-1)!);
      const { length } = events;
      const state_ref = versionRef(head.version);
      return { thread_id: id, name: manifest.name, state_ref, artifacts: artifacts.length, events: length };
    } catch (error) {
      await records.delete(metaKey(id));
      await this.#removal.clear(caller.tenant, id);
      throw error;
    }
  }

  async #contents(
    zip: ZipArchive,
    artifacts: readonly Artifact[],
  ): Promise<{ artifact: Artifact; text: string }[]> {
    const { blobs } = this.#deps.engine;
    const records = recordsOf<Artifact>(this.#deps.engine.records);
    const kept: { artifact: Artifact; text: string }[] = [];
    for (const described of artifacts) {
      const { ref, type, thread_id, size, hash } = described;
      const { ext } = KINDS[type];
      const scan = new ContentScan(streamOf(zip.stream(zip.items.get(contentFile(ref, ext))!)), size);
      const stored = await blobs.put(artifactBlob(thread_id, ref, ext), scan.body, { size });
      if (stored.sha256 !== hash) throw badBundle(`the content of artifact ${ref} has another hash`);
      const seen = scan.seen();
      const artifact: Artifact = { ...described, preview: makePreview(type, seen) };
      await records.put(artifactKey(thread_id, ref), artifact);
      kept.push({ artifact, text: seen.text.slice(0, 100_000) });
    }
    return kept;
  }

  async #counters(id: string, ledger: LedgerFile): Promise<void> {
    const { records } = this.#deps.engine;
    for (const what of ['headers', 'header_reads', 'previews', 'preview_reads'] as const) {
      if (ledger[what] > 0) await records.add(ledgerKey(id, what), ledger[what]);
    }
    if (ledger.hops > 0) await records.add(hopsKey(id), ledger.hops);
  }
}

function inMemory(bytes: Uint8Array): ZipSource {
  return { size: bytes.length, read: async (start, end) => bytes.subarray(start, end) };
}

function atMost(source: ReadableStream<Uint8Array>, limit: number): ReadableStream<Uint8Array> {
  let size = 0;
  return source.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        size += chunk.length;
        if (size > limit) throw new RelayError('too_large', { what: 'a bundle', limit });
        controller.enqueue(chunk);
      },
    }),
  );
}
