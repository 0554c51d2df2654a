import { readBytes } from '../../base/byte-streams.ts';
import { isRelayError, RelayError } from '../../base/errors.ts';
import {
  ARTIFACT_BYTES,
  INDEX_AT_ONCE_BYTES,
  INDEX_WAIT_MS,
  ORPHAN_AGE_MS,
  UNSEARCHED_NAMED,
} from '../../base/limits.ts';
import { mapConcurrent } from '../../base/map-concurrent.ts';
import { pause } from '../../base/pause.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import type { Unsearched } from '../../contract/threads/search.ts';
import { sectionKey } from '../../kernel/search-index.ts';
import type { Background } from '../background.ts';
import type { Deps } from '../deps.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';
import { extensionOf } from './artifact-kind.ts';
import { ALWAYS_INDEXED_BYTES, type FindThread, IndexPass, isSearchResult } from './index-pass.ts';
import { artifactBlob, artifactKey, indexKey, type ThreadRoot } from './keys.ts';
import { nextSections, type Place, sectionCount, TEXT_START } from './text-sections.ts';

/** How far a long artifact is indexed. The record is there for as long as that is not all of it. */
interface Unfinished extends Place {
  /** Where its thread is kept. */
  readonly root: ThreadRoot;
  readonly size: number;
  /** When it was stored: its artifact may not be there yet. */
  readonly at: number;
  /** How many bytes an earlier version has indexed, at least. */
  readonly known?: number;
}

/** The pause before an artifact whose indexing failed is tried again. */
const RETRY_MS = 60_000;
/** How long a search waits for the first look at what a tenant has. */
const PASS_WAIT_MS = 250;
/** Indexing continues for so long while the store is being closed, so that commands without a server finish it too. */
const CLOSING_MS = 2_000;

/** What tells which sections of an artifact are in the index. */
type Indexed = Pick<Artifact, 'thread_id' | 'ref' | 'size'>;

const unfinishedPrefix = (tenant: string, id?: string) =>
  `ten.${tenant}/indexing/${id === undefined ? '' : `${id}/`}`;
const unfinishedKey = (tenant: string, { thread_id, ref }: Pick<Artifact, 'thread_id' | 'ref'>) =>
  `${unfinishedPrefix(tenant, thread_id)}${ref}`;

/**
 * Keeps the search index in step with the contents of artifacts. A short text is indexed with the event that stores it. A longer
 * one is noted in a record before, and indexed from its blob section by section; the record says how far that is, so it goes on
 * after a crash, with the next search, and a search tells what it did not see yet.
 */
export class ArtifactIndex {
  readonly #deps: Deps;
  readonly #background: Background;
  readonly #unfinished: RecordsOf<Unfinished>;
  readonly #pass: IndexPass;
  readonly #most: number;
  /** What this process is indexing, by the key of its record. */
  readonly #running = new Map<string, Promise<void>>();
  /** When what failed may be tried again, by the same. */
  readonly #failed = new Map<string, number>();
  /** Tenants whose leftovers this process is dealing with. */
  readonly #resuming = new Map<string, Promise<void>>();
  #stopAt = Number.POSITIVE_INFINITY;

  constructor(deps: Deps, background: Background, find: FindThread) {
    this.#deps = deps;
    this.#background = background;
    this.#unfinished = recordsOf(deps.engine.records);
    this.#pass = new IndexPass(deps, find);
    this.#most = deps.engine.limits.indexedBytes ?? ARTIFACT_BYTES;
  }

  /** Whether indexing the artifact takes so long that the answer does not wait for all of it. */
  isLong({ size }: Pick<Artifact, 'size'>): boolean {
    return size > INDEX_AT_ONCE_BYTES;
  }

  /** Notes that a long artifact is to be indexed. Before it is stored, so that a crash cannot come between. */
  async plan(tenant: string, root: ThreadRoot, artifact: Artifact, at = this.#deps.env.now()): Promise<void> {
    await this.#pass.begin(tenant, at);
    const { size } = artifact;
    await this.#unfinished.put(unfinishedKey(tenant, artifact), { ...TEXT_START, root, size, at });
  }

  /** Indexes a short text whole; the name stands above it. Also the name alone, of what is no text. */
  async putShort(tenant: string, artifact: Artifact, text: string): Promise<void> {
    await this.#put(tenant, artifact, { number: 0, text, line: 1 });
  }

