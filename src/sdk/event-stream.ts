import { SSE_HEARTBEAT_MS } from '../base/limits.ts';
import { pause } from '../base/pause.ts';
import type { WatchState } from '../contract/activity.ts';
import { type HttpCall, HttpClient, type HttpOptions, isTransient } from './http-client.ts';
import { toQuery } from './verb-calls.ts';

/**
 * Returns a client for event streams. The client does not retry. A stream times out if nothing arrives for four
 * heartbeat intervals.
 */
export function streamClient(options: HttpOptions, signal: AbortSignal | undefined): HttpClient {
  return new HttpClient({ ...options, retries: 0, timeout: 4 * SSE_HEARTBEAT_MS, signal });
}

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 10_000;

/**
 * Yields events as they happen. After a lost connection, reconnects and continues after the last event. Throws errors
 * that a retry cannot fix.
 */
export async function* followEvents<T extends { readonly id: string }>(
  client: HttpClient,
  call: HttpCall,
  options: { after?: string; signal: AbortSignal } & WatchState,
): AsyncGenerator<T> {
  let after = options.after;
  let wait = FIRST_WAIT_MS;
  while (!options.signal.aborted) {
    try {
      const body = await client.run({ ...call, query: toQuery({ after }) }, async (answer) => answer.body);
      options.state?.('live');
      for await (const data of body ? eventData(body) : []) {
        const event = JSON.parse(data) as T;
        after = event.id;
        wait = FIRST_WAIT_MS;
        yield event;
      }
    } catch (error) {
      if (options.signal.aborted) return;
      if (!isTransient(error)) throw error;
    }
    if (options.signal.aborted) return;
    options.state?.('lost');
    await pause(wait, options.signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

/** Yields the data of each server-sent event. The relay writes exactly one data line per event. */
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
    // Ignore a failure to cancel, because the consumer has stopped reading.
    await reader.cancel().catch(() => {});
  }
}
