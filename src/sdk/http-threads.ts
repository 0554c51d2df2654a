import { pause } from '../base/pause.ts';
import type { ImportAnswer, ThreadEvent } from '../contract/threads/answers.ts';
import type { Artifact, ArtifactCreated } from '../contract/threads/artifacts.ts';
import { threads } from '../contract/threads.ts';
import { eventData, lastingClient } from './event-stream.ts';
import { type HttpCall, type HttpClient, type HttpOptions, isTransient } from './http-client.ts';
import { rangeHeader } from './resuming-body.ts';
import { callOf, type HandMade, queryOf, upload, type VerbCalls } from './verb-calls.ts';

/** Contents and bundles travel as bytes, and events as long as somebody watches. */
export function httpThreads(calls: VerbCalls, options: HttpOptions): HandMade<typeof threads> {
  const { client } = calls;
  return {
    async putArtifact(id, { body, name, type, mime, source_refs, idempotency_key, late }) {
      if (late) throw new TypeError('fields that come late are for servers');
      const query = queryOf({ name: name ?? '', type: type || undefined, mime: mime || undefined });
      for (const ref of source_refs ?? []) query.append('source_ref', ref);
      const sent = upload(body, idempotency_key, { 'Content-Type': 'application/octet-stream' });
      const call = callOf(threads.putArtifact, { thread_id: id }, { ...sent, query, doing: 'artifact' });
      return client.run(call, (answer) => calls.read<ArtifactCreated>(answer));
    },

    /** The bytes come apart from what they are, so both are asked for. */
    async content(id, ref, { range, counted } = {}) {
      const artifact = await calls.call<Artifact>(threads.artifact, { thread_id: id, ref, counted: false });
      const headers: Record<string, string> = { Accept: 'application/octet-stream' };
      if (range) headers.Range = rangeHeader(range);
      const query = queryOf({ counted: counted === false ? '0' : undefined });
      const call = callOf(threads.content, { thread_id: id, ref }, { headers, query, doing: 'artifact' });
      return client.run(call, async ({ body }) => ({
        artifact,
        body: body ?? new Uint8Array(0),
        ...(range ? { range } : {}),
      }));
    },

    watch(id, o) {
      const request = { headers: { Accept: 'text/event-stream' }, repeatable: false, doing: 'watch' };
      const call = callOf(threads.watch, { thread_id: id }, request);
      return followEvents(lastingClient(options, o.signal), call, o);
    },

    async export(id) {
      const call = callOf(threads.export, { thread_id: id }, { doing: 'export' });
      return client.run(call, async ({ body, headers }) => ({
        body: body ?? new ReadableStream<Uint8Array>(),
        name: `thread-${id}.zip`,
        damaged: headers.get('relay-damaged')?.split(' ') ?? [],
      }));
    },

    async import(body) {
      const headers = { 'Content-Type': 'application/zip' };
      const call = callOf(threads.import, {}, { body, headers, doing: 'import' });
      return client.run(call, (answer) => calls.read<ImportAnswer>(answer));
    },
  };
}

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 10_000;

/**
 * Events as they happen, over a connection that may break: it is taken up again behind the last event that was seen.
 * What the relay refuses is thrown.
 */
async function* followEvents(
  client: HttpClient,
  call: HttpCall,
  o: { after?: string; signal: AbortSignal },
): AsyncGenerator<ThreadEvent> {
  let after = o.after;
  let wait = FIRST_WAIT_MS;
  while (!o.signal.aborted) {
    try {
      const body = await client.run({ ...call, query: queryOf({ after }) }, async (answer) => answer.body);
      for await (const data of body ? eventData(body) : []) {
        const event = JSON.parse(data) as ThreadEvent;
        after = event.id;
        wait = FIRST_WAIT_MS;
        yield event;
      }
    } catch (error) {
      if (o.signal.aborted) return;
      if (!isTransient(error)) throw error;
    }
    await pause(wait, o.signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}
