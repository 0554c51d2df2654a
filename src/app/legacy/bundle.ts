import type { Json, JsonObject } from '../../base/json.ts';
import type { Artifact } from '../../contract/threads.ts';
import { asJson } from '../../domain/records.ts';
import { writeBundle } from '../../domain/threads/bundle-export.ts';
import { type CountedArtifact, LEGACY_EVENT_ID, type StoredEvent } from '../../domain/threads/event.ts';
import { emptyHead } from '../../domain/threads/fold.ts';
import { advanceChecked } from '../../domain/threads/fold-job.ts';
import { bareRoot } from '../../domain/threads/keys.ts';
import { isoTime, jsonBytes } from '../../domain/threads/state.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import { isMoment, type LegacyLogEvent, UNKNOWN_EVENT } from './source.ts';
import type { LegacyVersion } from './versions.ts';

/** Author of imported data if the old data names none. */
export const LEGACY_AUTHOR = 'legacy';

/** Maximum size of an event's payload in bytes. */
const PAYLOAD_BYTES = 64 * 1024;

export interface LegacyContent {
  readonly artifact: Artifact;
  open(): BlobBody;
}

export interface LegacyParts {
  readonly thread_id: string;
  readonly name: string;
  readonly created: string;
  readonly hops: number;
  readonly versions: readonly LegacyVersion[];
  readonly log: readonly LegacyLogEvent[];
  readonly contents: readonly LegacyContent[];
}

/** Returns a thread of a Go relay as a bundle, with its events, versions and artifacts. */
export function legacyBundle(parts: LegacyParts, events: readonly StoredEvent[]): ReadableStream<Uint8Array> {
  const head = emptyHead(bareRoot(parts.thread_id));
  for (const event of events) advanceChecked(head, event);
  const contents = new Map(parts.contents.map((content) => [content.artifact.ref, content]));
  return writeBundle({
    head,
    about: { name: parts.name, created_at: isoTime(Date.parse(parts.created)), created_by: LEGACY_AUTHOR },
    ledger: { hops: parts.hops },
    events: events.map((event) => ({ event })),
    artifacts: head.refs.map((ref) => contents.get(ref)!.artifact),
    open: async ({ ref }) => contents.get(ref)!.open(),
  });
}

/**
 * Converts the events of a thread of a Go relay. If an event made a version there, it makes the same version here,
 * with the same state. A version without an event gets a new event, and `notes` reports this. An artifact is added
 * to the first event that names it.
 */
export function legacyEvents(parts: LegacyParts, notes: string[]): StoredEvent[] {
  const { versions, created, name, thread_id } = parts;
  const events: StoredEvent[] = [];
  const waiting = [...parts.log];
  const rest = new Map(parts.contents.map(({ artifact }) => [artifact.ref, artifact]));
  const newVersions: number[] = [];
  let version = 0;
  let moved = 0;
  const write = (event: LegacyLogEvent, makes?: LegacyVersion) => {
    const { id, type } = event;
    const timestamp = isMoment(event.timestamp) ? event.timestamp : created;
    const payload: JsonObject = { ...event.payload };
    if (makes) payload.version = ++version;
    if (makes && type !== 'thread.created') payload.ops = makes.ops;
    const artifacts = takeNamedArtifacts(event, rest);
    const legacy = {
      ...(id !== undefined && LEGACY_EVENT_ID.test(id) ? { id } : {}),
      timestamp,
      ...(makes ? { stamp: makes.stamp } : {}),
      ...(artifacts.length > 0 ? { artifacts } : {}),
    };
    events.push({ type, at: Date.parse(timestamp), payload, legacy });
  };
  /** Adds the next version, together with the event that made it. Without such an event, creates a new event. */
  const next = () => {
    const makes = versions[version]!;
    const isIt = ({ type, payload }: LegacyLogEvent) =>
      version === 0
        ? type === 'thread.created'
        : type === 'state.patch.applied' && payload.version === version + 1;
    const place = waiting.findIndex(isIt);
    if (place > 0) moved++;
    if (place >= 0) return write(waiting.splice(place, 1)[0]!, makes);
    newVersions.push(version + 1);
    const type = version === 0 ? 'thread.created' : 'state.patch.applied';
    const payload: JsonObject = version === 0 ? { name, thread_id } : {};
    write(
      { id: undefined, type, payload, timestamp: version === 0 ? created : makes.stamp.updated_at },
      makes,
    );
  };
  next();
  for (let event = waiting.shift(); event; event = waiting.shift()) {
    const to = event.type === 'state.patch.applied' ? event.payload.version : undefined;
    if (typeof to !== 'number' || to <= version || to > versions.length) {
      write(convertEvent(event, notes));
      continue;
    }
    waiting.unshift(event);
    next();
  }
  while (version < versions.length) next();
  if (moved > 0) notes.push(`events reordered to match the order of versions: ${moved}`);
  if (newVersions.length > 0)
    notes.push(`versions without an event, which got a new one: ${newVersions.length}`);
  return withRest(events, rest);
}

/** Adds the artifacts in `rest` to the last event: no event names them. */
function withRest(events: StoredEvent[], rest: ReadonlyMap<string, Artifact>): StoredEvent[] {
  if (rest.size === 0) return events;
  const last = events.at(-1)!;
  const artifacts = [...(last.legacy!.artifacts ?? []), ...[...rest.values()].map(countedArtifact)];
  return [...events.slice(0, -1), { ...last, legacy: { ...last.legacy!, artifacts } }];
}

function takeNamedArtifacts({ payload }: LegacyLogEvent, rest: Map<string, Artifact>): CountedArtifact[] {
  const found: CountedArtifact[] = [];
  for (const ref of [payload.ref, payload.artifact_ref]) {
    const artifact = typeof ref === 'string' ? rest.get(ref) : undefined;
    if (!artifact || !rest.delete(artifact.ref)) continue;
    found.push(countedArtifact(artifact));
  }
  return found;
}

function countedArtifact({ ref, size, tokens, provenance }: Artifact): CountedArtifact {
  const { capability } = provenance;
  return { ref, size, tokens, ...(capability === null ? {} : { capability }) };
}

/**
 * Converts an event that makes no version. Drops a payload that is too large, and replaces an invalid type.
 */
function convertEvent(event: LegacyLogEvent, notes: string[]): LegacyLogEvent {
  const { type, payload } = event;
  const tooLong = jsonBytes(payload) > PAYLOAD_BYTES;
  if (tooLong)
    notes.push(`the data of an event ${type} is larger than ${PAYLOAD_BYTES} bytes and was dropped`);
  const data: Json = tooLong ? {} : payload;
  if (/^[a-z][a-z0-9_.]{1,63}$/.test(type) && type !== 'thread.created') {
    return { ...event, payload: data as JsonObject };
  }
  notes.push(`the event type "${type.slice(0, 64)}" was changed to ${UNKNOWN_EVENT}`);
  return {
    ...event,
    type: UNKNOWN_EVENT,
    payload: asJson({ type: type.slice(0, 64), payload: data }) as JsonObject,
  };
}
