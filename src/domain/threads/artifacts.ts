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
import { checkPartRequest, type PartRequest, withinBudget } from '../../text/parts/part-request.ts';
import { type RecordsOf, recordsOf } from '../records.ts';
import { workFor } from '../text-work.ts';
import { guessType, KINDS, kindOf, MEDIA_TYPE } from './artifact-kind.ts';
import { ContentScan, countTokens } from './content-scan.ts';
import type { StoredEvent } from './event.ts';
import { repeatable } from './fold.ts';
import { ARTIFACT_FILES, artifactBlob, artifactKey, idOf, type ThreadRoot } from './keys.ts';
import { isoTime, versionRef } from './state.ts';
import type { ThreadLog, ThreadVerb } from './thread-log.ts';

/**
 * Blob, record, log: the event is the commit point, makes a version, and puts the reference into the state. What
 * comes before is staged, and an orphan if it never comes. `capability` names the one whose result this is.
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
  // A form usually tells the name of its file before the content: where that holds in the end, nothing is copied.
  const likely = checkInput(input);
  // A retry of one that is stored is answered whatever room there is.
  if (input.idempotency_key === undefined) await log.storage.admit(caller.tenant, input.size ?? 0);
  const ref = timeOrderedId(env);
  let blob = artifactBlob(root, { ref, ...likely });
  const scan = new ContentScan(input.body, input.size);
  const texts = workFor(caller, log.deps.texts);
  try {
    // A content that may get another name is stored, not staged, so that it can be read again for that.
    const options = { size: input.size };
    const staged = input.late ? null : await engine.blobs.stage(blob, scan.body, options);
    const { size, sha256: hash } = staged ?? (await engine.blobs.put(blob, scan.body, options));
    const fields = input.late ? checkInput(input.late()) : likely;
    const { name, type, mime, source_refs } = fields;
    blob = await rename(log, blob, artifactBlob(root, { ref, ...fields }));
    const seen = scan.seen();
    const preview = await texts.preview(kindOf(fields), seen);
    const tokens = await countTokens(texts, seen, preview.text);
    const at = env.now();
    const [by, created_at] = [caller.name, isoTime(at)];
    const provenance = { created_by: by, created_at, source_refs, capability: o.capability ?? null };
    const content = { type, mime, name, size, hash };
    const artifact: Artifact = { ref, thread_id: id, ...content, preview, provenance, tokens, created_at };
    const record = await artifactRecords(log).stage(artifactKey(root, ref), artifact);
    const retry = await repeatable('artifact', input.idempotency_key, () =>
      sha256Hex(JSON.stringify([hash, type, mime, name, source_refs])),
    );
    const made: JsonObject = {
      ...(o.capability === undefined ? {} : { capability: o.capability }),
      ...(o.report ? { report: true } : {}),
    };
    const payload = { by, ref, type, name, mime, size, hash, tokens: { ...tokens }, source_refs, ...made };
    const { index } = log;
    const isIndexed = o.indexed ?? true;
    const isLong = isIndexed && seen.isText && index.isLong(artifact);
    if (isLong) await index.plan(caller.tenant, root, artifact, at);
    let indexed: Promise<void> | undefined;
    const kept = await log.commit<{ ref: string; version: number }>(caller, id, (head) => {
      const before = retry?.seen(head);
      if (before?.ref !== undefined) return { done: { ref: before.ref, version: before.version } };
      // Written together with the event; if the event does not come to be, `discard` removes it again. An artifact that could not be
      // indexed is stored all the same: it is not found until a repair indexes it.
      if (isIndexed && !isLong)
        indexed ??= index.putShort(caller.tenant, artifact, seen.text).catch(() => {});
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
    const state_ref = versionRef(kept.version);
    if (kept.ref !== ref) {
      await discard(log, caller.tenant, root, ref, blob);
      return { ...withPath(root, await artifactMeta(log, root, kept.ref)), state_ref };
    }
    if (isLong) await index.begin(caller.tenant, [artifact]);
    return { ...withPath(root, artifact), state_ref };
  } catch (error) {
    // Only what was never committed: a lost content behind a live reference would be worse than an orphan. The caller needs the
    // first error, so a failure here only leaves an orphan, which is swept up.
    const head = await log.heads.load(root).catch(() => undefined);
    if (head !== undefined && !head?.refs.includes(ref))
      await discard(log, caller.tenant, root, ref, blob).catch(() => {});
    throw error;
  }
}

/** An artifact without its content. Its preview is in it, so it is written into the ledger. */
export const getArtifact: ThreadVerb<'artifact'> = async (log, caller, id, ref, o = {}) => {
  const { root } = await log.meta(caller, id);
  const answer = withPath(root, await artifactMeta(log, root, ref));
  if (o.counted ?? true) log.ledger.answerRead(root, 'previews', answer);
  return answer;
};

