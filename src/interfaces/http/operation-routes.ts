import type { Context } from 'hono';
import type { z } from 'zod';
import { badRequest, isRelayError, RelayError, tooLarge } from '../../base/errors.ts';
import { isJsonObject, type Json, parseJson } from '../../base/json.ts';
import { JSON_BODY_BYTES } from '../../base/limits.ts';
import type { Relay } from '../../contract/relay.ts';
import { hasBody, routeOf, type Verb } from '../../contract/verb.ts';
import { checkInput } from '../../schemas/check-input.ts';
import { jsonText } from '../body-text.ts';
import type { Serve } from './callers.ts';
import type { Operation } from './operations.ts';
import { bytesResponse, jsonResponse } from './responses.ts';

type Methods = { readonly [method: string]: (...args: readonly unknown[]) => Promise<unknown> };

/** Serves every verb that has no hand-written handler. */
export function operationRoutes(serve: Serve, operations: readonly Operation[]): void {
  for (const operation of operations) {
    const { verb } = operation;
    if (verb.byHand) continue;
    serve(verb, async (relay, c) => {
      const answer = await call(relay, operation, validate(operation.input, await gather(c, verb)));
      const { status = 200 } = verb;
      return status === 204 ? bytesResponse(null, status, {}) : jsonResponse(answer, { status });
    });
  }
}

/**
 * Calls the API method, with the fields in `verb.args` as positional arguments and the others as one object.
 */
async function call(relay: Relay, { part, method, verb }: Operation, input: object): Promise<unknown> {
  const rest: { [field: string]: unknown } = { ...input };
  const args = verb.args.map((name) => {
    const value = rest[name];
    delete rest[name];
    return value;
  });
  const result = await (relay[part] as unknown as Methods)[method]!(...args, rest);
  return verb.answer === undefined ? result : { [verb.answer]: result };
}

/** Merges the fields of query, body, headers and path. The path overrides the others. */
export async function gather(c: Context, verb: Verb): Promise<Record<string, unknown>> {
  const fromHeaders: Record<string, unknown> = {};
  for (const [field, header] of Object.entries(verb.headers ?? {})) {
    const value = c.req.header(header);
    if (value !== undefined) fromHeaders[field] = value;
  }
  const body = hasBody(routeOf(verb).method) ? await readJson(c) : undefined;
  let fields: Record<string, unknown> = {};
  if (verb.body) fields = body === undefined ? {} : { [verb.body]: body };
  else if (body !== undefined) {
    if (!isJsonObject(body)) throw badRequest('The JSON body must be an object.');
    fields = body;
  }
  // A HEAD request must not count as a read or change anything.
  const unseen = c.req.method === 'HEAD' ? { counted: '0', dry: '1' } : {};
  return { ...c.req.query(), ...fields, ...unseen, ...fromHeaders, ...c.req.param() };
}

/** Reads the JSON body up to the size limit. Returns undefined if there is no body. */
async function readJson(c: Context): Promise<Json | undefined> {
  if (!c.req.raw.body) return undefined;
  const limit = { bytes: JSON_BODY_BYTES, what: 'a JSON body' };
  if (Number(c.req.header('content-length') ?? 0) > limit.bytes) throw tooLarge(limit.what, limit.bytes);
  let text: string;
  try {
    text = await jsonText(c.req.raw, limit, new TextDecoder('utf-8', { fatal: true }));
  } catch (error) {
    if (isRelayError(error)) throw error;
    if (error instanceof TypeError) throw new RelayError('bad_json', { what: 'it is not UTF-8' }, error);
    throw new RelayError(
      'aborted',
      { what: 'the request body was cut off', hint: 'Nothing was stored. Try again.' },
      error,
    );
  }
  if (text.trim() === '') return undefined;
  return parseJson(text);
}

export function validate<S extends Operation['input']>(schema: S, value: unknown): z.output<S> {
  const result = checkInput(schema, value);
  if ('data' in result) return result.data as z.output<S>;
  throw badRequest(result.wrong);
}
