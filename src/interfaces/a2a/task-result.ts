import { isRelayError } from '../../base/errors.ts';
import { ownKey } from '../../base/ids.ts';
import { ENVELOPE_PAYLOAD_BYTES, TASK_OUTPUT_BYTES } from '../../base/limits.ts';
import { ANSWER_TYPE } from '../../client/bridge/answer.ts';
import { parsePointer } from '../../contract/pointer-url.ts';
import type { Relay } from '../../contract/relay.ts';
import type { FoundResult } from '../../sdk/result-waiters.ts';
import { recordAnswer } from './answer-record.ts';
import { type TaskRecord, threadOf, turnOf } from './task-record.ts';

type Outcome = Pick<TaskRecord, 'state' | 'note' | 'said' | 'artifact' | 'artifacts' | 'direct'>;

/** Makes the result an artifact of the task's thread, or several of one that comes in parts. Doing it twice makes one. */
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
    const where = inline === null ? { pointer: await reachable(id, relay) } : { text: inline };
    const payload = { task_id: record.id, ref, state };
    await relay.threads.record(threadOf(record), `a2a.task.${state}`, payload);
    return { state, ...note, artifact: { ref, name, mime, size: stored, ...where } };
  } catch (error) {
    if (isRelayError(error, 'key_missing')) {
      await relay.threads.record(threadOf(record), `a2a.task.${state}`, { task_id: record.id, state });
      return { state, note: `The result is encrypted for those who share its key. It is behind ${url}` };
    }
    if (!isRelayError(error, 'not_found')) throw error;
    return { state: 'failed', note: 'The result had expired before anybody asked for it.' };
  }
}

/** Whoever gave us the task is told a URL and nothing else, so the URL must be enough. */
async function reachable(id: string, relay: Relay): Promise<string> {
  if ((await relay.pointers.peek(id)).visibility === 'link') return id;
  const { about, body } = await relay.pointers.pull(id);
  const { size, content_type } = about;
  const known = { size: size ?? undefined, content_type: content_type ?? undefined };
  const copy = { body, ...known, visibility: 'link' as const };
  return (await relay.pointers.push(copy)).id;
}
