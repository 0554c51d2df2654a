import { Part } from '@a2a-js/sdk';
import { isRelayError } from '../../base/errors.ts';
import { ownKey } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import { A2A_ARTIFACTS, ENVELOPE_PAYLOAD_BYTES, TASK_OUTPUT_BYTES } from '../../base/limits.ts';
import {
  type AgentAnswer,
  ANSWER_TYPE,
  type AnswerArtifact,
  readAnswer,
} from '../../client/bridge/answer.ts';
import { parsePointer } from '../../contract/pointer-url.ts';
import type { Relay } from '../../contract/relay.ts';
import type { FoundResult } from '../../sdk/result-waiters.ts';
import { bytesOf, largePartStore } from './messages.ts';
import { type AnsweredArtifact, type PartRecord, type TaskRecord, threadOf, turnOf } from './task-record.ts';

type Outcome = Pick<TaskRecord, 'state' | 'note' | 'said' | 'artifact' | 'artifacts' | 'direct'>;

/**
 * Stores the result of a task as artifacts in the task's thread, appends an event, and returns the new state of the
 * task. If the call is repeated, the artifacts are not stored again.
 */
export async function recordResult(
  record: TaskRecord,
  { url, status, summary }: FoundResult,
  relay: Relay,
): Promise<Outcome> {
  const { id } = parsePointer(url);
  const note = summary === null ? {} : { note: summary.slice(0, 2_000) };
  if (status === 'canceled') {
    await relay.threads.record(threadOf(record), 'a2a.task.canceled', { task_id: record.id });
    return { state: 'canceled', ...note };
  }
  const state = status === 'failed' ? 'failed' : 'completed';
  try {
    const found = await relay.pointers.pull(id, { keyless: true });
    const { size, text, content_type } = found.about;
    if (content_type === ANSWER_TYPE && size !== null && size <= TASK_OUTPUT_BYTES)
      return await recordAnswer(record, await new Response(found.body as BodyInit).text(), relay);
    const small = text && size !== null && size <= ENVELOPE_PAYLOAD_BYTES;
    const inline = small ? await new Response(found.body as BodyInit).text() : null;
    const body = inline === null ? found.body : new TextEncoder().encode(inline);
    const artifact = await relay.threads.putArtifact(threadOf(record), {
      body,
      size: size ?? undefined,
      name: 'result',
      mime: content_type ?? (text ? 'text/markdown' : 'application/octet-stream'),
      source_refs: [record.id, id],
      idempotency_key: ownKey(`a2a ${turnOf(record)}`),
    });
    const { ref, name, mime, size: stored } = artifact;
    const where = inline === null ? { pointer: await publicPointer(id, relay) } : { text: inline };
    const payload = { task_id: record.id, ref, state };
    await relay.threads.record(threadOf(record), `a2a.task.${state}`, payload);
    return { state, ...note, artifact: { ref, name, mime, size: stored, ...where } };
  } catch (error) {
    if (isRelayError(error, 'key_missing')) {
      await relay.threads.record(threadOf(record), `a2a.task.${state}`, { task_id: record.id, state });
      return { state, note: `The result is encrypted. Pull it with its key: ${url}` };
    }
    if (!isRelayError(error, 'not_found')) throw error;
    return { state: 'failed', note: 'The result expired before it was read.' };
  }
}

/**
 * Returns a pointer that anyone with its URL can read. If `id` needs an API key, copies its payload to a new
 * pointer.
 */
async function publicPointer(id: string, relay: Relay): Promise<string> {
  if ((await relay.pointers.peek(id)).visibility === 'link') return id;
  const { about, body } = await relay.pointers.pull(id);
  const { size, content_type } = about;
  const fields = { size: size ?? undefined, content_type: content_type ?? undefined };
  const copy = { body, ...fields, visibility: 'link' as const };
  return (await relay.pointers.push(copy)).id;
}

/**
 * Stores an answer in A2A JSON, with pointers in place of large and binary parts. The contents of the answer's
 * artifacts also go into the task's thread. If the call is repeated, neither parts nor artifacts are stored again.
 */
async function recordAnswer(record: TaskRecord, text: string, relay: Relay): Promise<Outcome> {
  let answer: AgentAnswer | null;
  try {
    answer = readAnswer(text);
  } catch (error) {
    if (isRelayError(error, 'bad_request')) return { state: 'failed', note: error.message };
    throw error;
  }
  if (!answer) return { state: 'failed', note: 'The agent’s answer is not valid A2A 1.0.' };
  const { state, direct } = answer;
  const store = largePartStore(relay.pointers, (at) => `a2a ${turnOf(record)} part ${at}`);
  const storePart = async (json: JsonObject): Promise<PartRecord> => {
    const part = Part.fromJSON(json);
    const mime = mimeOf(part);
    const stored = await store(part, mime);
    return stored ? { pointer: stored.id, size: stored.size, name: part.filename, mime } : { part: json };
  };
  const messageParts: PartRecord[] = [];
  for (const part of answer.messageParts) messageParts.push(await storePart(part));
  const storedArtifacts: AnsweredArtifact[] = [];
  for (const artifact of answer.artifacts)
    storedArtifacts.push(await storeArtifact(record, artifact, storedArtifacts.length, storePart, relay));
  const refs = storedArtifacts.map(({ ref }) => ref);
  await relay.threads.record(threadOf(record), `a2a.task.${state}`, { task_id: record.id, refs, state });
  return {
    state,
    ...(messageParts.length > 0 ? { said: messageParts } : {}),
    artifacts: [...(record.artifacts ?? []), ...storedArtifacts].slice(-A2A_ARTIFACTS),
    ...(direct && record.turn === undefined ? { direct } : {}),
  };
}

async function storeArtifact(
  record: TaskRecord,
  { name, description, parts }: AnswerArtifact,
  index: number,
  storePart: (part: JsonObject) => Promise<PartRecord>,
  relay: Relay,
): Promise<AnsweredArtifact> {
  const turn = turnOf(record);
  const storedParts: PartRecord[] = [];
  let ref: string | null = null;
  for (const [at, json] of parts.entries()) {
    storedParts.push(await storePart(json));
    const part = Part.fromJSON(json);
    const body = bytesOf(part);
    if (!body) continue;
    const stored = await relay.threads.putArtifact(threadOf(record), {
      body,
      size: body.byteLength,
      name: part.filename || name || 'result',
      mime: mimeOf(part),
      source_refs: [record.id, turn],
      idempotency_key: ownKey(`a2a ${turn} ${index} ${at}`),
    });
    ref ??= stored.ref;
  }
  return { ref: ref ?? `${turn}-${index}`, name, description, parts: storedParts };
}

function mimeOf({ mediaType, content }: Part): string {
  if (mediaType) return mediaType;
  if (content?.$case === 'data') return 'application/json';
  return content?.$case === 'text' ? 'text/markdown' : 'application/octet-stream';
}
