import {
  type Artifact,
  type ArtifactCreated,
  type ImportAnswer,
  type ThreadEvent,
  threads,
} from '../contract/threads.ts';
import { followEvents, lastingClient } from './event-stream.ts';
import type { HttpOptions } from './http-client.ts';
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
      return followEvents<ThreadEvent>(lastingClient(options, o.signal), call, o);
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
