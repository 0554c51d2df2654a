import { badRequest, RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { isRef, timeOrderedId } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import { ARTIFACT_NAME_CHARS, ARTIFACT_SOURCES, PAGE_ITEMS, PART_CHARS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import {
  ARTIFACT_TYPE,
  ARTIFACT_TYPES,
  type Artifact,
  type ArtifactCreated,
  type ArtifactFields,
  type ArtifactInput,
} from '../../contract/threads.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import { cutRange } from '../../kernel/validate-input.ts';
import { checkPartRequest, cutToBudget, type PartRequest } from '../../text/parts/part-request.ts';
import { type RecordsOf, recordsOf } from '../records.ts';
import { workFor } from '../text-work.ts';
import { artifactKind, guessType, KINDS, MEDIA_TYPE } from './artifact-kind.ts';
import { ContentScan, countArtifactTokens } from './content-scan.ts';
import type { StoredEvent } from './event.ts';
import { idempotentRequest } from './fold.ts';
import { ARTIFACT_FILES, artifactBlob, artifactKey, idOf, type ThreadRoot } from './keys.ts';
import { isoTime, versionRef } from './state.ts';
import type { ThreadLog, ThreadVerb } from './thread-log.ts';

/**
 * Stores an artifact: first the blob, then the record, then the event. The event is the commit point. It
 * makes a version and adds the reference to the state. Without the event, blob and record are orphans.
 * `capability` is set if the artifact is the result of a capability.
 */
export async function putArtifact(
  log: ThreadLog,
  caller: Caller,
  id: string,
  input: ArtifactInput,
  o: { capability?: string; report?: boolean; indexed?: boolean } = {},
): Promise<ArtifactCreated> {
  const { engine, env } = log.deps;
  const { root } = await log.meta(caller, id);
  // Multipart forms usually send the file name before the content. The key of the blob contains the extension
  // of this name. If the name is still the same after the content, the blob need not be copied to another
  // key.
  const likely = checkInput(input);
  // A possible retry skips the quota check: the artifact may already be stored, and the retry must get the
  // first answer even if the quota is used up.
  if (input.idempotency_key === undefined) await log.storage.admit(caller.tenant, input.size ?? 0);
  const ref = timeOrderedId(env);
  let blob = artifactBlob(root, { ref, ...likely });
  const scan = new ContentScan(input.body, input.size);
  const texts = workFor(caller, log.deps.texts);
  try {
    // If the name can still change, put the content now instead of staging it. A changed name means another blob key,
    // and only a blob that was put can be copied to that key.
    const options = { size: input.size };
    const staged = input.late ? null : await engine.blobs.stage(blob, scan.body, options);
    const { size, sha256: hash } = staged ?? (await engine.blobs.put(blob, scan.body, options));
    const fields = input.late ? checkInput(input.late()) : likely;
    const { name, type, mime, source_refs } = fields;
    blob = await renameBlob(log, blob, artifactBlob(root, { ref, ...fields }));
    const scanned = scan.result();
    const preview = await texts.preview(artifactKind(fields), scanned);
    const tokens = await countArtifactTokens(texts, scanned, preview.text);
    const at = env.now();
    const [by, created_at] = [caller.name, isoTime(at)];
    const provenance = { created_by: by, created_at, source_refs, capability: o.capability ?? null };
    const content = { type, mime, name, size, hash };
    const artifact: Artifact = { ref, thread_id: id, ...content, preview, provenance, tokens, created_at };
    const record = await artifactRecords(log).stage(artifactKey(root, ref), artifact);
    const retry = await idempotentRequest('artifact', input.idempotency_key, () =>
      sha256Hex(JSON.stringify([hash, type, mime, name, source_refs])),
    );
    const origin: JsonObject = {
      ...(o.capability === undefined ? {} : { capability: o.capability }),
      ...(o.report ? { report: true } : {}),
    };
    const payload = { by, ref, type, name, mime, size, hash, tokens: { ...tokens }, source_refs, ...origin };
    const { index } = log;
    const isIndexed = o.indexed ?? true;
    const isLong = isIndexed && scanned.isText && index.isLong(artifact);
    if (isLong) await index.plan(caller.tenant, root, artifact, at);
    let indexed: Promise<void> | undefined;
    const committed = await log.commit<{ ref: string; version: number }>(caller, id, (head) => {
      const before = retry?.previousUse(head);
      if (before?.ref !== undefined) return { done: { ref: before.ref, version: before.version } };
      // Index the text while the event is written. If the event is not written, `discard` removes the index entry. If
      // indexing fails, the artifact is stored anyway, and searches do not find it until a repair indexes it.
      if (isIndexed && !isLong)
        indexed ??= index.putShort(caller.tenant, artifact, scanned.text).catch(() => {});
      const version = head.version + 1;
      const event: StoredEvent = {
        type: 'artifact.created',
        at,
        payload: { version, ...payload },
        ...retry?.mark,
      };
      return { event, with: staged ? [staged, record] : [record], answer: () => ({ ref, version }) };
    });
    await indexed;
    const state_ref = versionRef(committed.version);
    if (committed.ref !== ref) {
      await discard(log, caller.tenant, root, ref, blob);
      return { ...withPath(root, await readArtifact(log, root, committed.ref)), state_ref };
    }
    if (isLong) await index.begin(caller.tenant, [artifact]);
    return { ...withPath(root, artifact), state_ref };
  } catch (error) {
    // Discard only if the event is not committed, because a reference without content is worse than an orphan. Ignore
    // errors here: the caller needs the first error, and an orphan is deleted with its thread.
    const head = await log.heads.load(root).catch(() => undefined);
    if (head !== undefined && !head?.refs.includes(ref))
      await discard(log, caller.tenant, root, ref, blob).catch(() => {});
    throw error;
  }
}

/** Returns an artifact without its content. Counts as a read of its preview. */
export const getArtifact: ThreadVerb<'artifact'> = async (log, caller, id, ref, o = {}) => {
  const { root } = await log.meta(caller, id);
  const answer = withPath(root, await readArtifact(log, root, ref));
  if (o.counted ?? true) log.ledger.countRead(root, 'previews', answer);
  return answer;
};

/**
 * Returns the content of an artifact, or a byte range of it. Records a pull event, because reading content costs
 * tokens.
 */
export const readContent: ThreadVerb<'content'> = async (log, caller, id, ref, o = {}) => {
  const { root } = await log.meta(caller, id);
  const artifact = await readArtifact(log, root, ref);
  const { size, tokens } = artifact;
  const range = o.range && cutRange(o.range, size);
  const body = await openArtifact(log, root, artifact, range);
  const share = range && size > 0 ? (range.end - range.start) / size : 1;
  notePull(log, caller, id, { ref, tokens: Math.round(tokens.content * share) }, o.counted);
  return { artifact: withPath(root, artifact), body, ...(range ? { range } : {}) };
};

/** Lists the artifacts of a thread, newest first. Leaves out artifacts whose content was deleted. */
export const listArtifacts: ThreadVerb<'artifacts'> = async (log, caller, id, o = {}) => {
  const head = await log.head(caller, id);
  const refs = head.refs.slice(0, head.totals.artifacts).reverse();
  const start = o.after === undefined ? 0 : refs.indexOf(o.after) + 1;
  if (o.after !== undefined && start === 0) throw artifactNotFound(o.after);
  const page = refs.slice(start, start + (o.limit ?? PAGE_ITEMS));
  const artifacts = await Promise.all(page.map((ref) => readArtifact(log, head.root, ref)));
  const more = start + page.length < refs.length && page.length > 0;
  const remaining = artifacts.filter(({ deleted_at }) => deleted_at === undefined);
  const answer = {
    artifacts: remaining.map((artifact) => withPath(head.root, artifact)),
    ...(more ? { next: page.at(-1)! } : {}),
  };
  if (o.counted ?? true) log.ledger.countRead(head.root, 'listings', answer);
  return answer;
};

/** Reads the record of an artifact. The caller of this function must have checked access to the thread. */
export async function readArtifact(log: ThreadLog, root: ThreadRoot, ref: string): Promise<Artifact> {
  const stored = isRef(ref) ? await artifactRecords(log).get(artifactKey(root, ref)) : null;
  if (!stored) throw artifactNotFound(ref);
  return stored.value;
}

/** Like `readArtifact`, but throws if the content was deleted. */
export async function readLiveArtifact(log: ThreadLog, root: ThreadRoot, ref: string): Promise<Artifact> {
  const artifact = await readArtifact(log, root, ref);
  const { deleted_at } = artifact;
  if (deleted_at !== undefined) throw new RelayError('artifact_deleted', { ref, at: deleted_at });
  return artifact;
}

/** Adds the path of the file with the content. The path is not stored in the record. */
function withPath(root: ThreadRoot, artifact: Artifact): Artifact {
  if (artifact.deleted_at !== undefined) return artifact;
  return { ...artifact, path: ARTIFACT_FILES.path(artifactBlob(root, artifact)) };
}

/** Opens the content of an artifact without recording a pull. */
export async function openArtifact(
  log: ThreadLog,
  root: ThreadRoot,
  artifact: Artifact,
  range?: { start: number; end: number },
): Promise<BlobBody> {
  const { ref, deleted_at } = artifact;
  if (deleted_at !== undefined) throw new RelayError('artifact_deleted', { ref, at: deleted_at });
  const found = await log.deps.engine.blobs.get(artifactBlob(root, artifact), range);
  if (!found) throw artifactNotFound(ref);
  return found.body;
}

async function renameBlob(log: ThreadLog, from: string, to: string): Promise<string> {
  if (from === to) return to;
  const { blobs } = log.deps.engine;
  const found = await blobs.get(from);
  if (!found)
    throw new RelayError('aborted', {
      what: 'the relay deleted the uploaded data before the artifact was recorded',
      hint: 'The artifact was not stored. Send it again.',
    });
  await blobs.put(to, found.body, { size: found.size });
  await blobs.delete(from);
  return to;
}

async function discard(
  log: ThreadLog,
  tenant: string,
  root: ThreadRoot,
  ref: string,
  blob: string,
): Promise<void> {
  // With size 0, only the first section is removed from the index. The other sections do not exist yet, because they
  // are indexed after the commit.
  await log.index.remove(tenant, { thread_id: idOf(root), ref, size: 0 });
  await artifactRecords(log).delete(artifactKey(root, ref));
  await log.deps.engine.blobs.delete(blob);
}

/** Returns the records of the store, typed as artifacts. */
export function artifactRecords(log: ThreadLog): RecordsOf<Artifact> {
  return recordsOf(log.deps.engine.records);
}

function checkInput(input: ArtifactFields) {
  const name = input.name ?? '';
  if ([...name].length > ARTIFACT_NAME_CHARS) {
    throw badRequest(`A name has at most ${ARTIFACT_NAME_CHARS} characters.`);
  }
  const type = input.type ?? guessType(name, input.mime);
  if (!ARTIFACT_TYPE.test(type)) {
    throw badRequest(
      `"type" must be one of ${ARTIFACT_TYPES.join(', ')}, or your own type of up to 64 letters, digits and _ . + / -`,
    );
  }
  const kind = artifactKind({ type, name, mime: input.mime ?? '' });
  const mime = input.mime ?? KINDS[kind].mime;
  if (!MEDIA_TYPE.test(mime)) throw badRequest('"mime" must be a media type such as text/plain.');
  const source_refs = [...(input.source_refs ?? [])];
  if (
    source_refs.length > ARTIFACT_SOURCES ||
    source_refs.some((ref) => typeof ref !== 'string' || ref.length > 128)
  ) {
    throw badRequest(
      `"source_refs" must be a list of at most ${ARTIFACT_SOURCES} strings of up to 128 characters.`,
    );
  }
  return { name: name === '' ? `untitled.${KINDS[kind].ext}` : name, type, mime, source_refs };
}

function artifactNotFound(ref: string): RelayError {
  return new RelayError('not_found', {
    what: `artifact ${ref.slice(0, 64)}`,
    hint: 'List the artifacts of the thread with: relay artifact list',
  });
}

/**
 * Returns a part of an artifact's content. Records a pull with the tokens of the answer. A rejected request
 * is not a pull.
 */
export const readPart: ThreadVerb<'part'> = async (log, caller, id, ref, o) => {
  const { max_tokens = PART_CHARS, counted = true, ...parts } = o;
  if (!Number.isInteger(max_tokens) || max_tokens < 1 || max_tokens > PART_CHARS)
    throw badRequest(`"max_tokens" must be a whole number from 1 to ${PART_CHARS}.`);
  const requested = Object.entries(parts).filter(([, value]) => value !== undefined && value !== false);
  const part = checkPartRequest(Object.fromEntries(requested) as PartRequest);
  const { root } = await log.meta(caller, id);
  const artifact = await readArtifact(log, root, ref);
  const texts = workFor(caller, log.deps.texts);
  const partText = await texts.part(await openArtifact(log, root, artifact), part, { size: artifact.size });
  const answer = await cutToBudget(partText, max_tokens, texts);
  const [[name, value]] = requested as [[string, unknown]];
  const what = name === 'outline' ? name : `${name}=${value}`.slice(0, 200);
  notePull(log, caller, id, { ref, tokens: answer.tokens.tokens, part: what }, counted);
  return answer;
};

/** Records a pull event in the background, so that the answer does not wait for it. */
function notePull(log: ThreadLog, caller: Caller, id: string, about: JsonObject, counted = true): void {
  // Keep this order of the fields. Clients of the Go relay expect it.
  const { ref = '', ...more } = about;
  const payload = { ref, by: caller.name, ...more, ...(counted ? {} : { counted }) };
  const event = { type: 'artifact.pulled', at: log.deps.env.now(), payload };
  log.background.run(() => log.note(caller, id, event));
}

/**
 * Deletes the content of an artifact, its preview and its search index entries. Hash, name and provenance
 * stay, so that the log and all versions of the state remain valid. The record is updated first, so that no
 * reader gets the content afterwards. After a crash, another deletion finishes the work.
 */
export const deleteArtifact: ThreadVerb<'deleteArtifact'> = async (log, caller, id, ref) => {
  const { engine, env } = log.deps;
  const { root } = await log.meta(caller, id);
  const artifact = await readArtifact(log, root, ref);
  const at = artifact.deleted_at === undefined ? env.now() : Date.parse(artifact.deleted_at);
  const tombstone = { ...withoutContent(artifact), deleted_at: isoTime(at) };
  await artifactRecords(log).put(artifactKey(root, ref), tombstone, { frees: true });
  await log.index.remove(caller.tenant, artifact);
  await engine.blobs.delete(artifactBlob(root, artifact));
  const { name, size, hash } = tombstone;
  const retry = await idempotentRequest('artifact.deleted', ref, () => sha256Hex(ref));
  const payload = { by: caller.name, ref, name, size, hash };
  return log.commit<Artifact>(caller, id, async (head) => {
    if (
      retry!.previousUse(head) ||
      (artifact.deleted_at !== undefined && (await isDeletionLogged(log, root, ref)))
    ) {
      return { done: tombstone };
    }
    const event = { type: 'artifact.deleted', at, payload, ...retry!.mark };
    return { event, answer: () => tombstone };
  });
};

/**
 * Returns whether the log already contains the deletion of an artifact. A second event would free the bytes
 * of the artifact in the quota twice. The search reads the whole log, because the idempotency key of the
 * deletion may be forgotten.
 */
async function isDeletionLogged(log: ThreadLog, root: ThreadRoot, ref: string): Promise<boolean> {
  for await (const { event } of log.heads.events(root, 0)) {
    if (event.type === 'artifact.deleted' && event.payload.ref === ref) return true;
  }
  return false;
}

/** Returns the record of an artifact without its preview text. */
export function withoutContent(artifact: Artifact): Artifact {
  return { ...artifact, preview: { ...artifact.preview, text: '', line_count: 0, truncated: false } };
}
