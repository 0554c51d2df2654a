import { type Activity, type ActivityPage, activity } from '../contract/activity.ts';
import { type Relay, VERBS } from '../contract/relay.ts';
import {
  type Artifact,
  type ArtifactCreated,
  type ImportAnswer,
  type ThreadEvent,
  threads,
} from '../contract/threads.ts';
import type { Verbs } from '../contract/verb.ts';
import { followEvents, lastingClient } from './event-stream.ts';
import { HttpClient, type HttpOptions } from './http-client.ts';
import { httpFiles, httpPointers } from './http-contents.ts';
import { rangeHeader } from './resuming-body.ts';
import { followSocket } from './socket-follower.ts';
import { callOf, type HandMade, queryOf, upload, VerbCalls } from './verb-calls.ts';

type Parts = typeof VERBS;
/** The methods written by hand, of every part that has any. */
type WrittenByHand = {
  readonly [P in keyof Parts as keyof HandMade<Parts[P]> extends never ? never : P]: HandMade<Parts[P]>;
};

/** A relay at the other end of HTTP, made from the table; only what streams or stays open is written by hand. */
export function httpRelay(options: HttpOptions): Relay {
  const calls = new VerbCalls(new HttpClient(options));
  const byHand: { readonly [part: string]: object } = {
    pointers: httpPointers(calls),
    channels: { subscribe: (channel, o = {}) => followSocket(calls, options, channel, o) },
    threads: httpThreads(calls, options),
    files: httpFiles(calls),
    activity: httpActivity(calls, options),
  } satisfies WrittenByHand;
  const parts = Object.entries<Verbs>(VERBS).map(([part, verbs]) => [part, calls.api(verbs, byHand[part])]);
  return { ...Object.fromEntries(parts), [Symbol.asyncDispose]: async () => {} };
}

/** Contents and bundles travel as bytes, and events as long as somebody watches. */
function httpThreads(calls: VerbCalls, options: HttpOptions): HandMade<typeof threads> {
  const { client } = calls;
  return {
    async putArtifact(id, { body, name, type, mime, source_refs, idempotency_key, late }) {
      if (late) throw new TypeError('fields that come late are for servers');
      const query = queryOf({ name: name ?? '', type: type || undefined, mime: mime || undefined });
      for (const ref of source_refs ?? []) query.append('source_ref', ref);
      const sent = upload(body, idempotency_key, { 'Content-Type': 'application/octet-stream' });
      const call = callOf(threads.putArtifact, { thread_id: id }, { ...sent, query, doing: 'artifact' });
      return calls.ask<ArtifactCreated>(call);
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
      return calls.ask<ImportAnswer>(call);
    },
  };
}

/** What happens, for as long as somebody watches. */
function httpActivity(calls: VerbCalls, options: HttpOptions): HandMade<typeof activity> {
  return {
    async *watch(o) {
      // Known from the start, so that nothing is missed where the connection breaks before anything happened.
      const after = o.after ?? (await calls.call<ActivityPage>(activity.list, { limit: 1 })).newest;
      const headers = { Accept: 'text/event-stream' };
      const call = callOf(activity.watch, {}, { headers, repeatable: false, doing: 'watch' });
      yield* followEvents<Activity>(lastingClient(options, o.signal), call, { ...o, after });
    },
  };
}