/** The content, or a range of it. A pull is an event: it costs tokens, and it shows that someone has read it. */
export const readContent: ThreadVerb<'content'> = async (log, caller, id, ref, o = {}) => {
  const { root } = await log.meta(caller, id);
  const artifact = await artifactMeta(log, root, ref);
  const { size, tokens } = artifact;
  const range = o.range && cutRange(o.range, size);
  const body = await openArtifact(log, root, artifact, range);
  const share = range && size > 0 ? (range.end - range.start) / size : 1;
  notePull(log, caller, id, { ref, tokens: Math.round(tokens.content * share) }, o.counted);
  return { artifact: withPath(root, artifact), body, ...(range ? { range } : {}) };
};

/** Newest first, without those that were deleted. */
export const listArtifacts: ThreadVerb<'artifacts'> = async (log, caller, id, o = {}) => {
  const head = await log.head(caller, id);
  const refs = head.refs.slice(0, head.totals.artifacts).reverse();
  const start = o.after === undefined ? 0 : refs.indexOf(o.after) + 1;
  if (o.after !== undefined && start === 0) throw noArtifact(o.after);
  const page = refs.slice(start, start + (o.limit ?? PAGE_ITEMS));
  const artifacts = await Promise.all(page.map((ref) => artifactMeta(log, head.root, ref)));
  const more = start + page.length < refs.length && page.length > 0;
  const there = artifacts.filter(({ deleted_at }) => deleted_at === undefined);
  const answer = {
    artifacts: there.map((artifact) => withPath(head.root, artifact)),
    ...(more ? { next: page.at(-1)! } : {}),
  };
  if (o.counted ?? true) log.ledger.answerRead(head.root, 'listings', answer);
  return answer;
};

/** For whoever has made sure that the thread is the caller's. */
export async function artifactMeta(log: ThreadLog, root: ThreadRoot, ref: string): Promise<Artifact> {
  const stored = isRef(ref) ? await artifactRecords(log).get(artifactKey(root, ref)) : null;
  if (!stored) throw noArtifact(ref);
  return stored.value;
}

/** The same of one whose content is still there. */
export async function artifactThere(log: ThreadLog, root: ThreadRoot, ref: string): Promise<Artifact> {
  const artifact = await artifactMeta(log, root, ref);
  const { deleted_at } = artifact;
  if (deleted_at !== undefined) throw new RelayError('artifact_deleted', { ref, at: deleted_at });
  return artifact;
}

/** An artifact as it is told to others: with the place of its file, which is not part of what is stored. */
function withPath(root: ThreadRoot, artifact: Artifact): Artifact {
  if (artifact.deleted_at !== undefined) return artifact;
  return { ...artifact, path: ARTIFACT_FILES.path(artifactBlob(root, artifact)) };
}

/** The content, without anyone being charged for it. */
export async function openArtifact(
  log: ThreadLog,
  root: ThreadRoot,
  artifact: Artifact,
  range?: { start: number; end: number },
): Promise<BlobBody> {
  const { ref, deleted_at } = artifact;
  if (deleted_at !== undefined) throw new RelayError('artifact_deleted', { ref, at: deleted_at });
  const found = await log.deps.engine.blobs.get(artifactBlob(root, artifact), range);
  if (!found) throw noArtifact(ref);
  return found.body;
}

async function rename(log: ThreadLog, from: string, to: string): Promise<string> {
  if (from === to) return to;
  const { blobs } = log.deps.engine;
  const found = await blobs.get(from);
  if (!found) throw new RelayError('aborted', { what: 'the content went missing on its way' });
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
  // Sections but the first are indexed once it has come to be.
  await log.index.remove(tenant, { thread_id: idOf(root), ref, size: 0 });
  await artifactRecords(log).delete(artifactKey(root, ref));
  await log.deps.engine.blobs.delete(blob);
}

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
      `The type of an artifact is one of ${ARTIFACT_TYPES.join(', ')}, or one of your own: up to 64 letters, digits and _ . + / -`,
    );
  }
  const kind = kindOf({ type, name, mime: input.mime ?? '' });
  const mime = input.mime ?? KINDS[kind].mime;
  if (!MEDIA_TYPE.test(mime)) throw badRequest('The media type is not one.');
  const source_refs = [...(input.source_refs ?? [])];
  if (
    source_refs.length > ARTIFACT_SOURCES ||
    source_refs.some((ref) => typeof ref !== 'string' || ref.length > 128)
  ) {
    throw badRequest(`Source refs are at most ${ARTIFACT_SOURCES} short texts.`);
  }
  return { name: name === '' ? `untitled.${KINDS[kind].ext}` : name, type, mime, source_refs };
}

