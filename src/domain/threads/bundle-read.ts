import { RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import type { Json } from '../../base/json.ts';
import { ARTIFACT_BYTES, STATE_BYTES } from '../../base/limits.ts';
import type { ZipArchive } from '../../base/zip/zip-reader.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import { fromJson } from '../records.ts';
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
import { advanceChecked, checkEvent } from './bundle-events.ts';
import type { StoredEvent } from './event.ts';
import { emptyHead, type Head } from './fold.ts';

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

async function text(zip: ZipArchive, name: string, limit: number): Promise<string> {
  const item = zip.items.get(name);
  if (!item) throw badBundle(`${name} is missing`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await zip.bytes(item, limit));
  } catch (error) {
    throw error instanceof RelayError ? error : badBundle(`${name} is not text`);
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
