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

/** What the index needs of the logs of threads. */
interface Log {
  readonly deps: Deps;
  readonly background: Background;
  find(tenant: string, id: string): Promise<{ readonly root: ThreadRoot } | null>;
}

/** How far a long artifact is indexed. The record exists until all of it is. */
interface Unfinished extends Place {
  /** Where its thread is kept. */
  readonly root: ThreadRoot;
  readonly size: number;
  /** When it was stored. A record whose artifact never came is deleted an hour later. */
  readonly at: number;
  /** How many bytes an earlier version has indexed, at least. */
  readonly known?: number;
}

/**
 * How far the threads of a tenant were looked through for artifacts that an earlier version indexed in part: up to the one
 * listed under `after`, or all of them where that is null. Artifacts made after `before` are indexed to their end.
 */
interface Pass {
  readonly before: number;
  readonly after: string | null;
}

/** Earlier versions indexed at least so many characters of an artifact. */
const ALWAYS_INDEXED_BYTES = 100_000;
/** Threads that a pass looks through at once, before it notes how far it is. */
const THREADS_AT_ONCE = 20;
/** How long a search continues the pass before it answers. */
const PASS_WAIT_MS = 250;
/** Indexing continues for so long while the store is being closed, so that commands without a server finish it too. */
const CLOSING_MS = 2_000;

/** What tells which sections of an artifact are in the index. */
type Indexed = Pick<Artifact, 'thread_id' | 'ref' | 'size'>;

const passKey = (tenant: string) => `ten.${tenant}/index-pass`;
const unfinishedPrefix = (tenant: string, id?: string | null) =>
  `ten.${tenant}/indexing/${id ? `${id}/` : ''}`;
const unfinishedKey = (tenant: string, { thread_id, ref }: Pick<Artifact, 'thread_id' | 'ref'>) =>
  `${unfinishedPrefix(tenant, thread_id)}${ref}`;

/**
 * Keeps the search index in step with the contents of artifacts. A short text is indexed with the event that stores it. A longer
 * one is noted in a record first, and then indexed from its blob section by section. The record says how far that is: after a
 * crash the next search continues from there, and every search tells what it did not see.
 */
export class ArtifactIndex {
  readonly #log: Log;
  readonly #unfinished: RecordsOf<Unfinished>;
  readonly #passes: RecordsOf<Pass>;
  readonly #artifacts: RecordsOf<Artifact>;
  /** Bytes of an artifact that the engine can index. */
  readonly #most: number;
  /** What this process is indexing: an artifact by the key of its record, or what a tenant has left by its prefix. */
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

  /** Whether a text takes so long to index that it is planned, and the answer does not wait for all of it. */
  isLong({ size }: Pick<Artifact, 'size'>): boolean {
    return size > INDEX_AT_ONCE_BYTES;
  }

  /** Notes that an artifact is to be indexed. Call it before the artifact is stored, so that a crash cannot come between. */
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

  /** Indexes a short text whole, below its name. Of what is no text, the name alone. */
  putShort(tenant: string, artifact: Artifact, text: string): Promise<void> {
    return this.#put(tenant, artifact, { number: 0, text, line: 1 });
  }

  /** Indexes planned artifacts, and waits for that up to a limit. Whatever takes longer or fails is continued later. */
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

  /** Indexes an artifact anew, to its end. False where its content is missing or damaged. */
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

  async remove(tenant: string, ...artifacts: Indexed[]): Promise<void> {
    if (artifacts.length === 0) return;
    // First, so that whoever is indexing one sees that it is not wanted any more.
    await Promise.all(artifacts.map((one) => this.#unfinished.delete(unfinishedKey(tenant, one))));
    await this.#removeSections(tenant, artifacts);
  }

  /** What a search of one thread, or of all threads, does not see; undefined where it sees everything. Continues the indexing. */
  async unsearched(tenant: string, id: string | null): Promise<Unsearched | undefined> {
    const isPassed = await this.#pass(tenant, performance.now() + PASS_WAIT_MS);
    const { items } = await this.#unfinished.list(unfinishedPrefix(tenant, id), { limit: UNSEARCHED_NAMED });
    const indexing = !isPassed || items.some(({ value }) => !this.#isDone(value));
    if (indexing) this.resume(tenant);
    else if (items.length === 0) return undefined;
    const artifacts = items.map(({ key, value: { size, done, known = 0 } }) => {
      const [thread_id = '', ref = ''] = key.split('/').slice(-2);
      return { ref, thread_id, size, searched: Math.max(done, known) };
    });
    return { indexing, artifacts };
  }

  /** Continues in the background what an earlier process left, and what an earlier version indexed in part. */
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
        if (stored && this.#log.deps.engine.limits.shortLived) return;
      }
    };
    this.#log.background.run(() => this.#once(unfinishedPrefix(tenant), resume));
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

  #once(key: string, work: () => Promise<void>): Promise<void> {
    const running = this.#running.get(key) ?? work().finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }

  /** Never fails: the record stays, so the next search tries again. */
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
      const kept =
        place.done >= artifact.size
          ? await this.#unfinished.delete(key, { expect: revision })
          : await this.#unfinished.put(key, { ...value, ...place }, { expect: revision });
      if (!kept) return this.#overtaken(tenant, value.root, artifact);
    }
  }

