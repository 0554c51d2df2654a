import { createReadStream } from 'node:fs';
import { sha256Hex } from '../../base/hash.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import { KINDS } from '../../domain/threads/artifact-kind.ts';
import {
  ARTIFACTS,
  advanceChecked,
  BUNDLE_SCHEMA,
  contentFile,
  EVENTS_FILE_BYTES,
  eventsFile,
  LEDGER,
  MANIFEST,
  type Manifest,
  type ManifestFile,
  STATE,
  streamOf,
} from '../../domain/threads/bundle.ts';
import type { StoredEvent } from '../../domain/threads/event.ts';
import { emptyHead } from '../../domain/threads/fold.ts';
import { crc32 } from '../../formats/zip/crc32.ts';
import { writeZip, type ZipEntry } from '../../formats/zip/zip-writer.ts';
import type { TakenOver } from './state.ts';

/** Who made what came from a Go relay and does not say. */
export const LEGACY_AUTHOR = 'legacy';

export interface LegacyContent {
  readonly artifact: Artifact;
  /** The file it is in. */
  readonly path: string;
}

export interface LegacyParts {
  readonly thread_id: string;
  readonly name: string;
  readonly created: number;
  /** When its state was last written. */
  readonly updated: number;
  /** The version its state had there. */
  readonly version: number | null;
  readonly state: TakenOver;
  readonly history: readonly { readonly at: number; readonly payload: JsonObject }[];
  readonly contents: readonly LegacyContent[];
}

/**
 * A thread of a Go relay in the form in which threads travel. Its history comes as events of another kind, its artifacts
 * and its state as events that lead to the same content here.
 */
export function legacyBundle(parts: LegacyParts): ReadableStream<Uint8Array> {
  return streamOf(writeZip(entries(parts)));
}

async function* entries(parts: LegacyParts): AsyncGenerator<ZipEntry> {
  const { thread_id, name, created, contents } = parts;
  const head = emptyHead(thread_id);
  const files: ManifestFile[] = [];
  const whole = async (path: string, text: string): Promise<ZipEntry> => {
    const bytes = new TextEncoder().encode(text);
    files.push({ path, size: bytes.length, sha256: await sha256Hex(bytes) });
    return { name: path, bytes };
  };
  let text = '';
  let part = 0;
  for (const event of eventsOf(parts)) {
    advanceChecked(head, event);
    text += `${JSON.stringify(event)}\n`;
    if (text.length <= EVENTS_FILE_BYTES) continue;
    yield await whole(eventsFile(++part), text);
    text = '';
  }
  if (text !== '') yield await whole(eventsFile(++part), text);
  yield await whole(STATE, `${JSON.stringify(head.state, null, 2)}\n`);
  const ledger = { headers: 0, header_reads: 0, previews: 0, preview_reads: 0, hops: 0 };
  yield await whole(LEDGER, `${JSON.stringify(ledger)}\n`);
  yield await whole(ARTIFACTS, contents.map(({ artifact }) => `${JSON.stringify(artifact)}\n`).join(''));
  for (const { artifact, path } of contents) {
    const { ref, type, size, hash } = artifact;
    const entry = contentFile(ref, KINDS[type].ext);
    files.push({ path: entry, size, sha256: hash });
    let crc = 0;
    for await (const chunk of createReadStream(path)) crc = crc32(chunk, crc);
    yield { name: entry, size, crc, open: async () => createReadStream(path) };
  }
  const manifest: Manifest = {
    schema: BUNDLE_SCHEMA,
    thread_id,
    name,
    created_at: new Date(created).toISOString(),
    created_by: LEGACY_AUTHOR,
    state_version: head.version,
    events: head.count,
    artifacts: contents.length,
    files,
  };
  yield { name: MANIFEST, bytes: new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`) };
}

function* eventsOf(parts: LegacyParts): Generator<StoredEvent> {
  const { name, created, updated, contents, state } = parts;
  const by = LEGACY_AUTHOR;
  let version = 1;
  yield { type: 'thread.created', at: created, payload: { version, name, by } };
  for (const { at, payload } of parts.history) yield { type: 'legacy.event', at, payload };
  for (const { artifact } of contents) {
    const { ref, type, name: title, mime, size, hash, tokens, created_at } = artifact;
    const what = { ref, type, name: title, mime, size, hash, tokens: { ...tokens }, source_refs: [] };
    version++;
    yield { type: 'artifact.created', at: Date.parse(created_at), payload: { version, by, ...what } };
  }
  const ops: Json[] = Object.entries(state.lists).map(([list, items]) => ({
    op: 'replace',
    path: `/${list}`,
    value: [...items],
  }));
  if (state.summary !== undefined) ops.push({ op: 'add', path: '/session_summary', value: state.summary });
  if (ops.length > 0) {
    version++;
    yield { type: 'state.patch.applied', at: updated, payload: { version, by, ops } };
  }
  const payload = { state_version: parts.version, events: parts.history.length };
  yield { type: 'legacy.imported', at: updated, payload };
}
