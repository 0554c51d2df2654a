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
import { followEvents, streamClient } from './event-stream.ts';
import { HttpClient, type HttpOptions } from './http-client.ts';
import { httpFiles, httpPointers } from './http-contents.ts';
import { rangeHeader } from './resuming-body.ts';
import { followSocket } from './socket-follower.ts';
import { buildCall, type HandWritten, toQuery, upload, VerbCalls } from './verb-calls.ts';

type Parts = typeof VERBS;
/** Hand-written methods, by API group. Groups without such methods are left out. */
type WrittenByHand = {
  readonly [P in keyof Parts as keyof HandWritten<Parts[P]> extends never ? never : P]: HandWritten<Parts[P]>;
};

/**
 * Returns a relay that is called over HTTP. Most methods are generated from the verb table. Methods that transfer
 * bytes or stream events are written by hand.
 */
export function httpRelay(options: HttpOptions): Relay {
  const calls = new VerbCalls(new HttpClient(options));
  const byHand: { readonly [part: string]: object } = {
    pointers: httpPointers(calls),
    channels: {
      subscribe: (channel, subscribeOptions = {}) => followSocket(calls, options, channel, subscribeOptions),
    },
    threads: httpThreads(calls, options),
    files: httpFiles(calls),
    activity: httpActivity(calls, options),
  } satisfies WrittenByHand;
  const parts = Object.entries<Verbs>(VERBS).map(([part, verbs]) => [part, calls.api(verbs, byHand[part])]);
  return { ...Object.fromEntries(parts), [Symbol.asyncDispose]: async () => {} };
}

/** Returns the thread methods that transfer bytes or stream events. */
function httpThreads(calls: VerbCalls, options: HttpOptions): HandWritten<typeof threads> {
  const { client } = calls;
  return {
    async putArtifact(id, { body, name, type, mime, source_refs, idempotency_key, late }) {
      if (late) throw new TypeError('the `late` option works only inside a server');
      const query = toQuery({ name: name ?? '', type: type || undefined, mime: mime || undefined });
      for (const ref of source_refs ?? []) query.append('source_ref', ref);
      const sent = upload(body, idempotency_key, { 'Content-Type': 'application/octet-stream' });
      const call = buildCall(threads.putArtifact, { thread_id: id }, { ...sent, query, doing: 'artifact' });
      return calls.ask<ArtifactCreated>(call);
    },

    /** Sends two requests: one for the artifact's description, one for its bytes. */
    async content(id, ref, { range, counted } = {}) {
      const artifact = await calls.call<Artifact>(threads.artifact, { thread_id: id, ref, counted: false });
      const headers: Record<string, string> = { Accept: 'application/octet-stream' };
      if (range) headers.Range = rangeHeader(range);
      const query = toQuery({ counted: counted === false ? '0' : undefined });
      const call = buildCall(threads.content, { thread_id: id, ref }, { headers, query, doing: 'artifact' });
      return client.run(call, async ({ body }) => ({
        artifact,
        body: body ?? new Uint8Array(0),
        ...(range ? { range } : {}),
      }));
    },

    watch(id, watchOptions) {
      const request = { headers: { Accept: 'text/event-stream' }, repeatable: false, doing: 'watch' };
      const call = buildCall(threads.watch, { thread_id: id }, request);
      return followEvents<ThreadEvent>(streamClient(options, watchOptions.signal), call, watchOptions);
    },

    async export(id) {
      const call = buildCall(threads.export, { thread_id: id }, { doing: 'export' });
      return client.run(call, async ({ body, headers }) => ({
        body: body ?? new ReadableStream<Uint8Array>(),
        name: `thread-${id}.zip`,
        damaged: headers.get('relay-damaged')?.split(' ') ?? [],
      }));
    },

    async import(body) {
      const headers = { 'Content-Type': 'application/zip' };
      const call = buildCall(threads.import, {}, { body, headers, doing: 'import' });
      return calls.ask<ImportAnswer>(call);
    },
  };
}

/** Returns the method that streams the activity of the relay until the signal aborts. */
function httpActivity(calls: VerbCalls, options: HttpOptions): HandWritten<typeof activity> {
  return {
    async *watch(watchOptions) {
      // Fix the start position before connecting, so that no event is lost if the connection breaks before
      // the first event.
      const after =
        watchOptions.after ?? (await calls.call<ActivityPage>(activity.list, { limit: 1 })).newest;
      const headers = { Accept: 'text/event-stream' };
      const call = buildCall(activity.watch, {}, { headers, repeatable: false, doing: 'watch' });
      yield* followEvents<Activity>(streamClient(options, watchOptions.signal), call, {
        ...watchOptions,
        after,
      });
    },
  };
}
