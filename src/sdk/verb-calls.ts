import { systemEnv } from '../base/env.ts';
import { badRequest, isRelayError } from '../base/errors.ts';
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
import { collect, discardBody } from './payload.ts';

/** Methods of an API group whose HTTP code is written by hand. `VerbCalls` generates all others. */
export type HandWritten<V extends Verbs> = Pick<Api<V>, ByHand<V> & keyof Api<V>>;

type Input = { [field: string]: unknown };

/** Maximum size of a JSON response: enough for a page of a list with the longest allowed names and metadata. */
export const ANSWER_BYTES = 16 * 1024 * 1024;
export const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' };

/** Calls verbs over HTTP. The row of a verb says where each input field goes and whether the call may be repeated. */
export class VerbCalls {
  readonly client: HttpClient;

  constructor(client: HttpClient) {
    this.client = client;
  }

  /**
   * Returns the API of a group of verbs. It has the methods in `byHand`, and a generated method for each
   * other verb.
   */
  api(verbs: Verbs, byHand: object | undefined): object {
    const api: { [method: string]: unknown } = { ...byHand };
    for (const [method, verb] of Object.entries(verbs)) {
      if (method in api || verb.only) continue;
      api[method] = (...args: readonly unknown[]) => this.call(verb, inputOf(verb, args));
    }
    return api;
  }

  /** Calls a verb and returns its result. */
  async call<T>(verb: Verb, input: Input): Promise<T> {
    let attempts = 0;
    const call = { ...buildRequest(verb, input), onAttempt: () => attempts++ };
    try {
      return await this.client.run(call, async (answer) => {
        if (verb.status === 204) return (await discardBody(answer.body)) as T;
        const found = await this.read<Input>(answer);
        return (verb.answer === undefined ? found : found[verb.answer]) as T;
      });
    } catch (error) {
      // An earlier attempt deleted the object, but its response was lost. So `not_found` means success here.
      const deletes = call.method === 'DELETE' && verb.status === 204;
      if (deletes && attempts > 1 && isRelayError(error, 'not_found')) return undefined as T;
      throw error;
    }
  }

  /** Sends a prepared call and returns the JSON object of the response. */
  ask<T extends object>(call: HttpCall): Promise<T> {
    return this.client.run(call, (answer) => this.read<T>(answer));
  }

  /** Reads the JSON object of a response. */
  async read<T extends object>(answer: HttpAnswer): Promise<T> {
    const limit = { bytes: ANSWER_BYTES, what: 'an answer' };
    const text = answer.body ? decodeUtf8(await collect(answer.body, limit)) : null;
    const parsed = jsonObjectIn(text);
    if (parsed) return parsed as T;
    throw notARelay(this.client.base, 'it did not answer in JSON');
  }
}

/** Builds the HTTP call of a verb from its path fields and the options. */
export function buildCall(
  verb: Verb,
  fields: Input,
  options: Omit<HttpCall, 'method' | 'path' | 'repeatable'> & { readonly repeatable?: boolean },
): HttpCall {
  const { method } = routeOf(verb);
  return { method, path: pathOf(verb, fields), repeatable: method === 'GET', ...options };
}

/** Builds a query string from the fields that are not undefined. Booleans become 0 or 1. */
export function toQuery(fields: object): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) query.set(name, typeof value === 'boolean' ? String(Number(value)) : value);
  }
  return query;
}

/**
 * Builds the body of an upload. Bytes can be sent again after a failure, so the request then has an
 * idempotency key. A stream cannot be sent again.
 */
export function upload(
  body: Uint8Array | ReadableStream<Uint8Array>,
  key: string | undefined,
  headers: Record<string, string>,
): Pick<HttpCall, 'body' | 'headers' | 'repeatable'> {
  const repeatable = body instanceof Uint8Array;
  const keyed = repeatable || key !== undefined ? idempotency(key) : {};
  return { body, headers: { ...headers, ...keyed }, repeatable };
}

/** Returns the Idempotency-Key header. Generates an idempotency key if the caller passed none. */
export function idempotency(key: string = uuid(systemEnv)): Record<string, string> {
  // Reject a key with spaces or characters that are not ASCII, because an HTTP header cannot contain them.
  if (/^[\x21-\x7e]+$/.test(key)) return { 'Idempotency-Key': checkIdempotencyKey(key)! };
  throw badRequest('An idempotency key is sent as a header: it must be printable ASCII without spaces.');
}

/** Builds path, headers, query and body of a call. Generates an idempotency key if the caller passed none. */
function buildRequest(verb: Verb, input: Input): HttpCall {
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
  const queryFields = hasBody(method) ? (verb.query ?? []) : Object.keys(rest);
  const query = toQuery(Object.fromEntries(queryFields.map((field) => [field, take(field)])));
  const repeatable =
    method === 'GET' || verb.repeatable === true || 'idempotency_key' in (verb.headers ?? {});
  const call = { method, path, query, repeatable, doing: verb.name };
  if (!hasBody(method)) return { ...call, headers };
  const body = encodeUtf8(JSON.stringify(verb.body === undefined ? rest : rest[verb.body]));
  return { ...call, headers: { ...headers, ...JSON_TYPE }, body };
}
