import {
  A2A_CONTENT_TYPE,
  AgentCard,
  ListTaskPushNotificationConfigsResponse,
  ListTasksResponse,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  taskStateFromJSON,
} from '@a2a-js/sdk';
import {
  ContentTypeNotSupportedError,
  RequestMalformedError,
  restStatusFor,
  toRestErrorBody,
} from '@a2a-js/sdk/errors';
import { type A2ARequestHandler, type ServerCallContext, validateVersion } from '@a2a-js/sdk/server';
import type { Context } from 'hono';
import { RelayError } from '../../base/errors.ts';
import { asEvents, readBody } from './http-bodies.ts';

type Answer =
  | { readonly status?: 200 | 201 | 204; readonly json?: unknown }
  | { readonly stream: AsyncIterable<StreamResponse> };

interface Call {
  readonly c: Context;
  readonly agent: A2ARequestHandler;
  readonly context: ServerCallContext;
  /** What stood in the places of the path. */
  readonly ids: readonly string[];
  body(): Promise<object>;
}

/** The HTTP+JSON binding: method and path below the agent's own. */
const ROUTES: readonly [method: string, path: RegExp, run: (call: Call) => Promise<Answer>][] = [
  ['POST', /^message:send$/, sendMessage],
  [
    'POST',
    /^message:stream$/,
    async (call) => ({ stream: call.agent.sendMessageStream(await message(call), call.context) }),
  ],
  ['GET', /^tasks$/, listTasks],
  ['GET', /^tasks\/([^/:]+)$/, getTask],
  ['POST', /^tasks\/([^/:]+):cancel$/, cancelTask],
  ['POST', /^tasks\/([^/:]+):subscribe$/, subscribe],
  ['GET', /^tasks\/([^/:]+):subscribe$/, subscribe],
  ['POST', /^tasks\/([^/:]+)\/pushNotificationConfigs$/, addWebhook],
  ['GET', /^tasks\/([^/:]+)\/pushNotificationConfigs$/, listWebhooks],
  ['GET', /^tasks\/([^/:]+)\/pushNotificationConfigs\/([^/]+)$/, getWebhook],
  ['DELETE', /^tasks\/([^/:]+)\/pushNotificationConfigs\/([^/]+)$/, removeWebhook],
  ['GET', /^extendedAgentCard$/, extendedCard],
];

export async function restResponse(
  c: Context,
  rest: string,
  agent: A2ARequestHandler,
  context: ServerCallContext,
): Promise<Response> {
  const matching = ROUTES.filter(([, path]) => path.test(rest));
  const [found] = matching.filter(([method]) => method === c.req.method);
  if (!found) {
    const [method, path] = [c.req.method, c.req.path.slice(0, 200)];
    if (matching.length === 0) throw new RelayError('no_route', { method, path });
    throw new RelayError('method_not_allowed', {
      method,
      path,
      allowed: matching.map(([one]) => one).join(', '),
    });
  }
  const ids = found[1].exec(rest)!.slice(1).map(decodeURIComponent);
  const refused = (error: unknown) => {
    const status = restStatusFor(error);
    return json(toRestErrorBody(error, status), status);
  };
  try {
    validateVersion(context.requestedVersion, await agent.getAgentCard(), 'HTTP+JSON');
    const answer = await found[2]({ c, agent, context, ids, body: () => jsonBody(c) });
    if (!('stream' in answer)) {
      return answer.status === 204
        ? new Response(null, { status: 204 })
        : json(answer.json, answer.status ?? 200);
    }
    const failure = (error: unknown) => toRestErrorBody(error, restStatusFor(error));
    return await asEvents(inJson(answer.stream), failure, refused);
  } catch (error) {
    return refused(error);
  }
}

async function* inJson(events: AsyncIterable<StreamResponse>): AsyncGenerator<unknown> {
  for await (const event of events) yield StreamResponse.toJSON(event);
}

function json(body: unknown, status: number): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': A2A_CONTENT_TYPE } });
}

