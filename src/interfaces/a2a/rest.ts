import {
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
import { isRelayError, RelayError } from '../../base/errors.ts';
import { jsonObjectIn } from '../../base/json.ts';
import { percentDecoded } from '../../base/utf8.ts';
import { answerType, asEvents, checkMediaType } from './http-bodies.ts';

interface Call {
  readonly agent: A2ARequestHandler;
  readonly context: ServerCallContext;
  /** The task and the webhook that the path names; empty where it names none. */
  readonly id: string;
  readonly webhook: string;
  readonly query: { readonly [name: string]: string };
  body(): Promise<object>;
}

type Answer = Promise<Response | AsyncIterable<StreamResponse>>;

const tenant = '';

/** The HTTP+JSON binding: method and path below the agent's own. */
const HANDLERS: { readonly [route: string]: (call: Call) => Answer } = {
  'POST message:send': async ({ agent, context, body }) => {
    const value = await agent.sendMessage(SendMessageRequest.fromJSON(await body()), context);
    const payload =
      'messageId' in value ? ({ $case: 'message', value } as const) : ({ $case: 'task', value } as const);
    return json(SendMessageResponse.toJSON({ payload }));
  },
  'POST message:stream': async ({ agent, context, body }) =>
    agent.sendMessageStream(SendMessageRequest.fromJSON(await body()), context),
  'GET tasks': listTasks,
  'GET tasks/{id}': async ({ agent, context, id, query }) => {
    const historyLength = whole('historyLength', query.historyLength);
    return json(Task.toJSON(await agent.getTask({ tenant, id, historyLength }, context)));
  },
  'POST tasks/{id}:cancel': async ({ agent, context, id }) =>
    json(Task.toJSON(await agent.cancelTask({ tenant, id, metadata: {} }, context))),
  'POST tasks/{id}:subscribe': subscribe,
  'GET tasks/{id}:subscribe': subscribe,
  'POST tasks/{id}/pushNotificationConfigs': async ({ agent, context, id, body }) => {
    const config = TaskPushNotificationConfig.fromJSON({ ...(await body()), taskId: id });
    const added = await agent.createTaskPushNotificationConfig(config, context);
    return json(TaskPushNotificationConfig.toJSON(added), 201);
  },
  'GET tasks/{id}/pushNotificationConfigs': async ({ agent, context, id }) => {
    const asked = { tenant, taskId: id, pageSize: 0, pageToken: '' };
    const found = await agent.listTaskPushNotificationConfigs(asked, context);
    return json(ListTaskPushNotificationConfigsResponse.toJSON(found));
  },
  'GET tasks/{id}/pushNotificationConfigs/{webhook}': async ({ agent, context, id, webhook }) => {
    const found = await agent.getTaskPushNotificationConfig({ tenant, taskId: id, id: webhook }, context);
    return json(TaskPushNotificationConfig.toJSON(found));
  },
  'DELETE tasks/{id}/pushNotificationConfigs/{webhook}': async ({ agent, context, id, webhook }) => {
    await agent.deleteTaskPushNotificationConfig({ tenant, taskId: id, id: webhook }, context);
    return new Response(null, { status: 204 });
  },
  'GET extendedAgentCard': async ({ agent, context }) =>
    json(AgentCard.toJSON(await agent.getAuthenticatedExtendedAgentCard({ tenant }, context))),
};

const ROUTES = Object.entries(HANDLERS).map(([route, run]) => {
  const [method, path] = route.split(' ') as [string, string];
  const pattern = path.replace('{id}', '(?<id>[^/:]+)').replace('{webhook}', '(?<webhook>[^/]+)');
  return { method, path: new RegExp(`^${pattern}$`), run };
});

export async function restResponse(
  c: Context,
  rest: string,
  agent: A2ARequestHandler,
  context: ServerCallContext,
  read: () => Promise<string>,
): Promise<Response> {
  const matching = ROUTES.filter(({ path }) => path.test(rest));
  const found = matching.find(({ method }) => method === c.req.method);
  if (!found) {
    const [method, path] = [c.req.method, c.req.path.slice(0, 200)];
    if (matching.length === 0) throw new RelayError('no_route', { method, path });
    const allowed = matching.map((route) => route.method).join(', ');
    throw new RelayError('method_not_allowed', { method, path, allowed });
  }
  const { id = '', webhook = '' } = found.path.exec(rest)!.groups ?? {};
  // A name that cannot be decoded is taken as it is, and found nowhere.
  const named = { id: percentDecoded(id) ?? id, webhook: percentDecoded(webhook) ?? webhook };
  const failure = (error: unknown) => toRestErrorBody(error, statusOf(error));
  try {
    validateVersion(context.requestedVersion, await agent.getAgentCard(), 'HTTP+JSON');
    const call = { agent, context, ...named, query: c.req.query(), body: () => jsonBody(c, read) };
    const answer = await found.run(call);
    return answer instanceof Response ? inTypeOf(c, answer) : await asEvents(inJson(answer), failure);
  } catch (error) {
    return inTypeOf(c, json(failure(error), statusOf(error)));
  }
}

function inTypeOf(c: Context, answer: Response): Response {
  if (answer.body) answer.headers.set('Content-Type', answerType(c));
  return answer;
}

async function* inJson(events: AsyncIterable<StreamResponse>): AsyncGenerator<unknown> {
  for await (const event of events) yield StreamResponse.toJSON(event);
}

function json(body: unknown, status = 200): Response {
  return Response.json(body, { status });
}

/** As revision 1.0.0 has it, and HTTP itself: the library goes by 1.0.1, which has no status of its own for it. */
function statusOf(error: unknown): number {
  if (isRelayError(error)) return error.status;
  if (error instanceof Error && isRelayError(error.cause)) return error.cause.status;
  return error instanceof ContentTypeNotSupportedError ? 415 : restStatusFor(error);
}

async function jsonBody(c: Context, read: () => Promise<string>): Promise<object> {
  checkMediaType(c);
  const body = jsonObjectIn((await read()) || '{}');
  if (body) return body;
  throw new RequestMalformedError('The body is not a JSON object.');
}

async function listTasks({ agent, context, query }: Call): Answer {
  const asked = {
    tenant,
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
  const always = { nextPageToken, pageSize, totalSize };
  return json({ tasks: [], ...(ListTasksResponse.toJSON(found) as object), ...always });
}

async function subscribe({ agent, context, id }: Call): Answer {
  return agent.resubscribe({ tenant, id }, context);
}

function whole(name: string, text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new RequestMalformedError(`${name} must be a whole number`);
  return Number(text);
}