  /** Indexes the next few sections, and gives the place behind them. */
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
      // It turned out to be no text, so it is found by its name.
      if (from.done > 0) await this.#removeSections(tenant, [artifact]);
      await this.putShort(tenant, artifact, '');
      return { ...TEXT_START, done: size };
    }
    // The first section comes last: it replaces what an earlier version put under its key.
    const sections = next.sections.toReversed();
    await Promise.all(sections.map((section) => this.#put(tenant, artifact, section)));
    return next.place;
  }

  /** Somebody else indexes it too, or has deleted it; then what was indexed since goes as well. */
  async #overtaken(tenant: string, root: ThreadRoot, artifact: Artifact): Promise<void> {
    const stored = await this.#artifacts.get(artifactKey(root, artifact.ref));
    if (!stored || stored.value.deleted_at !== undefined) await this.remove(tenant, artifact);
  }

  /** Begins the pass where it has not begun yet. */
  async #currentPass(tenant: string, before = this.#log.deps.env.now()) {
    const stored = await this.#passes.get(passKey(tenant));
    if (stored) return stored;
    const { items: threads } = await this.#log.deps.engine.records.list(listPrefix(tenant), { limit: 1 });
    const begun: Pass = { before, after: threads.length === 0 ? null : '' };
    await this.#passes.put(passKey(tenant), begun, { expect: 'absent' });
    return (await this.#passes.get(passKey(tenant)))!;
  }

  /**
   * Looks once through the threads of a tenant, and notes the artifacts that an earlier version indexed in part. False where
   * it is not done by `until`; then it goes on from there the next time.
   */
  async #pass(tenant: string, until: number): Promise<boolean> {
    const { records, limits } = this.#log.deps.engine;
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
        if (limits.shortLived) return next === undefined;
      }
    } catch (error) {
      // A search goes on where the store has no room; a later one continues the pass.
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

  /** The first section begins with the name, on a line that is none of the content's. */
  async #put(tenant: string, artifact: Artifact, { number, text, line }: Section): Promise<void> {
    const { ref, thread_id, name, type } = artifact;
    const key = sectionKey(indexKey(tenant, thread_id, ref), number);
    const [shown, before] = number === 0 ? [`${name}\n${text}`, -1] : [text, line - 1];
    await this.#log.deps.engine.index.put(key, shown, { ref, thread_id, name, type, lines_before: before });
  }
}

/** Results of a search are left out of the index, so that looking twice finds the same. */
export function isSearchResult({ provenance }: Artifact): boolean {
  return provenance.capability === 'retrieval.search';
}

/** How far beyond its size a section may reach for the end of a line. */
const LOOK_BYTES = 8 * 1024;
/** Sections that are read at once. */
const WINDOW = 16;

const [LINE_FEED, SPACE] = [0x0a, 0x20];

/** A stretch of a text, of whole lines where these are not too long. */
export interface Section {
  readonly number: number;
  readonly text: string;
  /** The line of the text on which it begins, counted from 1. */
  readonly line: number;
}

/** A place in a text: the byte behind a section, and the line there. */
interface Place {
  readonly done: number;
  readonly line: number;
}

export const TEXT_START: Place = { done: 0, line: 1 };

/** How many sections a text of this size has. */
export function sectionCount(size: number): number {
  return Math.max(1, Math.ceil(Math.min(size, ARTIFACT_BYTES) / INDEX_SECTION_BYTES));
}

/**
 * The next few sections behind a place, and the place behind them; none where `most` bytes or all of the text are done. Section
 * n begins at the first line that begins at or behind n times the size of a section, so each can be told from the size alone.
 * Throws a TypeError where the bytes are no UTF-8.
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

/** The first line, else the first word, else the first letter that begins at `at` or behind it. */
function cutBehind(bytes: Uint8Array, at: number): number {
  const near = bytes.subarray(at - 1, at + LOOK_BYTES);
  for (const end of [LINE_FEED, SPACE]) {
    const found = near.indexOf(end);
    if (found >= 0) return at + found;
  }
  let cut = at;
  while (cut < bytes.length && (bytes[cut]! & 0xc0) === 0x80) cut++;
  return cut;
}