  /** Indexes planned artifacts, and waits for that up to a limit. Whatever takes longer or fails is continued later. */
  async begin(tenant: string, artifacts: readonly Artifact[]): Promise<void> {
    const waited = new AbortController();
    const [long, short] = [artifacts.filter(this.isLong), artifacts.filter((one) => !this.isLong(one))];
    const indexing = mapConcurrent(short, (artifact) => this.#try(tenant, artifact))
      .then(() => this.#inTurn(tenant, long))
      .finally(() => waited.abort());
    this.#background.run(() => indexing);
    const { indexWaitMs = INDEX_WAIT_MS } = this.#deps;
    await (indexWaitMs === Number.POSITIVE_INFINITY ? indexing : pause(indexWaitMs, waited.signal));
  }

  /** Indexes an artifact anew, to its end. False where its content is missing or damaged. */
  async rebuild(tenant: string, root: ThreadRoot, artifact: Artifact): Promise<boolean> {
    try {
      const found = await this.#deps.engine.blobs.get(contentOf(root, artifact));
      if (!found) return false;
      if (found.body instanceof ReadableStream) await found.body.cancel();
      if (isSearchResult(artifact)) return true;
      if (artifact.type === 'binary') await this.putShort(tenant, artifact, '');
      else {
        await this.plan(tenant, root, artifact);
        await this.#index(tenant, artifact);
      }
      return true;
    } catch (error) {
      if (isRelayError(error, 'store_damaged') || isRelayError(error, 'not_found')) return false;
      throw error;
    }
  }

  async remove(tenant: string, ...artifacts: Indexed[]): Promise<void> {
    if (artifacts.length === 0) return;
    // First, so that whoever is indexing one sees that it is not wanted any more.
    await Promise.all(artifacts.map((one) => this.#unfinished.delete(unfinishedKey(tenant, one))));
    await this.#removeSections(tenant, artifacts);
  }

  /** What a search of one thread, or of all threads, does not see; undefined where it sees everything. Continues the indexing. */
  async unsearched(tenant: string, id: string | null): Promise<Unsearched | undefined> {
    let isPassed = (await this.#pass.begin(tenant)) === null;
    const isResumed = !isPassed;
    if (isResumed) {
      const waited = new AbortController();
      const passing = this.#resume(tenant, () => waited.abort());
      this.#background.run(() => passing);
      await pause(PASS_WAIT_MS, waited.signal);
      isPassed = (await this.#pass.begin(tenant)) === null;
    }
    const { items } = await this.#unfinished.list(unfinishedPrefix(tenant, id ?? undefined), {
      limit: UNSEARCHED_NAMED,
    });
    const indexing = !isPassed || items.some(({ value }) => !this.#isDone(value));
    if (indexing && !isResumed) this.#background.run(() => this.#resume(tenant));
    if (!indexing && items.length === 0) return undefined;
    const artifacts = items.map(({ key, value: { size, done, known = 0 } }) => {
      const [thread_id = '', ref = ''] = key.split('/').slice(-2);
      return { ref, thread_id, size, searched: Math.max(done, known) };
    });
    return { indexing, artifacts };
  }

  /** Continues what an earlier process left, and indexes again what an earlier version indexed in part. */
  resume(tenant: string): void {
    this.#background.run(() => this.#resume(tenant));
  }

  /** The store is about to be closed: indexing stops soon, and the next process continues it. */
  closing(): void {
    this.#stopAt = performance.now() + CLOSING_MS;
  }

  get #isOver(): boolean {
    return performance.now() > this.#stopAt;
  }

  #isDone({ done, size }: Unfinished): boolean {
    return done >= Math.min(size, this.#most);
  }

  /** `passed` is called once the threads of the tenant have been looked through, or no more of them are for now. */
  #resume(tenant: string, passed: () => void = () => {}): Promise<void> {
    const resume = async () => {
      const isPassed = await this.#pass
        .goOn(tenant, {
          isOver: () => this.#isOver,
          found: (root, artifact) => this.#note(tenant, root, artifact),
        })
        .finally(passed);
      if (!isPassed) return;
      for await (const { key, value } of allRecords(this.#unfinished, unfinishedPrefix(tenant))) {
        if (this.#isOver) return;
        if (this.#isDone(value) || performance.now() < (this.#failed.get(key) ?? 0)) continue;
        const ref = key.slice(key.lastIndexOf('/') + 1);
        const stored = await this.#artifacts.get(artifactKey(value.root, ref));
        if (!stored) {
          if (value.at < this.#deps.env.now() - ORPHAN_AGE_MS) await this.#unfinished.delete(key);
          continue;
        }
        await this.#try(tenant, stored.value);
        if (this.#deps.engine.limits.shortLived) return;
      }
    };
    const running = this.#resuming.get(tenant) ?? resume().finally(() => this.#resuming.delete(tenant));
    this.#resuming.set(tenant, running);
    return running.finally(passed);
  }

  /** Has an artifact indexed again that an earlier version indexed in part. */
  async #note(tenant: string, root: ThreadRoot, artifact: Artifact): Promise<void> {
    const known = { size: artifact.size, at: this.#deps.env.now(), known: ALWAYS_INDEXED_BYTES };
    const unfinished = { ...TEXT_START, root, ...known };
    await this.#unfinished.put(unfinishedKey(tenant, artifact), unfinished, { expect: 'absent' });
  }

  async #inTurn(tenant: string, artifacts: readonly Artifact[]): Promise<void> {
    for (const artifact of artifacts) await this.#try(tenant, artifact);
  }

  /** Never fails: what does not work now is tried again later. */
  #try(tenant: string, artifact: Artifact): Promise<void> {
    const key = unfinishedKey(tenant, artifact);
    const running =
      this.#running.get(key) ??
      this.#index(tenant, artifact)
        .catch(() => void this.#failed.set(key, performance.now() + RETRY_MS))
        .finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }

  async #index(tenant: string, artifact: Artifact): Promise<void> {
    const key = unfinishedKey(tenant, artifact);
    const [size, most] = [artifact.size, this.#most];
    for (let stored = await this.#unfinished.get(key); stored && !this.#isOver; ) {
      const { value, revision } = stored;
      const next = await nextSections(this.#reader(value.root, artifact), { size, most }, value).catch(
        (error) => {
          if (error instanceof TypeError) return null;
          throw error;
        },
      );
      if (next === null || size === 0) await this.#nameAlone(tenant, artifact, value);
      // The first section comes last: it replaces what an earlier version put under its key.
      else
        await Promise.all(next.sections.toReversed().map((section) => this.#put(tenant, artifact, section)));
      const place = next?.place ?? { ...TEXT_START, done: size };
      const after = { ...value, ...place };
      const isAll = place.done >= size;
      const kept = isAll
        ? await this.#unfinished.delete(key, { expect: revision })
        : await this.#unfinished.put(key, after, { expect: revision });
      if (kept === false || kept === null) return this.#overtaken(tenant, value.root, artifact);
      if (isAll || this.#isDone(after)) return;
      stored = { value: after, revision: kept as number };
    }
  }

  /** Somebody else indexes it too, or has deleted it; then what was indexed since goes as well. */
  async #overtaken(tenant: string, root: ThreadRoot, artifact: Artifact): Promise<void> {
    const stored = await this.#artifacts.get(artifactKey(root, artifact.ref));
    if (!stored || stored.value.deleted_at !== undefined) await this.remove(tenant, artifact);
  }

  /** What turns out to be no text, or is empty, is found by its name. */
  async #nameAlone(tenant: string, artifact: Artifact, { done }: Place): Promise<void> {
    if (done > 0) await this.#removeSections(tenant, [artifact]);
    await this.putShort(tenant, artifact, '');
  }

  async #removeSections(tenant: string, artifacts: readonly Indexed[]): Promise<void> {
    const keys = artifacts.flatMap(({ thread_id, ref, size }) => {
      const key = indexKey(tenant, thread_id, ref);
      return Array.from({ length: sectionCount(size) }, (_, section) => sectionKey(key, section));
    });
    await this.#deps.engine.index.remove(...keys);
  }

  #reader(root: ThreadRoot, artifact: Artifact): (start: number, end: number) => Promise<Uint8Array> {
    return async (start, end) => {
      const found = await this.#deps.engine.blobs.get(contentOf(root, artifact), { start, end });
      if (!found) throw new RelayError('not_found', { what: `the content of artifact ${artifact.ref}` });
      return readBytes(found.body);
    };
  }

  /** The first section begins with the name, on a line that is none of the content's. */
  async #put(
    tenant: string,
    { ref, thread_id, name, type }: Artifact,
    { number, text, line }: { readonly number: number; readonly text: string; readonly line: number },
  ): Promise<void> {
    const key = sectionKey(indexKey(tenant, thread_id, ref), number);
    const [shown, before] = number === 0 ? [`${name}\n${text}`, -1] : [text, line - 1];
    await this.#deps.engine.index.put(key, shown, { ref, thread_id, name, type, lines_before: before });
  }

  get #artifacts(): RecordsOf<Artifact> {
    return recordsOf(this.#deps.engine.records);
  }
}

function contentOf(root: ThreadRoot, artifact: Artifact): string {
  return artifactBlob(root, artifact.ref, extensionOf(artifact));
}
