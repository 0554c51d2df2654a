import { readBytes } from '../../base/byte-streams.ts';
import { isRelayError, RelayError } from '../../base/errors.ts';
import {
  ARTIFACT_BYTES,
  INDEX_AT_ONCE_BYTES,
  INDEX_SECTION_BYTES,
  INDEX_WAIT_MS,
  ORPHAN_AGE_MS,
  UNSEARCHED_NAMED,
} from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import type { Artifact, Unsearched } from '../../contract/threads.ts';
import { sectionKey } from '../../kernel/search-index.ts';
import type { Background } from '../background.ts';
import type { Deps } from '../deps.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';
import { artifactBlob, artifactKey, indexKey, listPrefix, type ThreadRoot, threadPrefix } from './keys.ts';

/** The parts of `ThreadLog` that the index uses. */
interface Log {
  readonly deps: Deps;
  readonly background: Background;
  find(tenant: string, id: string): Promise<{ readonly root: ThreadRoot } | null>;
}

/** Progress of indexing a long artifact. The record exists until the whole artifact is indexed. */
interface Unfinished extends Place {
  /** Root of the artifact's thread. All store keys of the thread begin with it. */
  readonly root: ThreadRoot;
  readonly size: number;
  /**
   * Time in ms at which this record was created. If the artifact does not exist an hour later, the record is
   * deleted.
   */
  readonly at: number;
  /** An earlier version of the relay has indexed at least this number of bytes at the start of the artifact. */
  readonly known?: number;
}

/**
 * Progress of the migration pass. The pass searches a tenant's threads for artifacts that an earlier version of the
 * relay indexed only in part. `after` is the list key of the last thread that was examined, or null when all threads
 * were examined. Artifacts created after `before` need no migration.
 */
interface Pass {
  readonly before: number;
  readonly after: string | null;
}

/** Number of bytes at the start of an artifact that earlier versions of the relay always indexed. */
const ALWAYS_INDEXED_BYTES = 100_000;
/** Number of threads examined per batch of the migration pass. The progress is saved after each batch. */
const THREADS_AT_ONCE = 20;
/** Time in ms for which a search continues the migration pass before it answers. */
const PASS_WAIT_MS = 250;
/**
 * Time in ms for which a closing store continues to index. Without a server, every command closes the store, so
 * indexing can delay the end of a command by this time.
 */
const CLOSING_MS = 2_000;

/** The fields that determine the index keys of an artifact. */
type Indexed = Pick<Artifact, 'thread_id' | 'ref' | 'size'>;

const passKey = (tenant: string) => `ten.${tenant}/index-pass`;
const unfinishedPrefix = (tenant: string, id?: string | null) =>
  `ten.${tenant}/indexing/${id ? `${id}/` : ''}`;
const unfinishedKey = (tenant: string, { thread_id, ref }: Pick<Artifact, 'thread_id' | 'ref'>) =>
  `${unfinishedPrefix(tenant, thread_id)}${ref}`;

/**
 * Keeps the search index in step with artifacts. A short text is indexed with the event that stores it. A
 * long text first gets a progress record, then its blob is indexed section by section. If a crash
 * interrupts this, the next search continues it. Every search reports what is not indexed yet.
 */
export class ArtifactIndex {
  readonly #log: Log;
  readonly #unfinished: RecordsOf<Unfinished>;
  readonly #passes: RecordsOf<Pass>;
  readonly #artifacts: RecordsOf<Artifact>;
  /** Maximum number of bytes of one artifact that the engine can index. */
  readonly #most: number;
  /**
   * Indexing that runs in this process. The key is the key of a progress record, or the prefix of all progress records
   * of a tenant.
   */
  readonly #running = new Map<string, Promise<void>>();
  #stopAt = Number.POSITIVE_INFINITY;

  constructor(log: Log) {
    const { records, limits } = log.deps.engine;
    this.#log = log;
    this.#unfinished = recordsOf(records);
    this.#passes = recordsOf(records);
    this.#artifacts = recordsOf(records);
    this.#most = limits.indexedBytes ?? ARTIFACT_BYTES;
  }

  /** Returns whether a text is indexed in the background, because indexing it takes long. */
  isLong({ size }: Pick<Artifact, 'size'>): boolean {
    return size > INDEX_AT_ONCE_BYTES;
  }

  /**
   * Creates the progress record of a long artifact. Call it before the artifact is stored: after a crash, a later
   * search then indexes the artifact.
   */
  async plan(
    tenant: string,
    root: ThreadRoot,
    artifact: Artifact,
    at = this.#log.deps.env.now(),
  ): Promise<void> {
    await this.#currentPass(tenant, at);
    const { size } = artifact;
    await this.#unfinished.put(unfinishedKey(tenant, artifact), { ...TEXT_START, root, size, at });
  }

