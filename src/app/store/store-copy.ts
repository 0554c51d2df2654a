import { createHash, hash } from 'node:crypto';
import { isRelayError, RelayError } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import { mapConcurrent } from '../../base/map-concurrent.ts';
import { pause } from '../../base/pause.ts';
import type { EngineCopied } from '../../interfaces/cli/host.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import type { Engine } from '../../kernel/engine.ts';
import {
  ARRIVING_KEY,
  type ExportedBlob,
  type ExportedDocument,
  type ExportedEntry,
  type ExportedLog,
  type ExportedRecord,
  type Moving,
} from '../../kernel/moving.ts';

/** Number of items that are copied concurrently, by kind. Blobs may be large, so there are few. */
const WIDTH = { logs: 16, records: 64, documents: 16, blobs: 8 };
/**
 * Maximum number of attempts to copy a log that keeps changing. With the pauses this takes about ten seconds.
 */
const SETTLE_TRIES = 200;
/** Maximum pause in ms before a log that changed is copied again. */
const SETTLE_PAUSE_MS = 100;
/** Maximum number of log entries that are imported in one call. */
const ENTRIES = 200;

export type MovableEngine = Engine & { readonly moving: Moving };

/** An item in the target. `seen` is the last pass that found the item in the source. */
interface CopiedItem {
  readonly version: string;
  readonly bytes: number;
  seen: number;
}

type CopiedLog = Omit<ExportedLog, 'stream'> & { seen: number };

/**
 * Makes one store equal to another, in passes. Each pass reads the whole source, imports what changed since
 * the last pass, and removes what the source no longer has. Logs come first and bodies last: writers store a
 * body before the entry or record that refers to it, so every body of a copied entry is found. All steps can
 * be repeated, so an interrupted copy continues where it stopped.
 */
