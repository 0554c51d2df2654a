import { RelayError } from '../base/errors.ts';
import { SSE_HEARTBEAT_MS } from '../base/limits.ts';
import { type HttpCall, HttpClient, type HttpOptions } from './http-client.ts';
import type { Connection } from './socket-connection.ts';

/** An event stream outlives any one answer; that it is still there shows in its heartbeat. */
export function lastingClient(options: HttpOptions, signal: AbortSignal | undefined): HttpClient {
  return new HttpClient({ ...options, retries: 0, timeout: 4 * SSE_HEARTBEAT_MS, signal });
}

/** A connection over an event stream, for platforms without a WebSocket, such as Node 20. The client's signal closes it. */
export async function openEvents(client: HttpClient, call: HttpCall): Promise<Connection> {
  const body = await client.run(call, async (answer) => answer.body);
  const connection = {
    reason: new RelayError('unreachable', { what: client.base }),
    // The relay sends no more than is read.
    overflowed: false,
    async *frames() {
      try {
        if (body) yield* eventData(body);
      } catch (error) {
        connection.reason = error as RelayError;
      }
    },
    // Whoever stops reading the frames has let go of the stream.
    close() {},
  };
  return connection;
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
    await reader.cancel().catch(() => {});
  }
}
