import { Part } from '@a2a-js/sdk';
import { isRelayError } from '../../base/errors.ts';
import { ownKey } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import { A2A_ARTIFACTS, A2A_MESSAGE_BYTES, ENVELOPE_PAYLOAD_BYTES } from '../../base/limits.ts';
import { type AgentAnswer, type AnswerArtifact, readAnswer } from '../../client/bridge/answer.ts';
import type { Relay } from '../../contract/relay.ts';
import { bytesOf } from './parts.ts';
import { type AnsweredArtifact, type PartRecord, type TaskRecord, threadOf, turnOf } from './task-record.ts';

type Answered = Pick<TaskRecord, 'state' | 'note' | 'said' | 'artifacts' | 'direct'>;

/**
 * What an agent said in the protocol's own JSON, with everything large and all bytes behind pointers. The content of its
 * artifacts is also stored in the task's thread. Doing it twice makes one of each.
 */
export async function recordAnswer(record: TaskRecord, text: string, relay: Relay): Promise<Answered> {
  let answer: AgentAnswer | null;
  try {
    answer = readAnswer(text);
  } catch (error) {
    if (isRelayError(error, 'bad_request')) return { state: 'failed', note: error.message };
    throw error;
  }
  if (!answer) return { state: 'failed', note: 'The agent’s answer is not one of A2A 1.0.' };
  const { state, direct } = answer;
  const keep = partKeeper(record, relay);
  const said: PartRecord[] = [];
  for (const part of answer.said) said.push(await keep(part));
  const made: AnsweredArtifact[] = [];
  for (const artifact of answer.artifacts)
    made.push(await keepArtifact(record, artifact, made.length, keep, relay));
  const refs = made.map(({ ref }) => ref);
  await relay.threads.record(threadOf(record), `a2a.task.${state}`, { task_id: record.id, refs, state });
  return {
    state,
    ...(said.length > 0 ? { said } : {}),
    artifacts: [...(record.artifacts ?? []), ...made].slice(-A2A_ARTIFACTS),
    ...(direct && record.turn === undefined ? { direct } : {}),
  };
}

type Keep = (part: JsonObject) => Promise<PartRecord>;

async function keepArtifact(
  record: TaskRecord,
  { name, description, parts }: AnswerArtifact,
  index: number,
  keep: Keep,
  relay: Relay,
): Promise<AnsweredArtifact> {
  const turn = turnOf(record);
  const kept: PartRecord[] = [];
  let ref: string | null = null;
  for (const [at, json] of parts.entries()) {
    kept.push(await keep(json));
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
  return { ref: ref ?? `${turn}-${index}`, name, description, parts: kept };
}

/** Keeps small words and data in the record, as far as there is room, and everything else behind a pointer. */
function partKeeper(record: TaskRecord, { pointers }: Relay): Keep {
  let room = A2A_MESSAGE_BYTES;
  let count = 0;
  return async (json) => {
    const part = Part.fromJSON(json);
    const body = bytesOf(part);
    const size = body?.byteLength ?? 0;
    const idempotency_key = `a2a ${turnOf(record)} part ${count++}`;
    if (!body || (part.content?.$case !== 'raw' && size <= Math.min(room, ENVELOPE_PAYLOAD_BYTES))) {
      room -= size;
      return { part: json };
    }
    const mime = mimeOf(part);
    const pushed = await pointers.push({
      body,
      size,
      content_type: mime,
      visibility: 'link',
      idempotency_key,
    });
    return { pointer: pushed.id, size, name: part.filename, mime };
  };
}

function mimeOf({ mediaType, content }: Part): string {
  if (mediaType) return mediaType;
  if (content?.$case === 'data') return 'application/json';
  return content?.$case === 'text' ? 'text/markdown' : 'application/octet-stream';
}
