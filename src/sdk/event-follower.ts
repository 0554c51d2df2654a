import { isRelayError } from '../base/errors.ts';
import { pause } from '../base/pause.ts';
import type { ThreadEvent } from '../contract/threads/answers.ts';
import type { HttpClient } from './http-client.ts';

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 10_000;

/**
 * Events as they happen, over a connection that may break: it is taken up again behind the last event that was seen.
 * What the relay refuses is thrown.
 */
export async function* followEvents(
  client: HttpClient,
  path: string,
  o: { after?: string; signal: AbortSignal },
): AsyncGenerator<ThreadEvent> {
  let after = o.after;
  let wait = FIRST_WAIT_MS;
  while (!o.signal.aborted) {
    try {
      const query = new URLSearchParams(after === undefined ? {} : { after });
      const headers = { Accept: 'text/event-stream' };
      const call = { method: 'GET', path, query, headers, repeatable: false, doing: 'watch' } as const;
      const body = await client.run(call, async (answer) => answer.body);
      for await (const event of body ? eventsIn(body) : []) {
        after = event.id;
        wait = FIRST_WAIT_MS;
        yield event;
      }
    } catch (error) {
      if (o.signal.aborted) return;
      if (!isRelayError(error) || ![408, 429, 503].includes(error.status)) throw error;
    }
    await pause(wait, o.signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

/** The JSON in the data lines of an event stream. */
async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<ThreadEvent> {
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
        if (data !== undefined) yield JSON.parse(data) as ThreadEvent;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