  /** Indexes the name and text of a short artifact in one entry. `text` is empty for binary content. */
  putShort(tenant: string, artifact: Artifact, text: string): Promise<void> {
    return this.#put(tenant, artifact, { number: 0, text, line: 1 });
  }

  /**
   * Indexes long artifacts, which have progress records, and waits a limited time for the result. Indexing that takes
   * longer or fails is continued by a later search.
   */
  async begin(tenant: string, artifacts: readonly Artifact[]): Promise<void> {
    const done = new AbortController();
    const index = async () => {
      for (const artifact of artifacts) await this.#try(tenant, artifact);
    };
    const indexing = index().finally(() => done.abort());
    this.#log.background.run(() => indexing);
    const { indexWaitMs = INDEX_WAIT_MS } = this.#log.deps;
    await (indexWaitMs === Number.POSITIVE_INFINITY ? indexing : pause(indexWaitMs, done.signal));
  }

  /** Indexes an artifact again, completely. Returns false if its content is missing or damaged. */
  async rebuild(tenant: string, root: ThreadRoot, artifact: Artifact): Promise<boolean> {
    try {
      const found = await this.#log.deps.engine.blobs.get(artifactBlob(root, artifact));
      if (!found) return false;
      if (found.body instanceof ReadableStream) await found.body.cancel();
      if (isSearchResult(artifact)) return true;
      if (artifact.type === 'binary' || artifact.size === 0) await this.putShort(tenant, artifact, '');
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

  /** Removes artifacts from the index. */
  async remove(tenant: string, ...artifacts: Indexed[]): Promise<void> {
    if (artifacts.length === 0) return;
    // Delete the progress records first. An indexer that runs meanwhile then finds no record and stops.
    await Promise.all(artifacts.map((one) => this.#unfinished.delete(unfinishedKey(tenant, one))));
    await this.#removeSections(tenant, artifacts);
  }

  /**
   * Returns which artifacts a search of one thread, or of all threads, does not cover. Returns undefined if it covers
   * all. Also continues the indexing.
   */
  async unsearched(tenant: string, id: string | null): Promise<Unsearched | undefined> {
    const isPassed = await this.#pass(tenant, performance.now() + PASS_WAIT_MS);
    const { items } = await this.#unfinished.list(unfinishedPrefix(tenant, id), { limit: UNSEARCHED_NAMED });
    const indexing = !isPassed || items.some(({ value }) => !this.#isDone(value));
    if (indexing) this.resume(tenant);
    else if (items.length === 0) return undefined;
    const artifacts = items.map(({ key, value: { size, done, known: knownChars = 0 } }) => {
      const [thread_id = '', ref = ''] = key.split('/').slice(-2);
      return { ref, thread_id, size, searched: Math.max(done, knownChars) };
    });
    return { indexing, artifacts };
  }

  /**
   * Continues indexing in the background. Covers what earlier processes, or earlier versions of the relay, have not
   * finished.
   */
  resume(tenant: string): void {
    const resume = async () => {
      if (!(await this.#pass(tenant, this.#stopAt))) return;
      for await (const { key, value } of allRecords(this.#unfinished, unfinishedPrefix(tenant))) {
        if (this.#isOver) return;
        if (this.#isDone(value)) continue;
        const ref = key.slice(key.lastIndexOf('/') + 1);
        const stored = await this.#artifacts.get(artifactKey(value.root, ref));
        if (stored) await this.#try(tenant, stored.value);
        else if (value.at < this.#log.deps.env.now() - ORPHAN_AGE_MS) await this.#unfinished.delete(key);
      }
    };
    this.#log.background.run(() => this.#once(unfinishedPrefix(tenant), resume));
  }

  /** Stops indexing soon, because the store is about to close. The next process continues it. */
  closing(): void {
    this.#stopAt = performance.now() + CLOSING_MS;
  }

  get #isOver(): boolean {
    return performance.now() > this.#stopAt;
  }

  #isDone({ done, size }: Unfinished): boolean {
    return done >= Math.min(size, this.#most);
  }

  #once(key: string, work: () => Promise<void>): Promise<void> {
    const running = this.#running.get(key) ?? work().finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }

  /** Indexes an artifact and ignores errors: the progress record stays, so the next search tries again. */
  #try(tenant: string, artifact: Artifact): Promise<void> {
    return this.#once(unfinishedKey(tenant, artifact), () => this.#index(tenant, artifact)).catch(() => {});
  }

  async #index(tenant: string, artifact: Artifact): Promise<void> {
    const key = unfinishedKey(tenant, artifact);
    while (!this.#isOver) {
      const stored = await this.#unfinished.get(key);
      if (!stored || this.#isDone(stored.value)) return;
      const { value, revision } = stored;
      const place = await this.#indexSome(tenant, artifact, value);
      const saved =
        place.done >= artifact.size
          ? await this.#unfinished.delete(key, { expect: revision })
          : await this.#unfinished.put(key, { ...value, ...place }, { expect: revision });
      if (!saved) return this.#overtaken(tenant, value.root, artifact);
    }
  }

  /** Indexes the next few sections and returns the position after them. */
  async #indexSome(tenant: string, artifact: Artifact, from: Unfinished): Promise<Place> {
    const { size } = artifact;
    const read = async (start: number, end: number) => {
      const found = await this.#log.deps.engine.blobs.get(artifactBlob(from.root, artifact), { start, end });
      if (!found) throw new RelayError('not_found', { what: `the content of artifact ${artifact.ref}` });
      return readBytes(found.body);
    };
    const next = await nextSections(read, { size, most: this.#most }, from).catch((error) => {
      if (error instanceof TypeError) return null;
      throw error;
    });
    if (next === null) {
      // The content is not UTF-8 text, so only its name is indexed.
      if (from.done > 0) await this.#removeSections(tenant, [artifact]);
      await this.putShort(tenant, artifact, '');
      return { ...TEXT_START, done: size };
    }
    // Write the first section last. If an earlier version of the relay has indexed the artifact as one
    // entry, the first section replaces this entry, because both have the same key.
    const sections = next.sections.toReversed();
    await Promise.all(sections.map((section) => this.#put(tenant, artifact, section)));
    return next.place;
  }

  /**
   * Called if another process has changed the progress record. If that process has deleted the artifact, removes the
   * artifact from the index again, because sections may have been written after the deletion.
   */
  async #overtaken(tenant: string, root: ThreadRoot, artifact: Artifact): Promise<void> {
    const stored = await this.#artifacts.get(artifactKey(root, artifact.ref));
    if (!stored || stored.value.deleted_at !== undefined) await this.remove(tenant, artifact);
  }

  /** Returns the progress of the migration pass. Starts it if necessary. */
  async #currentPass(tenant: string, before = this.#log.deps.env.now()) {
    const stored = await this.#passes.get(passKey(tenant));
    if (stored) return stored;
    const { items: threads } = await this.#log.deps.engine.records.list(listPrefix(tenant), { limit: 1 });
    const started: Pass = { before, after: threads.length === 0 ? null : '' };
    await this.#passes.put(passKey(tenant), started, { expect: 'absent' });
    return (await this.#passes.get(passKey(tenant)))!;
  }

  /**
   * Goes once through a tenant's threads and creates progress records for artifacts that an earlier version
   * of the relay indexed only in part. Returns false if the pass is not done by `until`; the next call
   * continues it.
   */
  async #pass(tenant: string, until: number): Promise<boolean> {
    const { records } = this.#log.deps.engine;
    try {
      for (;;) {
        const { value: pass, revision } = await this.#currentPass(tenant);
        const { before, after } = pass;
        if (after === null) return true;
        if (performance.now() > until) return false;
        const from = after === '' ? {} : { after };
        const { items, next } = await records.list(listPrefix(tenant), { limit: THREADS_AT_ONCE, ...from });
        await Promise.all(items.map(({ key }) => this.#noteOld(tenant, key, before)));
        await this.#passes.put(passKey(tenant), { before, after: next ?? null }, { expect: revision });
      }
    } catch (error) {
      // A full store must not break searches. A later search continues the migration pass.
      if (isRelayError(error, 'store_full')) return false;
      throw error;
    }
  }

  async #noteOld(tenant: string, listed: string, before: number): Promise<void> {
    const found = await this.#log.find(tenant, listed.slice(listed.lastIndexOf('.') + 1));
    if (!found) return;
    const { root } = found;
    for await (const { value } of allRecords(this.#artifacts, `${threadPrefix(root)}artifacts/`)) {
      const { size, type, deleted_at, created_at } = value;
      const isWhole = size <= ALWAYS_INDEXED_BYTES || Date.parse(created_at) >= before;
      if (isWhole || deleted_at !== undefined || type === 'binary' || isSearchResult(value)) continue;
      const noted = { root, size, at: this.#log.deps.env.now(), known: ALWAYS_INDEXED_BYTES };
      await this.#unfinished.put(
        unfinishedKey(tenant, value),
        { ...TEXT_START, ...noted },
        { expect: 'absent' },
      );
    }
  }

  async #removeSections(tenant: string, artifacts: readonly Indexed[]): Promise<void> {
    const keys = artifacts.flatMap(({ thread_id, ref, size }) => {
      const key = indexKey(tenant, thread_id, ref);
      return Array.from({ length: sectionCount(size) }, (_, section) => sectionKey(key, section));
    });
    await this.#log.deps.engine.index.remove(...keys);
  }

  /** Writes a section to the index. The first section begins with the artifact's name on its own line. */
  async #put(tenant: string, artifact: Artifact, { number, text, line }: Section): Promise<void> {
    const { ref, thread_id, name, type } = artifact;
    const key = sectionKey(indexKey(tenant, thread_id, ref), number);
    const [indexedText, before] = number === 0 ? [`${name}\n${text}`, -1] : [text, line - 1];
    await this.#log.deps.engine.index.put(key, indexedText, {
      ref,
      thread_id,
      name,
      type,
      lines_before: before,
    });
  }
}

/**
 * Returns whether an artifact is a search result. Search results are not indexed: otherwise repeating a
 * search would give different hits.
 */
export function isSearchResult({ provenance }: Artifact): boolean {
  return provenance.capability === 'retrieval.search';
}

/**
 * Maximum number of bytes by which a section may be longer than `INDEX_SECTION_BYTES`, so that it can end at a line
 * break.
 */
const LOOK_BYTES = 8 * 1024;
/** Number of sections for which one call of `nextSections` reads the text. */
const WINDOW = 16;

const [LINE_FEED, SPACE] = [0x0a, 0x20];

/** A part of a text. It ends at a line break if possible. */
export interface Section {
  readonly number: number;
  readonly text: string;
  /** Line number at which the section begins, from 1. */
  readonly line: number;
}

/** Position in a text: the byte offset at the end of a section, and the number of the line there. */
interface Place {
  readonly done: number;
  readonly line: number;
}

export const TEXT_START: Place = { done: 0, line: 1 };

/** Returns the number of sections of a text with this size. */
export function sectionCount(size: number): number {
  return Math.max(1, Math.ceil(Math.min(size, ARTIFACT_BYTES) / INDEX_SECTION_BYTES));
}

/**
 * Reads the next few sections after a position. Returns no sections if `most` bytes, or the whole text, have been
 * read. Section n starts with the first line that begins at or after n times `INDEX_SECTION_BYTES`. So the number of
 * sections depends only on the size of the text. Throws a TypeError if the bytes are not UTF-8.
 */
export async function nextSections(
  read: (start: number, end: number) => Promise<Uint8Array>,
  { size, most }: { readonly size: number; readonly most: number },
  { done, line }: Place,
): Promise<{ readonly sections: Section[]; readonly place: Place }> {
  const first = Math.floor(done / INDEX_SECTION_BYTES);
  const last = Math.min(first + WINDOW, sectionCount(Math.min(size, most)));
  if (done >= size || first >= last) return { sections: [], place: { done, line } };
  const end = Math.min(size, last * INDEX_SECTION_BYTES + LOOK_BYTES);
  const bytes = await read(done, end);
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const sections: Section[] = [];
  let [start, lines] = [0, line];
  for (let number = first; number < last; number++) {
    const to = (number + 1) * INDEX_SECTION_BYTES - done;
    const stop = to + done >= size ? bytes.length : cutBehind(bytes, to);
    const part = bytes.subarray(start, stop);
    sections.push({ number, text: decoder.decode(part), line: lines });
    for (let at = part.indexOf(LINE_FEED); at >= 0; at = part.indexOf(LINE_FEED, at + 1)) lines++;
    start = stop;
  }
  return { sections, place: { done: done + start, line: lines } };
}

/**
 * Returns the offset of the first line that begins at or after `at`. If no line begins nearby, returns the
 * offset of the next word, or else of the next character.
 */
function cutBehind(bytes: Uint8Array, at: number): number {
  const nearby = bytes.subarray(at - 1, at + LOOK_BYTES);
  for (const end of [LINE_FEED, SPACE]) {
    const found = nearby.indexOf(end);
    if (found >= 0) return at + found;
  }
  let cut = at;
  while (cut < bytes.length && (bytes[cut]! & 0xc0) === 0x80) cut++;
  return cut;
}
