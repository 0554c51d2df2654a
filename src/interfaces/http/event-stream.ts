import type { Context } from 'hono';
import { EVENT_HEADERS, eventResponse } from '../event-response.ts';
import type { HttpDeps } from './deps.ts';
import { notesOf } from './request-watch.ts';
import { ALWAYS } from './responses.ts';

/**
 * Events for as long as their reader stays, the server runs, and the key that they were asked for with works. `from` is the id behind which
 * they begin: a reader that was told nothing is told that at the end, so that it comes back to where it was.
 */
export function liveEvents<T>(
  c: Context,
  { stopping, core }: HttpDeps,
  follow: (signal: AbortSignal) => AsyncIterable<T>,
  write: (event: T) => string,
  from?: string | number,
): Response {
  let told = from === undefined;
  const gone = new AbortController();
  const letGo = core.keys.watch.watch(notesOf(c).caller!, () => gone.abort());
  gone.signal.addEventListener('abort', letGo, { once: true });
  notesOf(c).onGone(() => gone.abort());
  return eventResponse(follow(AbortSignal.any([gone.signal, stopping])), {
    write(event) {
      told = true;
      return write(event);
    },
    tail: () => (told ? '' : `id: ${from}\n\n`),
    // Something must be sent for the head of the answer to leave.
    head: 'retry: 1000\n\n',
    headers: { ...EVENT_HEADERS, ...ALWAYS },
    ended: () => gone.abort(),
    signal: gone.signal,
  });
}

/** The same end, with its key or its reader, for a stream that another protocol made: whoever makes it is told as if its reader had gone. */
export function endingWithKey(c: Context, { core }: HttpDeps, response: Response): Response {
  const { body, status, statusText, headers } = response;
  const notes = notesOf(c);
  const { caller } = notes;
  if (!caller || !body || !headers.get('content-type')?.startsWith('text/event-stream')) return response;
  let letGo = () => {};
  const untilKeyEnds = {
    start(controller) {
      letGo = core.keys.watch.watch(caller, () => controller.terminate());
      notes.onGone(() => controller.terminate());
    },
    flush: () => letGo(),
    // Called when the reader leaves and when the source fails; TypeScript does not know of it yet.
    cancel: () => letGo(),
  } as Transformer<Uint8Array, Uint8Array>;
  return new Response(body.pipeThrough(new TransformStream(untilKeyEnds)), { status, statusText, headers });
}
