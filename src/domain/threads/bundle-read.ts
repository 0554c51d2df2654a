import { isRelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { isJsonObject, type Json } from '../../base/json.ts';
import { ARTIFACT_BYTES, STATE_BYTES } from '../../base/limits.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import type { ZipArchive } from '../../formats/zip/zip-reader.ts';
import { asJson, fromJson } from '../records.ts';
import { KINDS } from './artifact-kind.ts';
import {
  ARTIFACTS,
  badBundle,
  checkArtifact,
  checkManifest,
  contentFile,
  eventsFile,
  FILE_BYTES,
  LEDGER,
  type LedgerFile,
  MANIFEST,
  type Manifest,
  STATE,
} from './bundle.ts';
import { type StoredEvent, VERSION_EVENTS } from './event.ts';
import { advance, emptyHead, type Head, linkOps, type MutableHead, stampFor } from './fold.ts';
import { bytesOf, patchState, type Sized } from './state.ts';

export interface Bundle {
  readonly manifest: Manifest;
  readonly events: readonly StoredEvent[];
  readonly artifacts: readonly Artifact[];
  readonly ledger: LedgerFile;
}

/** Reads and checks everything but the contents, and makes sure that nothing is there that does not belong. */
export async function readBundle(zip: ZipArchive): Promise<Bundle> {
  const manifest = checkManifest(parse(await text(zip, MANIFEST, FILE_BYTES), MANIFEST));
  const files = new Map(manifest.files.map((file) => [file.path, file]));
  for (const name of zip.items.keys()) {
    if (name !== MANIFEST && !files.has(name)) throw badBundle(`${name} is not in its manifest`);
  }
  for (const { path, size } of manifest.files) {
    const item = zip.items.get(path);
    if (!item) throw badBundle(`${path} is missing`);
    if (item.size !== size) throw badBundle(`${path} has another size than its manifest says`);
  }
  const checked = async (path: string, limit: number) => {
    const content = await text(zip, path, limit);
    if ((await sha256Hex(content)) !== files.get(path)?.sha256) throw badBundle(`${path} has another hash`);
    return content;
  };
  const state = await checked(STATE, 4 * STATE_BYTES);
  const ledger = checkLedger(parse(await checked(LEDGER, 4096), LEDGER));
  const artifacts = lines(await checked(ARTIFACTS, FILE_BYTES), ARTIFACTS).map((line) =>
    checkArtifact(line, manifest.thread_id),
  );
  const events: StoredEvent[] = [];
  let part = 1;
  for (; zip.items.has(eventsFile(part)); part++) {
    for (const line of lines(await checked(eventsFile(part), FILE_BYTES), eventsFile(part)))
      events.push(checkEvent(line));
  }
  const contents = artifacts.map((artifact) => checkContent(artifact, files));
  if (contents.length + part + 2 !== manifest.files.length)
    throw badBundle('files are there that nothing refers to');
  const head = foldAll(manifest, events);
  if (`${JSON.stringify(head.state, null, 2)}\n` !== state)
    throw badBundle('its events do not lead to its state');
  const refs = artifacts.map(({ ref }) => ref).join();
  if (refs !== head.refs.join() || artifacts.length !== manifest.artifacts) {
    throw badBundle('its artifacts are not those of its events');
  }
  return { manifest, events, artifacts, ledger };
}

function foldAll(manifest: Manifest, events: readonly StoredEvent[]): Head {
  const head = emptyHead(manifest.thread_id);
  for (const event of events) advanceChecked(head, event);
  if (
    head.version !== manifest.state_version ||
    head.count !== manifest.events ||
    events[0]?.type !== 'thread.created'
  ) {
    throw badBundle('its events are not those of its manifest');
  }
  return head;
}

function checkContent(
  artifact: Artifact,
  files: ReadonlyMap<string, { size: number; sha256: string }>,
): Artifact {
  const kind = Object.hasOwn(KINDS, artifact.type) ? KINDS[artifact.type] : undefined;
  const file = kind && files.get(contentFile(artifact.ref, kind.ext));
  if (
    !file ||
    file.size !== artifact.size ||
    file.sha256 !== artifact.hash ||
    artifact.size > ARTIFACT_BYTES
  ) {
    throw badBundle(`artifact ${artifact.ref} does not agree with its file`);
  }
  return artifact;
}

function checkLedger(value: Json): LedgerFile {
  const ledger = fromJson<LedgerFile>(value);
  const fields = [
    ledger?.headers,
    ledger?.header_reads,
    ledger?.previews,
    ledger?.preview_reads,
    ledger?.hops,
  ];
  if (!fields.every((n) => Number.isSafeInteger(n) && n >= 0)) throw badBundle('its ledger is broken');
  return ledger;
}

/** An event of a bundle, as this relay might have written it. */
function checkEvent(value: Json): StoredEvent {
  const event = fromJson<StoredEvent>(value);
  const text = (field: unknown) => field === undefined || (typeof field === 'string' && field.length <= 64);
  const fine =
    isJsonObject(value) &&
    typeof event.type === 'string' &&
    /^[a-z][a-z0-9_.]{1,63}$/.test(event.type) &&
    Number.isSafeInteger(event.at) &&
    Math.abs(event.at) <= 8.64e15 &&
    isJsonObject(event.payload) &&
    text(event.key) &&
    text(event.request) &&
    event.ops_blob === undefined;
  if (!fine) throw badBundle('an event is broken');
  if (event.type === 'artifact.created' && !isJsonObject(event.payload.tokens))
    throw badBundle('an event is broken');
  if (event.type !== 'thread.created' && !('ops' in event.payload) && bytesOf(asJson(event)) > 256 * 1024) {
    throw badBundle('an event is too large');
  }
  return event;
}

/**
 * The state that an event of somebody else's leads to, by the rules of a patch that is sent: what it may not do here,
 * it did not do there. Nothing for an event that makes no version, or the first one.
 */
export function foldChecked(head: Head, event: StoredEvent): Sized | undefined {
  if (!VERSION_EVENTS.has(event.type) || event.type === 'thread.created') return undefined;
  const ops = event.type === 'artifact.created' ? linkOps(event) : event.payload.ops;
  try {
    return patchState(head, ops, stampFor(head, event));
  } catch (error) {
    throw isRelayError(error)
      ? badBundle(`event ${head.count + 1} is not possible: ${error.message}`)
      : error;
  }
}

/** Takes an event in by those rules; the head is changed in place. */
export function advanceChecked(head: MutableHead, event: StoredEvent): void {
  if (event.type === 'thread.created' && head.count > 0) throw badBundle('it begins twice');
  try {
    advance(head, head.seq + 1, event, foldChecked(head, event));
  } catch (error) {
    if (isRelayError(error, 'store_damaged')) throw badBundle('its versions have gaps');
    throw error;
  }
}

async function text(zip: ZipArchive, name: string, limit: number): Promise<string> {
  const item = zip.items.get(name);
  if (!item) throw badBundle(`${name} is missing`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await zip.bytes(item, limit));
  } catch (error) {
    throw isRelayError(error) ? error : badBundle(`${name} is not text`);
  }
}

function parse(json: string, name: string): Json {
  try {
    return JSON.parse(json) as Json;
  } catch {
    throw badBundle(`${name} is not JSON`);
  }
}

function lines(content: string, name: string): Json[] {
  return content
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => parse(line, name));
}
