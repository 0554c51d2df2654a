import type { Context } from 'hono';
import { LOCAL_CALLER } from '../../contract/caller.ts';
import { eventResponse } from '../event-response.ts';
import { notesOf } from './callers.ts';
import type { HttpDeps } from './deps.ts';

/** Events for as long as their reader stays, the server runs, and the key that they were asked for with works. */
export function liveEvents<T>(
  c: Context,
  { stopping, core }: HttpDeps,
  follow: (signal: AbortSignal) => AsyncIterable<T>,
  write: (event: T) => string,
): Response {
  const gone = new AbortController();
  const letGo = core.keys.watch.watch(notesOf(c).caller ?? LOCAL_CALLER, () => gone.abort());
  gone.signal.addEventListener('abort', letGo, { once: true });
  const signal = stopping ? AbortSignal.any([gone.signal, stopping]) : gone.signal;
  return eventResponse(follow(signal), {
    write,
    // Something must be sent for the head of the answer to leave.
    head: 'retry: 1000\n\n',
    ended: () => gone.abort(),
  });
}

/** The same end for a stream that another protocol made: whoever makes it is told as if its reader had gone. */
export function endingWithKey(response: Response, hold: (end: () => void) => () => void): Response {
  const { body, status, statusText, headers } = response;
  if (body === null || !headers.get('content-type')?.startsWith('text/event-stream')) return response;
  const reader = body.getReader();
  let letGo = () => {};
  const bound = new ReadableStream<Uint8Array>({
    start(controller) {
      letGo = hold(() => {
        controller.close();
        reader.cancel().catch(() => {});
      });
    },
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        letGo();
        controller.close();
      } catch (error) {
        letGo();
        controller.error(error);
      }
    },
    cancel(reason) {
      letGo();
      return reader.cancel(reason);
    },
  });
  return new Response(bound, { status, statusText, headers });
}
