import { SSE_HEARTBEAT_MS } from '../base/limits.ts';
import { pause } from '../base/pause.ts';
import type { WatchState } from '../contract/activity.ts';
import { type HttpCall, HttpClient, type HttpOptions, isTransient } from './http-client.ts';
import { queryOf } from './verb-calls.ts';

/** An event stream outlives any one answer; that it is still there shows in its heartbeat. */
export function lastingClient(options: HttpOptions, signal: AbortSignal | undefined): HttpClient {
  return new HttpClient({ ...options, retries: 0, timeout: 4 * SSE_HEARTBEAT_MS, signal });
}

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 10_000;

/**
 * Events as they happen, over a connection that may break: it is taken up again behind the last event that was seen.
 * What the relay refuses is thrown.
 */
export async function* followEvents<T extends { readonly id: string }>(
  client: HttpClient,
  call: HttpCall,
  o: { after?: string; signal: AbortSignal } & WatchState,
): AsyncGenerator<T> {
  let after = o.after;
  let wait = FIRST_WAIT_MS;
  while (!o.signal.aborted) {
    try {
      const body = await client.run({ ...call, query: queryOf({ after }) }, async (answer) => answer.body);
      o.state?.('live');
      for await (const data of body ? eventData(body) : []) {
        const event = JSON.parse(data) as T;
        after = event.id;
        wait = FIRST_WAIT_MS;
        yield event;
      }
    } catch (error) {
      if (o.signal.aborted) return;
      if (!isTransient(error)) throw error;
    }
    if (o.signal.aborted) return;
    o.state?.('lost');
    await pause(wait, o.signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

/** What stands in the data lines of an event stream; the relay writes one for each event. */
export async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
        text = text.slice(end + 2);
        if (data !== undefined) yield data;
      }
    }
  } finally {
    // The reader is done with the stream; whether its end was heard changes nothing.
    await reader.cancel().catch(() => {});
  }
}
