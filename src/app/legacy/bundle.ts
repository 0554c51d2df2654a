import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import type { Json, JsonObject } from '../../base/json.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import { advanceChecked } from '../../domain/threads/bundle.ts';
import { writeBundle } from '../../domain/threads/bundle-export.ts';
import type { StoredEvent } from '../../domain/threads/event.ts';
import { emptyHead } from '../../domain/threads/fold.ts';
import { isoTime } from '../../domain/threads/state.ts';
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
  const head = emptyHead(parts.thread_id);
  const events = [...eventsOf(parts)];
  for (const event of events) advanceChecked(head, event);
  const paths = new Map(parts.contents.map(({ artifact, path }) => [artifact, path]));
  return writeBundle({
    head,
    about: { name: parts.name, created_at: isoTime(parts.created), created_by: LEGACY_AUTHOR },
    ledger: { headers: 0, header_reads: 0, previews: 0, preview_reads: 0, hops: 0 },
    events: events.map((event) => ({ event })),
    artifacts: [...paths.keys()],
    open: async (artifact) => openFile(paths.get(artifact)!),
  });
}

export function openFile(path: string): ReadableStream<Uint8Array> {
  return Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>;
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