export class StoreCopy {
  readonly #from: MovableEngine;
  readonly #to: MovableEngine;
  readonly #moved: (items: number) => void;
  readonly #copied = {
    records: new Map<string, CopiedItem>(),
    documents: new Map<string, CopiedItem>(),
    blobs: new Map<string, CopiedItem>(),
  };
  readonly #logs = new Map<string, CopiedLog>();
  /** Keys of bodies that are damaged in the source. The target does not have these bodies. */
  readonly lost = new Set<string>();
  #passes = 0;

  /** `moved` is called with the number of items that were compared or verified, to show progress. */
  constructor(from: MovableEngine, to: MovableEngine, moved: (items: number) => void = () => {}) {
    this.#from = from;
    this.#to = to;
    this.#moved = moved;
  }

  /** Reads which items the target already has. */
  async learn(): Promise<void> {
    const { moving } = this.#to;
    const { records, documents, blobs } = this.#copied;
    const copied = (version: string, bytes = 0): CopiedItem => ({ version, bytes, seen: 0 });
    for await (const { stream, ...log } of moving.exportLogs()) this.#logs.set(stream, { ...log, seen: 0 });
    for await (const record of moving.exportRecords())
      if (record.key !== ARRIVING_KEY) records.set(record.key, copied(recordVersion(record)));
    for await (const document of moving.exportDocuments())
      documents.set(document.key, copied(documentVersion(document)));
    for await (const blob of moving.exportBlobs()) blobs.set(blob.key, copied(blobVersion(blob), blob.size));
  }

  /**
   * Runs a pass and returns how many items differed. With `checked`, reads each copied item again from the
   * target and compares it.
   */
  async pass({ checked = false } = {}): Promise<number> {
    const { moving } = this.#from;
    const { logs, records, index, blobs } = this.#to;
    const pass = ++this.#passes;
    let changed = 0;
    await mapConcurrent(
      moving.exportLogs(),
      async (log) => {
        this.#moved(log.count);
        if (await this.#copyLog(log, pass, checked)) changed++;
      },
      WIDTH.logs,
    );
    changed += await removeUnseen(this.#logs, pass, (stream) => logs.drop(stream));
    changed += await this.#copyAll('records', moving.exportRecords(), pass, recordVersion, (record) =>
      this.#copyRecord(record, checked),
    );
    changed += await removeUnseen(this.#copied.records, pass, (key) => records.delete(key));
    const putDocument = async ({ key, text, fields }: ExportedDocument) => {
      await index.put(key, text, fields);
      return true;
    };
    changed += await this.#copyAll('documents', moving.exportDocuments(), pass, documentVersion, putDocument);
    changed += await removeUnseen(this.#copied.documents, pass, (key) => index.remove(key));
    changed += await this.#copyBodies('', pass, checked);
    changed += await removeUnseen(this.#copied.blobs, pass, (key) => blobs.delete(key));
    return changed;
  }

  /**
   * Copies each changed log and its bodies again until the log stays unchanged meanwhile. Each thread and
   * each channel then is in the state of one moment, although writes never stopped.
   */
  async settle(): Promise<void> {
    for await (const log of this.#from.moving.exportLogs()) {
      for (let tries = 0; ; tries++) {
        const now = tries === 0 ? log : await this.#from.moving.exportLog(log.stream);
        if (now === null || this.#isSame(now)) break;
        if (tries === SETTLE_TRIES)
          throw new RelayError('busy', { what: `other programs keep writing to ${log.stream}` });
        if (tries > 0) await pause(Math.random() * SETTLE_PAUSE_MS);
        const pass = ++this.#passes;
        await this.#copyLog(now, pass, false);
        await this.#copyBodies(`${log.stream}/`, pass, false);
        const remove = (key: string) => this.#to.blobs.delete(key);
        await removeUnseen(this.#copied.blobs, pass, remove, `${log.stream}/`);
      }
    }
  }

  /** Reads every body and log entry of the target. Throws if anything differs from what was copied. */
  async verify(): Promise<void> {
    const { moving, blobs } = this.#to;
    const found = new StoreCopy(this.#from, this.#to);
    await found.learn();
    for (const kind of ['records', 'documents', 'blobs'] as const) {
      const [expected, there] = [this.#copied[kind], found.#copied[kind]];
      for (const [key, { version }] of expected)
        if (there.get(key)?.version !== version && !(await this.#hasExpired(kind, key)))
          throw notTheSame(key);
      for (const key of there.keys()) if (!expected.has(key)) throw notTheSame(key);
    }
    await mapConcurrent(
      moving.exportLogs(),
      async (log) => {
        if (!this.#isSame(log)) throw notTheSame(log.stream);
        await this.#compareEntries(log);
        this.#moved(log.count);
      },
      WIDTH.logs,
    );
    await mapConcurrent(
      moving.exportBlobs(),
      async (blob) => {
        const body = await blobs.get(blob.key);
        if (body && (await sha256Of(body.body)) !== blob.sha256) throw notTheSame(blob.key);
        this.#moved(1);
      },
      WIDTH.blobs,
    );
  }

  /** Counts the items in the target. */
  counts(): Omit<EngineCopied, 'from' | 'to' | 'lost' | 'frozen_ms'> {
    let [bytes, entries] = [0, 0];
    const { records, documents, blobs } = this.#copied;
    for (const blob of blobs.values()) bytes += blob.bytes;
    for (const { count } of this.#logs.values()) entries += count;
    const sizes = { blobs: blobs.size, records: records.size, documents: documents.size };
    return { ...sizes, bytes, logs: this.#logs.size, entries };
  }

  async #hasExpired(kind: string, key: string): Promise<boolean> {
    if (kind === 'records') return (await this.#from.records.get(key)) === null;
    return kind === 'blobs' && (await this.#from.blobs.get(key).catch(() => true)) === null;
  }

  async #copyAll<T extends { readonly key: string; readonly size?: number }>(
    kind: 'records' | 'documents' | 'blobs',
    items: AsyncIterable<T>,
    pass: number,
    versionOf: (item: T) => string,
    copy: (item: T) => Promise<boolean>,
  ): Promise<number> {
    let changed = 0;
    await mapConcurrent(
      items,
      async (item) => {
        const version = versionOf(item);
        const copied = this.#copied[kind].get(item.key);
        if (copied?.version === version) copied.seen = pass;
        else if (await copy(item)) {
          this.#copied[kind].set(item.key, { version, bytes: item.size ?? 0, seen: pass });
          changed++;
        }
        this.#moved(1);
      },
      WIDTH[kind],
    );
    return changed;
  }

  async #copyRecord(record: ExportedRecord, checked: boolean): Promise<true> {
    await this.#to.moving.importRecord(record);
    if (!checked) return true;
    const found = await this.#to.records.get(record.key);
    const isGone = (record.expiresAt ?? Number.POSITIVE_INFINITY) <= this.#to.now();
    if (found ? recordVersion({ ...record, ...found }) !== recordVersion(record) : !isGone)
      throw notTheSame(record.key);
    return true;
  }

  #copyBodies(prefix: string, pass: number, checked: boolean): Promise<number> {
    const copy = (blob: ExportedBlob) => this.#copyBody(blob, checked);
    return this.#copyAll('blobs', this.#from.moving.exportBlobs(prefix), pass, blobVersion, copy);
  }

  /** Copies a body. Returns false if the body was deleted or is damaged. */
  async #copyBody(blob: ExportedBlob, checked: boolean): Promise<boolean> {
    try {
      const found = await this.#from.blobs.get(blob.key);
      if (!found || found.size !== blob.size) return false;
      await this.#to.moving.importBlob(blob, found.body);
    } catch (error) {
      if (!isRelayError(error, 'store_damaged')) throw error;
      this.lost.add(blob.key);
      return false;
    }
    const stored = checked ? await this.#to.blobs.get(blob.key) : null;
    if (stored && (await sha256Of(stored.body)) !== blob.sha256) throw notTheSame(blob.key);
    return true;
  }

  /** Copies the new entries of a log. Returns whether the log had changed since the last pass. */
  async #copyLog(log: ExportedLog, pass: number, checked: boolean): Promise<boolean> {
    const { stream, last, trimmed } = log;
    if (this.#isSame(log)) {
      this.#logs.get(stream)!.seen = pass;
      return false;
    }
    let copiedLog = await this.#appendTo(log, this.#logs.get(stream));
    if (copiedLog.count !== log.count || copiedLog.last !== last) {
      const now = await this.#from.moving.exportLog(log.stream);
      const isBehind = now !== null && now.last > copiedLog.last;
      // The log changed while it was read. If it only grew, the next pass copies the rest. Otherwise it was
      // deleted and started again: copy it from the beginning.
      if (now !== null && !isBehind && (now.count !== copiedLog.count || now.last !== copiedLog.last)) {
        await this.#to.logs.drop(stream);
        copiedLog = await this.#appendTo(now, undefined);
      }
    }
    this.#logs.set(stream, { ...copiedLog, trimmed, seen: pass });
    if (checked) await this.#compareEntries({ ...log, last: copiedLog.last });
    return true;
  }

  /** Appends the entries that the target lacks, and removes the entries that the source has trimmed. */
  async #appendTo({ stream, last, trimmed }: ExportedLog, copiedLog: CopiedLog | undefined) {
    const { logs, moving } = this.#to;
    let end = { last: copiedLog?.last ?? 0, count: copiedLog?.count ?? 0 };
    let batch: ExportedEntry[] = [];
    const send = async () => {
      await moving.importEntries({ stream, trimmed }, batch);
      if (batch.length > 0) end = { last: batch.at(-1)!.seq, count: end.count + batch.length };
      batch = [];
    };
    for await (const entry of this.#from.moving.exportEntries(stream, end.last)) {
      if (entry.seq > last) break;
      batch.push(entry);
      if (batch.length === ENTRIES) await send();
    }
    await send();
    if (trimmed <= (copiedLog?.trimmed ?? 0) || !copiedLog) return { ...end, trimmed };
    await logs.trim(stream, { before: trimmed + 1 });
    return { ...end, count: (await logs.info(stream)).count, trimmed };
  }

  #isSame({ stream, last, count, trimmed }: ExportedLog): boolean {
    const copied = this.#logs.get(stream);
    return copied?.last === last && copied.count === count && copied.trimmed === trimmed;
  }

  /**
   * Compares the entries of source and target up to sequence number `last`, except entries that the source
   * has deleted since.
   */
  async #compareEntries({ stream, last }: Pick<ExportedLog, 'stream' | 'last'>): Promise<void> {
    const copied = this.#to.moving.exportEntries(stream, 0)[Symbol.asyncIterator]();
    for await (const entry of this.#from.moving.exportEntries(stream, 0)) {
      if (entry.seq > last) break;
      let next = await copied.next();
      while (!next.done && next.value.seq < entry.seq) next = await copied.next();
      if (next.done || entryVersion(next.value) !== entryVersion(entry)) throw notTheSame(stream);
    }
    await copied.return?.();
  }
}

/** Removes the items below `prefix` that this pass has not seen. Returns how many. */
async function removeUnseen(
  items: Map<string, { readonly seen: number }>,
  pass: number,
  remove: (key: string) => Promise<unknown>,
  prefix = '',
): Promise<number> {
  let removed = 0;
  for (const [key, { seen }] of items) {
    if (seen === pass || !key.startsWith(prefix)) continue;
    await remove(key);
    items.delete(key);
    removed++;
  }
  return removed;
}

function notTheSame(what: string): RelayError {
  return new RelayError('failed', {
    what: `${what} differs between the source and the copy.`,
    hint: 'Make sure that nothing else writes to the target, then copy again. Only the differences are copied.',
  });
}

/** The functions below return a text for each kind of item. Items with equal texts are equal. */

function recordVersion({ revision, expiresAt = 0, value }: Omit<ExportedRecord, 'key'>): string {
  return `${revision} ${expiresAt} ${digest(value)}`;
}

function blobVersion({ at, size, sha256, expiresAt = 0 }: ExportedBlob): string {
  return `${at} ${size} ${sha256} ${expiresAt}`;
}

/** Returns a text for comparing documents, without characters that no engine stores. */
function documentVersion({ text, fields }: ExportedDocument): string {
  return digest([text.toWellFormed().replace(/[\u0000\u0002\u0003\u200b]/g, ' '), fields]);
}

function entryVersion({ seq, at, id = '', data }: ExportedEntry): string {
  return `${seq} ${at} ${id} ${digest(data)}`;
}

function digest(value: Json): string {
  return hash('sha256', JSON.stringify(value), 'base64url');
}

async function sha256Of(body: BlobBody): Promise<string> {
  const sha256 = createHash('sha256');
  if (body instanceof Uint8Array) sha256.update(body);
  else for await (const piece of body) sha256.update(piece);
  return sha256.digest('hex');
}
