import { createHash } from 'node:crypto';
import { createReadStream, existsSync, realpathSync, statSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { isRelayError, RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { isRef, isUuid, uuidFrom } from '../../base/ids.ts';
import { type JsonObject, jsonObjectIn } from '../../base/json.ts';
import {
  ARTIFACT_BYTES,
  ARTIFACT_NAME_CHARS,
  ARTIFACT_SOURCES,
  THREAD_NAME_CHARS,
} from '../../base/limits.ts';
import { ARTIFACT_TYPE, type Artifact, type Provenance } from '../../contract/threads.ts';
import { artifactKind, guessType, KINDS, MEDIA_TYPE } from '../../domain/threads/artifact-kind.ts';
import { ContentScan, countArtifactTokens } from '../../domain/threads/content-scan.ts';
import type { LegacyHome, LegacyThread } from '../../interfaces/cli/host.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import { makePreview } from '../../text/preview/preview.ts';
import { ownTextWork } from '../store/own-text-work.ts';
import { LEGACY_AUTHOR, type LegacyContent, type LegacyParts, legacyBundle, legacyEvents } from './bundle.ts';
import {
  fromDatabase,
  fromFiles,
  isHere,
  isMoment,
  type LegacyDatabase,
  type LegacyFile,
  openLegacyDatabase,
} from './source.ts';
import { versionsOf } from './versions.ts';

/** Files in the folder of a thread. A folder with none of them is not a thread. */
const PARTS = ['state.json', 'events.log', 'artifacts'];

/**
 * Opens the threads in the home of a Go relay, without changing the home. Some threads are in its relay.db,
 * others only in files.
 */
export function openLegacy(dir: string): LegacyHome & Disposable {
  const folder = join(dir, 'threads');
  if (existsSync(dir) && statSync(dir).isFile()) {
    throw new RelayError('bad_bundle', {
      what: `${dir} is a file`,
      hint: 'Pass the home folder of a Go relay, which contains threads/. To import a bundle of this relay, omit --legacy.',
    });
  }
  if (!existsSync(folder) || !statSync(folder).isDirectory()) {
    const hint = 'Pass the home folder of a Go relay, which contains threads/: relay import --legacy DIR';
    throw new RelayError('not_found', { what: `the folder ${folder}`, hint });
  }
  const changes = [
    'Previews and token counts were computed again.',
    'Events state.patch.applied now contain the operations in "ops", not only their number.',
  ];
  const db = openLegacyDatabase(dir, (why) =>
    changes.push(
      `Threads were read from their files only, because ${why}. Earlier versions and other data of the database are missing.`,
    ),
  );
  if (db && db.cached > 0) changes.push(cachedNote(db.cached));
  if (existsSync(join(dir, 'config.json')))
    changes.push('Its config.json, with the port and the API token, was not imported.');
  return {
    changes,
    threads: readThreads(realpathSync(folder), db),
    [Symbol.dispose]: () => db?.[Symbol.dispose](),
  };
}

async function* readThreads(root: string, db: LegacyDatabase | null): AsyncGenerator<LegacyThread> {
  const folders = (await readdir(root, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  const threadIds = new Set([...(db?.threads.keys() ?? [])].filter(isUuid));
  for (const name of [...new Set([...folders.map((folder) => folder.name), ...threadIds])].sort()) {
    const path = join(root, name);
    if (threadIds.has(name) || PARTS.some((part) => isHere(join(path, part)))) {
      yield await readThread(path, name, threadIds.has(name) ? db : null);
    }
  }
}

async function readThread(path: string, folder: string, db: LegacyDatabase | null): Promise<LegacyThread> {
  const thread_id = isUuid(folder) ? folder.toLowerCase() : uuidFrom(await derived(`thread ${folder}`));
  const reader = new ThreadReader(path, thread_id);
  const { notes } = reader;
  if (thread_id !== folder) notes.push(`"${folder}" is not a UUID; the new id is ${thread_id}`);
  try {
    const parts = await reader.read(folder, db);
    const events = legacyEvents(parts, notes);
    const { name, contents, versions } = parts;
    const counts = { artifacts: contents.length, versions: versions.length, events: events.length };
    return { path, thread_id, name, ...counts, notes, bundle: () => legacyBundle(parts, events) };
  } catch (error) {
    const failure = isRelayError(error)
      ? error
      : new RelayError('bad_bundle', { what: (error as Error).message }, error);
    const bundle = () => {
      throw failure;
    };
    return { path, thread_id, name: '', artifacts: 0, versions: 0, events: 0, notes, bundle };
  }
}

/** Reads one thread of a Go relay. `notes` says what could not be imported unchanged. */
class ThreadReader {
  readonly notes: string[] = [];
  readonly #path: string;
  readonly #thread: string;

  constructor(path: string, thread: string) {
    this.#path = path;
    this.#thread = thread;
  }

  async read(folder: string, db: LegacyDatabase | null): Promise<LegacyParts> {
    const [path, notes, thread_id] = [this.#path, this.notes, this.#thread];
    const source = db ? await fromDatabase(db, folder, path, notes) : await fromFiles(path, notes);
    const born = isHere(path) ? (await lstat(path)).mtimeMs : 0;
    const created = isMoment(source.created) ? source.created : new Date(born).toISOString();
    const contents: LegacyContent[] = [];
    const usedRefs = new Set<string>();
    const refs = new Map<string, string>();
    for (const artifact of source.artifacts) {
      const isFree = isRef(artifact.ref) && !usedRefs.has(artifact.ref);
      // Replace a ref that is invalid here or already used. The new ref is derived from the file name, so
      // that every import gives the same ref.
      const ref = isFree ? artifact.ref : await this.#derivedRef(artifact.file);
      const content = await this.#content({ ...artifact, ref });
      if (!content) continue;
      contents.push(content);
      usedRefs.add(ref);
      if (isFree) continue;
      notes.push(`artifact ${artifact.ref.slice(0, 64)} (${artifact.file}) now has the ref ${ref}`);
      if (!usedRefs.has(artifact.ref)) refs.set(artifact.ref, ref);
    }
    const { versions, misfit } = versionsOf(source.states(), created, refs, notes);
    const state = join(path, 'state.json');
    // If our state cannot hold a part of the old state, keep the whole old file as an artifact.
    if (misfit && isHere(state)) {
      const name = 'legacy-state.json';
      notes.push(`the old state.json is kept as the artifact ${name}`);
      contents.push(
        await this.#describe(state, { ref: await this.#derivedRef(name), file: 'state.json', name }),
      );
    }
    const name = this.#cut(source.name, THREAD_NAME_CHARS, 'its name');
    return { thread_id, name, created, hops: source.hops, versions, log: source.events, contents };
  }

  /** Returns an artifact. Returns null if its file is missing or too large. */
  async #content(artifact: LegacyFile): Promise<LegacyContent | null> {
    const { ref, file } = artifact;
    const path = join(this.#path, 'artifacts', file);
    const stat = isHere(path) ? await lstat(path) : null;
    if (stat?.isFile() && stat.size <= ARTIFACT_BYTES) return this.#describe(path, artifact);
    this.notes.push(
      stat?.isFile()
        ? `artifact ${file} is larger than ${ARTIFACT_BYTES} bytes and was not imported`
        : `the file of artifact ${ref} (${file}) is missing, so the artifact was not imported`,
    );
    return null;
  }

  /**
   * Describes an artifact. Size and hash come from its content. A missing or invalid media type becomes the
   * usual one of the artifact's type.
   */
  async #describe(path: string, row: LegacyFile): Promise<LegacyContent> {
    const { ref, file } = row;
    const changed = (what: string) => this.notes.push(`artifact ${ref}: ${what}`);
    const sha256 = createHash('sha256');
    const scan = new ContentScan(openFile(path));
    for await (const chunk of scan.body as ReadableStream<Uint8Array>) sha256.update(chunk);
    const seen = scan.result();
    const hash = sha256.digest('hex');
    if (row.hash !== undefined && row.hash !== hash)
      changed(`its file has the hash ${hash}, not the recorded hash ${row.hash}`);
    const name = this.#cut(row.name ?? file, ARTIFACT_NAME_CHARS, `the name of artifact ${ref}`);
    const type =
      row.type !== undefined && ARTIFACT_TYPE.test(row.type) ? row.type : guessType(name || file, row.mime);
    if (row.type !== undefined && type !== row.type) changed(`its type was changed to ${type}`);
    const { mime: usual } = KINDS[artifactKind({ type, name, mime: row.mime ?? '' })];
    const mime = row.mime !== undefined && MEDIA_TYPE.test(row.mime) ? row.mime : usual;
    if (row.mime !== undefined && mime !== row.mime) changed(`its media type was changed to ${mime}`);
    const created_at = isMoment(row.created_at)
      ? row.created_at
      : new Date((await lstat(path)).mtimeMs).toISOString();
    const preview = await makePreview(artifactKind({ type, name, mime }), seen);
    const tokens = await countArtifactTokens(ownTextWork, seen, preview.text);
    const provenance = provenanceOf(jsonObjectIn(row.provenance) ?? {}, created_at);
    const content = { ref, thread_id: this.#thread, type, mime, name, size: seen.size, hash };
    const artifact: Artifact = { ...content, preview, provenance, tokens, created_at };
    return { artifact, open: () => openFile(path) };
  }

  #cut(text: string, most: number, what: string): string {
    const letters = [...text];
    if (letters.length > most) this.notes.push(`${what} was cut to ${most} characters`);
    return letters.slice(0, most).join('');
  }

  async #derivedRef(file: string): Promise<string> {
    return (await sha256Hex(`legacy ${this.#thread} ${file}`)).slice(0, 26);
  }
}

function provenanceOf(
  { created_by, created_at, source_refs, capability }: JsonObject,
  threadCreatedAt: string,
): Provenance {
  const refs = Array.isArray(source_refs) ? source_refs : [];
  return {
    created_by: typeof created_by === 'string' && created_by.length <= 256 ? created_by : LEGACY_AUTHOR,
    created_at: isMoment(created_at) ? created_at : threadCreatedAt,
    source_refs: refs
      .filter((ref): ref is string => typeof ref === 'string' && ref.length <= 128)
      .slice(0, ARTIFACT_SOURCES),
    capability: typeof capability === 'string' && capability !== '' ? capability : null,
  };
}

function openFile(path: string): BlobBody {
  return Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>;
}

async function derived(text: string): Promise<Uint8Array> {
  return Uint8Array.from(Buffer.from(await sha256Hex(`legacy ${text}`), 'hex'));
}

function cachedNote(count: number): string {
  return count === 1
    ? '1 cached capability result was not imported; its artifacts were.'
    : `${count} cached capability results were not imported; their artifacts were.`;
}