async function jsonBody(c: Context): Promise<object> {
  const type = (c.req.header('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();
  if (type && type !== 'application/json' && type !== A2A_CONTENT_TYPE)
    throw new ContentTypeNotSupportedError(`Send application/json or ${A2A_CONTENT_TYPE}, not ${type}.`);
  const text = await readBody(c.req.raw);
  try {
    const body: unknown = JSON.parse(text || '{}');
    if (typeof body === 'object' && body !== null) return body;
  } catch {
    // Told below.
  }
  throw new RequestMalformedError('The body is not a JSON object.');
}

async function message({ body }: Call): Promise<SendMessageRequest> {
  return SendMessageRequest.fromJSON(await body());
}

async function sendMessage(call: Call): Promise<Answer> {
  const task = await call.agent.sendMessage(await message(call), call.context);
  return { json: SendMessageResponse.toJSON({ payload: { $case: 'task', value: task as Task } }) };
}

async function extendedCard({ agent, context }: Call): Promise<Answer> {
  return { json: AgentCard.toJSON(await agent.getAuthenticatedExtendedAgentCard({ tenant: '' }, context)) };
}

async function getTask({ agent, ids, c, context }: Call): Promise<Answer> {
  const historyLength = whole('historyLength', c.req.query('historyLength'));
  return { json: Task.toJSON(await agent.getTask({ tenant: '', id: ids[0]!, historyLength }, context)) };
}

async function listTasks({ agent, c, context }: Call): Promise<Answer> {
  const query = c.req.query();
  const asked = {
    tenant: '',
    contextId: query.contextId ?? '',
    status: query.status ? taskStateFromJSON(query.status) : 0,
    pageSize: whole('pageSize', query.pageSize),
    pageToken: query.pageToken ?? '',
    historyLength: whole('historyLength', query.historyLength),
    statusTimestampAfter: query.statusTimestampAfter || undefined,
    includeArtifacts: query.includeArtifacts === 'true',
  };
  const found = await agent.listTasks(asked, context);
  const { nextPageToken, pageSize, totalSize } = found;
  // These are part of every answer, also where they are empty.
  return {
    json: { tasks: [], ...(ListTasksResponse.toJSON(found) as object), nextPageToken, pageSize, totalSize },
  };
}

async function cancelTask({ agent, ids, context }: Call): Promise<Answer> {
  return { json: Task.toJSON(await agent.cancelTask({ tenant: '', id: ids[0]!, metadata: {} }, context)) };
}

async function subscribe({ agent, ids, context }: Call): Promise<Answer> {
  return { stream: agent.resubscribe({ tenant: '', id: ids[0]! }, context) };
}

async function addWebhook({ agent, ids, context, body }: Call): Promise<Answer> {
  const config = TaskPushNotificationConfig.fromJSON({ ...(await body()), taskId: ids[0]! });
  const added = await agent.createTaskPushNotificationConfig(config, context);
  return { status: 201, json: TaskPushNotificationConfig.toJSON(added) };
}

async function listWebhooks({ agent, ids, context }: Call): Promise<Answer> {
  const asked = { tenant: '', taskId: ids[0]!, pageSize: 0, pageToken: '' };
  const found = await agent.listTaskPushNotificationConfigs(asked, context);
  return { json: ListTaskPushNotificationConfigsResponse.toJSON(found) };
}

async function getWebhook({ agent, ids, context }: Call): Promise<Answer> {
  const asked = { tenant: '', taskId: ids[0]!, id: ids[1]! };
  const found = await agent.getTaskPushNotificationConfig(asked, context);
  return { json: TaskPushNotificationConfig.toJSON(found) };
}

async function removeWebhook({ agent, ids, context }: Call): Promise<Answer> {
  await agent.deleteTaskPushNotificationConfig({ tenant: '', taskId: ids[0]!, id: ids[1]! }, context);
  return { status: 204 };
}

function whole(name: string, text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new RequestMalformedError(`${name} must be a whole number`);
  return Number(text);
}