function noArtifact(ref: string): RelayError {
  return new RelayError('not_found', {
    what: `artifact ${ref.slice(0, 64)}`,
    hint: 'See relay artifact list for those of the thread.',
  });
}

/** A part of a content. It is a pull that costs what is answered; what is refused is none. */
export const readPart: ThreadVerb<'part'> = async (log, caller, id, ref, o) => {
  const { max_tokens = PART_CHARS, counted = true, ...asked } = o;
  if (!Number.isInteger(max_tokens) || max_tokens < 1 || max_tokens > PART_CHARS)
    throw badRequest(`"max_tokens" is a whole number from 1 to ${PART_CHARS}.`);
  const given = Object.entries(asked).filter(([, value]) => value !== undefined && value !== false);
  const part = checkPartRequest(Object.fromEntries(given) as PartRequest);
  const { root } = await log.meta(caller, id);
  const artifact = await artifactMeta(log, root, ref);
  const texts = workFor(caller, log.deps.texts);
  const taken = await texts.part(await openArtifact(log, root, artifact), part, { size: artifact.size });
  const answer = await withinBudget(taken, max_tokens, texts);
  const [[name, value]] = given as [[string, unknown]];
  const what = name === 'outline' ? name : `${name}=${value}`.slice(0, 200);
  notePull(log, caller, id, { ref, tokens: answer.tokens.tokens, part: what }, counted);
  return answer;
};

/** Nobody waits for the event of a pull. */
function notePull(log: ThreadLog, caller: Caller, id: string, about: JsonObject, counted = true): void {
  // The order in which clients of the Go relay have always seen the fields.
  const { ref = '', ...more } = about;
  const payload = { ref, by: caller.name, ...more, ...(counted ? {} : { counted }) };
  const event = { type: 'artifact.pulled', at: log.deps.env.now(), payload };
  log.background.run(() => log.note(caller, id, event));
}

/**
 * Deletes the content of an artifact and what was made of it: the preview and the entry in the search index. Its hash, name
 * and provenance stay, so that the log and every version of the state still make sense. The record goes first, and from
 * there on nobody reads it; a deletion that a crash interrupted is finished by asking for it again.
 */
export const deleteArtifact: ThreadVerb<'deleteArtifact'> = async (log, caller, id, ref) => {
  const { engine, env } = log.deps;
  const { root } = await log.meta(caller, id);
  const artifact = await artifactMeta(log, root, ref);
  const at = artifact.deleted_at === undefined ? env.now() : Date.parse(artifact.deleted_at);
  const gone = { ...withoutContent(artifact), deleted_at: isoTime(at) };
  await artifactRecords(log).put(artifactKey(root, ref), gone, { frees: true });
  await log.index.remove(caller.tenant, artifact);
  await engine.blobs.delete(artifactBlob(root, artifact));
  const { name, size, hash } = gone;
  const once = await repeatable('artifact.deleted', ref, () => sha256Hex(ref));
  const payload = { by: caller.name, ref, name, size, hash };
  return log.commit<Artifact>(caller, id, async (head) => {
    if (once!.seen(head) || (artifact.deleted_at !== undefined && (await isNoted(log, root, ref)))) {
      return { done: gone };
    }
    const event = { type: 'artifact.deleted', at, payload, ...once!.mark };
    return { event, answer: () => gone };
  });
};

/** Whether the log has the deletion, however many keys were used since: its bytes are given back once. */
async function isNoted(log: ThreadLog, root: ThreadRoot, ref: string): Promise<boolean> {
  for await (const { event } of log.heads.events(root, 0)) {
    if (event.type === 'artifact.deleted' && event.payload.ref === ref) return true;
  }
  return false;
}

/** What is left of an artifact whose content is gone. */
export function withoutContent(artifact: Artifact): Artifact {
  return { ...artifact, preview: { ...artifact.preview, text: '', line_count: 0, truncated: false } };
}
