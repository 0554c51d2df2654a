import { systemEnv } from '../base/env.ts';
import { isRelayError, RelayError } from '../base/errors.ts';
import { checkIdempotencyKey, uuid } from '../base/ids.ts';
import { jsonObjectIn } from '../base/json.ts';
import { decodeUtf8, encodeUtf8 } from '../base/utf8.ts';
import {
  type Api,
  type ByHand,
  hasBody,
  inputOf,
  pathOf,
  routeOf,
  type Verb,
  type Verbs,
} from '../contract/verb.ts';
import { type HttpAnswer, type HttpCall, type HttpClient, notARelay } from './http-client.ts';
import { collect, letGo } from './payload.ts';

/** The methods of a group that no general client can make. */
export type HandMade<V extends Verbs> = Pick<Api<V>, ByHand<V> & keyof Api<V>>;

type Input = { [field: string]: unknown };

/** A page of the longest names with all they say of themselves. */
const ANSWER_BYTES = 16 * 1024 * 1024;
export const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' };

/** Calls verbs over HTTP as their rows say: where each field of the input travels, and what may be sent twice. */
export class VerbCalls {
  readonly client: HttpClient;

  constructor(client: HttpClient) {
    this.client = client;
  }

  /** The API of a group of verbs: a method for each row, and those that were written by hand. */
  api(verbs: Verbs, byHand: object | undefined): object {
    const api: { [method: string]: unknown } = { ...byHand };
    for (const [method, verb] of Object.entries(verbs)) {
      if (method in api || verb.only) continue;
      api[method] = (...args: readonly unknown[]) => this.call(verb, inputOf(verb, args));
    }
    return api;
  }

  async call<T>(verb: Verb, input: Input): Promise<T> {
    let attempts = 0;
    const call = { ...requestOf(verb, input), onAttempt: () => attempts++ };
    try {
      return await this.client.run(call, async (answer) => {
        if (verb.status === 204) return (await letGo(answer.body)) as T;
        const found = await this.read<Input>(answer);
        return (verb.answer === undefined ? found : found[verb.answer]) as T;
      });
    } catch (error) {
      // The first try deleted it, and only its answer was lost.
      const deletes = call.method === 'DELETE' && verb.status === 204;
      if (deletes && attempts > 1 && isRelayError(error, 'not_found')) return undefined as T;
      throw error;
    }
  }

  /** What is answered in JSON to a call that is put together by hand. */
  ask<T extends object>(call: HttpCall): Promise<T> {
    return this.client.run(call, (answer) => this.read<T>(answer));
  }

  /** The JSON object of an answer to any request. */
  async read<T extends object>(answer: HttpAnswer): Promise<T> {
    const limit = { bytes: ANSWER_BYTES, what: 'an answer' };
    const text = answer.body ? decodeUtf8(await collect(answer.body, limit)) : null;
    const parsed = jsonObjectIn(text);
    if (parsed) return parsed as T;
    throw notARelay(this.client.base, 'it did not answer in JSON');
  }
}

/** A call of a verb that is put together by hand. */
export function callOf(
  verb: Verb,
  fields: Input,
  o: Omit<HttpCall, 'method' | 'path' | 'repeatable'> & { readonly repeatable?: boolean },
): HttpCall {
  const { method } = routeOf(verb);
  return { method, path: pathOf(verb, fields), repeatable: method === 'GET', ...o };
}

/** The fields that have a value. */
export function queryOf(fields: object): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) query.set(name, typeof value === 'boolean' ? String(Number(value)) : value);
  }
  return query;
}

/** What is sent as bytes. Only what can be sent again needs a key that makes the second time harmless. */
export function upload(
  body: Uint8Array | ReadableStream<Uint8Array>,
  key: string | undefined,
  headers: Record<string, string>,
): Pick<HttpCall, 'body' | 'headers' | 'repeatable'> {
  const repeatable = body instanceof Uint8Array;
  const keyed = repeatable || key !== undefined ? idempotency(key) : {};
  return { body, headers: { ...headers, ...keyed }, repeatable };
}

/** The header that makes a repeated call harmless, with a key made up where there is none. */
export function idempotency(key: string = uuid(systemEnv)): Record<string, string> {
  // A header takes no other characters.
  if (/^[\x21-\x7e]+$/.test(key)) return { 'Idempotency-Key': checkIdempotencyKey(key)! };
  throw new RelayError('bad_request', {
    what: 'An idempotency key that travels in a header has printable ASCII characters and no spaces.',
  });
}

/** Path, headers, query and body of a call. An Idempotency-Key is made up where the caller gave none. */
function requestOf(verb: Verb, input: Input): HttpCall {
  const route = routeOf(verb);
  const { method } = route;
  const rest = { ...input };
  const take = (field: string): unknown => {
    const value = rest[field];
    delete rest[field];
    return value;
  };
  const path = pathOf(verb, input);
  for (const [, field] of route.path.matchAll(/:(\w+)/g)) take(field!);
  const headers: Record<string, string> = {};
  for (const [field, header] of Object.entries(verb.headers ?? {})) {
    const value = take(field) ?? (field === 'idempotency_key' ? uuid(systemEnv) : undefined);
    if (value !== undefined) headers[header] = String(value);
  }
  const asked = hasBody(method) ? (verb.query ?? []) : Object.keys(rest);
  const query = queryOf(Object.fromEntries(asked.map((field) => [field, take(field)])));
  const repeatable =
    method === 'GET' || verb.repeatable === true || 'idempotency_key' in (verb.headers ?? {});
  const call = { method, path, query, repeatable, doing: verb.name };
  if (!hasBody(method)) return { ...call, headers };
  const body = encodeUtf8(JSON.stringify(verb.body === undefined ? rest : rest[verb.body]));
  return { ...call, headers: { ...headers, ...JSON_TYPE }, body };
}
