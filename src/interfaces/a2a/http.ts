import {
  A2A_CONTENT_TYPE,
  A2A_VERSION_HEADER,
  AgentCard,
  Extensions,
  formatSSEErrorEvent,
  formatSSEEvent,
  HTTP_EXTENSION_HEADER,
  type ListTasksResponse,
  SSE_HEADERS,
  type Task,
} from '@a2a-js/sdk';
import { LegacyJsonRpcTransportHandler, LegacyRestTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import {
  A2AError,
  ContentTypeNotSupportedError,
  RequestMalformedError,
  restStatusFor,
  TaskNotFoundError,
  toRestErrorBody,
} from '@a2a-js/sdk/errors';
import {
  type A2ARequestHandler,
  JsonRpcTransportHandler,
  ServerCallContext,
  validateVersion,
} from '@a2a-js/sdk/server';
import type { Context } from 'hono';
import { isRelayError, RelayError, toRelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { jsonObjectIn } from '../../base/json.ts';
import { A2A_REQUEST_BYTES, SSE_HEARTBEAT_MS } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import { percentDecoded } from '../../base/utf8.ts';
import { a2a } from '../../contract/a2a.ts';
import { authorize } from '../../contract/authorize.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Verb } from '../../contract/verb.ts';
import type { KeyWatch } from '../../domain/keys/key-watch.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import { jsonText, POINTER_HINT } from '../body-text.ts';
import { eventResponse } from '../event-response.ts';
import type { Authenticate } from '../protocol.ts';
import { relayAgent } from './agent.ts';
import { agentCard, findAgent, RELAY_AGENT } from './card.ts';
import { outboxEntries } from './outbox-records.ts';
import { TaskService } from './task-service.ts';
import { Webhooks, type WebhooksOptions } from './webhooks.ts';

interface A2AOptions extends WebhooksOptions {
  readonly core: RelayCore;
  readonly version: string;
  /** True if callers need an API key. */
  readonly keys: boolean;
  /** Maximum size of a request in bytes. By default, the largest payload fits. */
  readonly messageBytes?: number;
}

/** Serves A2A 1.0 and 0.3 over HTTP: agent cards, JSON-RPC and HTTP+JSON. */
export function a2aOverHttp(o: A2AOptions) {
  const { engine } = o.core.deps;
  const webhooks = new Webhooks(o, (work) => engine.defer(work));
  // Value of `Last-Modified` for the relay's own agent card, which does not change while the server runs.
  const since = o.core.deps.env.now();
  const open = async (authenticate: Authenticate, verb: Verb) => {
    const { caller, base } = await authenticate();
    authorize(caller, verb);
    return new TaskService(o.core, caller, base);
  };
  /**
   * Serves `/a2a/{agent}`: JSON-RPC as POST to this path, HTTP+JSON and the agent card below it. The relay's
   * own agent is also served at `/a2a`.
   */
  const answer = async (c: Context, authenticate: Authenticate, base: string) => {
    const { name, rest } = parsePath(c.req.path);
    const [, file] = /^\.well-known\/(agent-card|agent)\.json$/.exec(rest) ?? [];
    if (file !== undefined) {
      const agent = await findAgent(name, async () => (await open(authenticate, a2a.getCard)).relay);
      const card = agentCard(agent, { ...o, base });
      const version = versionOf(c) ?? (file === 'agent' ? '0.3' : '1.0');
      return cardResponse(c, card, { version, since: agent === RELAY_AGENT ? since : null });
    }
    const tasks = await open(authenticate, a2a.get);
    const agent = await findAgent(name, async () => tasks.relay);
    const { method, path } = c.req;
    if (rest === '' && method !== 'POST')
      throw new RelayError('method_not_allowed', { method, path: path.slice(0, 200), allowed: 'POST' });
    const answering = untilKeyEnds(o.core.keys.watch, tasks.caller, (ended) => {
      const handler = relayAgent({
        agent,
        card: agentCard(agent, { ...o, base }),
        tasks,
        signal: AbortSignal.any([c.req.raw.signal, o.stopping, ended]),
        webhooks,
      });
      const call = { c, agent: handler, onError: o.onError, messageBytes: o.messageBytes };
      return rest === '' ? jsonRpcResponse(call) : restResponse(call, rest);
    });
    return withHeartbeat(answering);
  };
  /** Sends the webhook notifications that earlier server processes left unsent. */
  const resume = async () => {
    for await (const { task, caller, base } of outboxEntries(o.core.deps)) {
      const tasks = new TaskService(o.core, caller, base);
      await tasks.find(task).then(
        (record) => webhooks.follow(record, tasks),
        // Do not report a missing task: it may have expired.
        (error) => error instanceof TaskNotFoundError || o.onError(error),
      );
    }
  };
  return { answer, resume };
}

/**
 * Splits a path into the name of the agent and the rest. Accepts `/a2a`, `/a2a/{agent}`,
 * `/a2a/{agent}/{rest}` and `/.well-known/agent-card.json`.
 */
function parsePath(path: string): { name: string; rest: string } {
  const below = path.replace(/^\/a2a(?=\/|$)/, '').replace(/\/+$/, '');
  const [, name = RELAY_AGENT.name, ...rest] = below.split('/');
  if (name === '.well-known') return { name: RELAY_AGENT.name, rest: [name, ...rest].join('/') };
  return { name: percentDecoded(name) ?? name, rest: rest.join('/') };
}

/** Returns the protocol version from the header. Clients that cannot set headers send it in the query. */
function versionOf(c: Context): string | undefined {
  return c.req.header(A2A_VERSION_HEADER) || c.req.query(A2A_VERSION_HEADER) || undefined;
}

/**
 * Serves the agent card. It needs no API key, because clients learn from the card that they need one. Clients that
 * name A2A 0.3, or request `agent.json` without a version, get a card that also has the fields of A2A 0.3.
 */
async function cardResponse(
  c: Context,
  card: AgentCard,
  { version, since }: { readonly version: string; readonly since: number | null },
): Promise<Response> {
  let json = AgentCard.toJSON(card) as object;
  if (version === '0.3') {
    // The library converts a card only through a request handler, so create one that returns the card.
    const holder: Partial<A2ARequestHandler> = { getAuthenticatedExtendedAgentCard: async () => card };
    const older = new LegacyRestTransportHandler(holder as A2ARequestHandler);
    json = { ...json, ...(await older.getAuthenticatedExtendedAgentCard(new ServerCallContext())) };
  }
  const body = JSON.stringify(json);
  const etag = `"${await sha256Hex(body)}"`;
  const headers: Record<string, string> = {
    'Cache-Control': 'public, max-age=60',
    Vary: A2A_VERSION_HEADER,
    ETag: etag,
    ...(since === null ? {} : { 'Last-Modified': new Date(since).toUTCString() }),
  };
  const etags = (c.req.header('if-none-match') ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (etags.includes(etag) || etags.includes('*')) return new Response(null, { status: 304, headers });
  return new Response(body, { headers: { 'Content-Type': 'application/json', ...headers } });
}

/** A call to one agent, by JSON-RPC or HTTP+JSON. */
interface Call {
  readonly c: Context;
  readonly agent: A2ARequestHandler;
  readonly onError: (error: unknown) => void;
  readonly messageBytes?: number;
}

function callContext(c: Context): ServerCallContext {
  return new ServerCallContext({
    requestedExtensions: Extensions.parseServiceParameter(c.req.header(HTTP_EXTENSION_HEADER)),
    requestedVersion: versionOf(c),
  });
}

async function jsonRpcResponse(call: Call): Promise<Response> {
  const { c, onError } = call;
  const context = callContext(c);
  const agent = withErrors(call.agent, (error) => translate(error, onError));
  const legacy = context.requestedVersion === '0.3';
  const handler = legacy ? new LegacyJsonRpcTransportHandler(agent) : new JsonRpcTransportHandler(agent);
  const mapError = legacy
    ? LegacyJsonRpcTransportHandler.mapToLegacyJSONRPCError
    : JsonRpcTransportHandler.mapToJSONRPCError;
  const body = await readBody(call);
  const id = jsonObjectIn(body)?.id ?? null;
  const failed = (error: unknown) => ({ jsonrpc: '2.0', id, error: mapError(error) });
  try {
    validateVersion(context.requestedVersion, await agent.getAgentCard(), 'JSONRPC');
    checkMediaType(c);
    const answer = await handler.handle(body, context);
    if (!(Symbol.asyncIterator in answer)) return Response.json(answer);
    return await streamEvents(answer as AsyncIterable<unknown>, failed);
  } catch (error) {
    return Response.json(failed(error));
  }
}

/**
 * Routes of the HTTP+JSON binding, relative to the path of the agent. `rpc` is the JSON-RPC method that does
 * the same.
 */
const ROUTES = [
  route('POST', 'message:send', 'SendMessage', { body: true }),
  route('POST', 'message:stream', 'SendStreamingMessage', { body: true }),
  route('GET', 'tasks', 'ListTasks'),
  route('GET', 'tasks/{id}', 'GetTask'),
  route('POST', 'tasks/{id}:cancel', 'CancelTask'),
  route('POST', 'tasks/{id}:subscribe', 'SubscribeToTask'),
  route('GET', 'tasks/{id}:subscribe', 'SubscribeToTask'),
  route('POST', 'tasks/{taskId}/pushNotificationConfigs', 'CreateTaskPushNotificationConfig', {
    body: true,
    status: 201,
  }),
  route('GET', 'tasks/{taskId}/pushNotificationConfigs', 'ListTaskPushNotificationConfigs'),
  route('GET', 'tasks/{taskId}/pushNotificationConfigs/{+id}', 'GetTaskPushNotificationConfig'),
  route('DELETE', 'tasks/{taskId}/pushNotificationConfigs/{+id}', 'DeleteTaskPushNotificationConfig', {
    status: 204,
  }),
  route('GET', 'extendedAgentCard', 'GetExtendedAgentCard'),
];

function route(method: string, path: string, rpc: string, o: { body?: true; status?: number } = {}) {
  const pattern = path.replace(/\{(\w+)\}/, '(?<$1>[^/:]+)').replace(/\{\+(\w+)\}/, '(?<$1>[^/]+)');
  return { method, path: new RegExp(`^${pattern}$`), rpc, ...o };
}

async function restResponse(call: Call, rest: string): Promise<Response> {
  const { c, onError } = call;
  const matching = ROUTES.filter(({ path }) => path.test(rest));
  const endpoint = matching.find(({ method }) => method === c.req.method);
  if (!endpoint) {
    const [method, path] = [c.req.method, c.req.path.slice(0, 200)];
    if (matching.length === 0) throw new RelayError('no_route', { method, path });
    const allowed = matching.map((route) => route.method).join(', ');
    throw new RelayError('method_not_allowed', { method, path, allowed });
  }
  const context = callContext(c);
  // Keep the original error, because the JSON-RPC error code is not enough to choose the HTTP status.
  let thrown: unknown = null;
  const agent = withErrors(call.agent, (error) => {
    thrown = translate(error, onError);
    return thrown;
  });
  const answered = (body: unknown, status: number) =>
    status === 204
      ? new Response(null, { status })
      : Response.json(body, {
          status,
          headers: { 'Content-Type': answerType(c), ...(status === 503 ? { 'Retry-After': '1' } : {}) },
        });
  const failure = (error: unknown) => toRestErrorBody(error, statusOf(error));
  try {
    validateVersion(context.requestedVersion, await agent.getAgentCard(), 'HTTP+JSON');
    const fields = endpoint.body ? await jsonBody(call) : queryParams(c.req.query());
    // If a path parameter cannot be decoded, use the raw text. No task has such an id, so the answer is "not found".
    const pathParams = Object.entries(endpoint.path.exec(rest)!.groups ?? {}).map(([name, text]) => [
      name,
      percentDecoded(text) ?? text,
    ]);
    const params = { ...fields, ...Object.fromEntries(pathParams) };
    const rpcRequest = { jsonrpc: '2.0', id: null, method: endpoint.rpc, params };
    const answer = await new JsonRpcTransportHandler(agent).handle(rpcRequest, context);
    if (Symbol.asyncIterator in answer) return await streamEvents(results(answer), failure);
    if ('error' in answer)
      throw thrown ?? new RequestMalformedError(`The request is not a valid ${endpoint.rpc} request.`);
    if (endpoint.rpc === 'ListTasks') leaveOutEmptyArtifacts(answer.result as ListTasksResponse);
    return answered(answer.result, endpoint.status ?? 200);
  } catch (error) {
    return answered(failure(error), statusOf(error));
  }
}

/** Removes empty `artifacts` fields, which lists of the HTTP+JSON binding omit. */
function leaveOutEmptyArtifacts({ tasks }: ListTasksResponse): void {
  for (const task of tasks as Partial<Task>[]) if (task.artifacts?.length === 0) delete task.artifacts;
}

async function* results(answers: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  for await (const answer of answers) yield (answer as { result: unknown }).result;
}

/**
 * Returns the HTTP status of an error. An unsupported content type gets 415, as A2A 1.0.0 and HTTP require;
 * the library follows A2A 1.0.1, which lacks this status.
 */
function statusOf(error: unknown): number {
  if (isRelayError(error)) return error.status;
  if (error instanceof Error && isRelayError(error.cause)) return error.cause.status;
  return error instanceof ContentTypeNotSupportedError ? 415 : restStatusFor(error);
}

/** Returns the query parameters. Empty values count as missing. */
function queryParams(query: { readonly [name: string]: string }): object {
  const present = Object.entries(query).filter(([, text]) => text !== '');
  for (const [name, text] of present) {
    if ((name === 'pageSize' || name === 'historyLength') && !/^\d{1,9}$/.test(text))
      throw new RequestMalformedError(`${name} must be a whole number`);
  }
  return { ...Object.fromEntries(present), includeArtifacts: query.includeArtifacts === 'true' };
}

async function jsonBody(call: Call): Promise<object> {
  checkMediaType(call.c);
  const body = jsonObjectIn((await readBody(call)) || '{}');
  if (body) return body;
  throw new RequestMalformedError('The body is not a JSON object.');
}

function readBody({ c, messageBytes = A2A_REQUEST_BYTES }: Call): Promise<string> {
  return jsonText(c.req.raw, { bytes: messageBytes, what: 'an A2A request', hint: POINTER_HINT });
}

/** Rejects media types other than JSON. A missing media type is accepted. */
function checkMediaType(c: Context): void {
  const type = mediaType(c.req.header('content-type'));
  if (type && type !== 'application/json' && type !== A2A_CONTENT_TYPE)
    throw new ContentTypeNotSupportedError(`Send application/json or ${A2A_CONTENT_TYPE}, not ${type}.`);
}

/**
 * Returns the media type of an HTTP+JSON response. Revisions of A2A 1.0 differ, so a client that sends or accepts the
 * A2A media type gets it, and any other client gets `application/json`.
 */
function answerType(c: Context): string {
  const accepted = (c.req.header('accept') ?? '').split(',').map(mediaType);
  const speaks = mediaType(c.req.header('content-type')) === A2A_CONTENT_TYPE;
  return speaks || accepted.includes(A2A_CONTENT_TYPE) ? A2A_CONTENT_TYPE : 'application/json';
}

function mediaType(header = ''): string {
  return header.split(';', 1)[0]!.trim().toLowerCase();
}

/**
 * Responds with server-sent events. An error before the first event is thrown, so that the client gets a
 * normal error response.
 */
async function streamEvents(
  events: AsyncIterable<unknown>,
  failure: (error: unknown) => unknown,
): Promise<Response> {
  const iterator = events[Symbol.asyncIterator]();
  const first = await iterator.next();
  return eventResponse(prepend(first, iterator), {
    write: formatSSEEvent,
    failed: (error) => formatSSEErrorEvent(failure(error)),
    headers: SSE_HEADERS,
    ended: async () => void (await iterator.return?.()),
  });
}

async function* prepend(
  first: IteratorResult<unknown>,
  rest: AsyncIterator<unknown>,
): AsyncGenerator<unknown> {
  for (let next = first; !next.done; next = await rest.next()) yield next.value;
}

/**
 * Calls `answer` and returns its response, but rejects with `unauthorized` as soon as the caller's API key is
 * revoked.
 */
async function untilKeyEnds(
  watch: KeyWatch,
  caller: Caller,
  answer: (ended: AbortSignal) => Promise<Response>,
): Promise<Response> {
  const ended = new AbortController();
  const refused = Promise.withResolvers<never>();
  const unwatch = watch.watch(caller, () => {
    refused.reject(new RelayError('unauthorized'));
    ended.abort();
  });
  try {
    return await Promise.race([answer(ended.signal), refused.promise]);
  } finally {
    unwatch();
  }
}

/**
 * Sends spaces until a slow response is ready, because proxies close idle connections. JSON parsers ignore the
 * spaces.
 */
async function withHeartbeat(answer: Promise<Response>): Promise<Response> {
  const settled = new AbortController();
  const waited = pause(SSE_HEARTBEAT_MS, settled.signal).then(() => null);
  const early = await Promise.race([answer, waited]).finally(() => settled.abort());
  if (early) return early;
  const headers = { 'Content-Type': 'application/json' };
  return eventResponse(bodyOf(answer), { write: (body) => body, head: ' ', heartbeat: ' ', headers });
}

async function* bodyOf(answer: Promise<Response>): AsyncGenerator<string> {
  yield await (await answer).text();
}

/** Wraps the agent so that its errors are converted by `translate`. */
function withErrors(agent: A2ARequestHandler, translate: (error: unknown) => unknown): A2ARequestHandler {
  const fail = (error: unknown): never => {
    throw translate(error);
  };
  return new Proxy(agent, {
    get(target, name) {
      const method = Reflect.get(target, name) as unknown;
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) => {
        const answer: Promise<unknown> | AsyncIterable<unknown> = method.apply(target, args);
        return Symbol.asyncIterator in answer ? streamFailingWith(answer, fail) : answer.catch(fail);
      };
    },
  });
}

async function* streamFailingWith(events: AsyncIterable<unknown>, fail: (error: unknown) => never) {
  try {
    yield* events;
  } catch (error) {
    fail(error);
  }
}

/**
 * Converts an error for the client. Server errors are logged. The client does not get the details of an unexpected
 * error.
 */
function translate(error: unknown, onError: (error: unknown) => void): unknown {
  if (error instanceof A2AError) return error;
  if (isRelayError(error) && error.status < 500)
    return new RequestMalformedError(`${error.message} ${error.hint}`);
  onError(error);
  const relayError = toRelayError(error);
  if (relayError.code === 'internal') return new Error('The relay failed. See its log.');
  return new Error(`${relayError.message} ${relayError.hint}`, { cause: relayError });
}
