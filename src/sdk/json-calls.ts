import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { decodeUtf8, encodeUtf8 } from '../base/utf8.ts';
import type { HttpAnswer, HttpCall, HttpClient } from './http-client.ts';
import { notARelay } from './http-failure.ts';
import { collect, letGo } from './streams.ts';

/** A page of the longest names with all they say of themselves. */
const ANSWER_BYTES = 16 * 1024 * 1024;

interface JsonCall {
  readonly method?: HttpCall['method'];
  readonly path: string;
  readonly query?: { readonly [name: string]: string | number | undefined };
  readonly body?: Json;
  readonly headers?: Record<string, string>;
  /** May be sent again after a failure; what only reads always is. */
  readonly repeatable?: boolean;
  readonly doing: string;
}

/** Requests that carry JSON in and out. */
export class JsonCalls {
  readonly client: HttpClient;

  constructor(client: HttpClient) {
    this.client = client;
  }

  call<T>(call: JsonCall): Promise<T> {
    return this.client.run(request(call), (answer) => this.read<T>(answer));
  }

  /** The JSON of an answer to any request. */
  async read<T>(answer: HttpAnswer): Promise<T> {
    return (await this.#json(answer)) as unknown as T;
  }

  /** Where the status is the whole answer. */
  send(call: JsonCall): Promise<void> {
    return this.client.run(request(call), ({ body }) => letGo(body));
  }

  async #json(answer: HttpAnswer): Promise<JsonObject> {
    const limit = { bytes: ANSWER_BYTES, what: 'an answer' };
    const text = answer.body ? decodeUtf8(await collect(answer.body, limit)) : null;
    try {
      const parsed: unknown = JSON.parse(text ?? '');
      if (isJsonObject(parsed)) return parsed;
    } catch {
      // Told below, whatever else it was.
    }
    throw notARelay(this.client.base, 'it did not answer in JSON');
  }
}

function request(call: JsonCall): HttpCall {
  const { method = 'GET', path, body, headers, doing } = call;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) query.set(name, String(value));
  }
  return {
    method,
    path,
    query,
    headers: body === undefined ? headers : { ...headers, 'Content-Type': 'application/json; charset=utf-8' },
    ...(body === undefined ? {} : { body: encodeUtf8(JSON.stringify(body)) }),
    repeatable: call.repeatable ?? method === 'GET',
    doing,
  };
}
