import { A2A_VERSION_HEADER, AgentCard, Extensions, HTTP_EXTENSION_HEADER } from '@a2a-js/sdk';
import { LegacyJsonRpcTransportHandler, LegacyRestTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { A2AError, RequestMalformedError, TaskNotFoundError } from '@a2a-js/sdk/errors';
import {
  type A2ARequestHandler,
  JsonRpcTransportHandler,
  ServerCallContext,
  validateVersion,
} from '@a2a-js/sdk/server';
import type { Context } from 'hono';
import { isRelayError, RelayError, shownError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { jsonObjectIn } from '../../base/json.ts';
import { percentDecoded } from '../../base/utf8.ts';
import { a2a } from '../../contract/a2a.ts';
import { authorize } from '../../contract/authorize.ts';
import type { Verb } from '../../contract/verb.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import type { Enter } from '../entered.ts';
import { relayAgent } from './agent.ts';
import { agentCard, findAgent, RELAY_AGENT } from './card.ts';
import { asEvents, checkMediaType, readBody, untilKeyEnds, withHeartbeat } from './http-bodies.ts';
import { restResponse } from './rest.ts';
import { TaskService } from './task-service.ts';
import { type OutboxEntry, outboxEntries } from './webhook-outbox.ts';
import { Webhooks, type WebhooksOptions } from './webhooks.ts';

export interface A2AOptions extends WebhooksOptions {
  readonly core: RelayCore;
  readonly version: string;
  /** Whether callers need a key. */
  readonly keys: boolean;
  /** The largest request; what the largest payload takes by default. */
  readonly messageBytes?: number;
}

export type A2AOverHttp = ReturnType<typeof a2aOverHttp>;

export function a2aOverHttp(o: A2AOptions) {
  const { engine } = o.core.deps;
  const webhooks = new Webhooks(o, (work) => engine.defer(work));
  // The relay's own card follows from its version and options, which do not change while it runs.
  const since = o.core.deps.env.now();
  const open = async (enter: Enter, verb: Verb) => {
    const { caller, base } = await enter();
    authorize(caller, verb);
    return new TaskService(o.core, caller, base);
  };
  /** `/a2a/{agent}`: JSON-RPC by POST, HTTP+JSON below it, and its card; the relay's own agent also at the root. */
  const answer = async (c: Context, enter: Enter, base: string) => {
    const { name, rest } = readPath(c.req.path);
    const [, file] = /^\.well-known\/(agent-card|agent)\.json$/.exec(rest) ?? [];
    if (file !== undefined) {
      const agent = await findAgent(name, async () => (await open(enter, a2a.getCard)).relay);
      const card = agentCard(agent, { ...o, base });
      const version = versionOf(c) ?? (file === 'agent' ? '0.3' : '1.0');
      return cardResponse(c, card, { version, since: agent === RELAY_AGENT ? since : null });
    }
    const tasks = await open(enter, a2a.get);
    const agent = await findAgent(name, async () => tasks.relay);
    const { method, path } = c.req;
    if (rest === '' && method !== 'POST')
      throw new RelayError('method_not_allowed', { method, path: path.slice(0, 200), allowed: 'POST' });
    const answering = untilKeyEnds(o.core.keys.watch, tasks.caller, (ended) => {
      const plain = relayAgent({
        agent,
        card: agentCard(agent, { ...o, base }),
        tasks,
        signal: AbortSignal.any([c.req.raw.signal, o.stopping, ended]),
        webhooks,
      });
      const handler = withA2AErrors(plain, o.onError);
      const context = callContext(c);
      const read = () => readBody(c.req.raw, o.messageBytes);
      return rest === ''
        ? jsonRpcResponse(c, handler, context, read)
        : restResponse(c, rest, handler, context, read);
    });
    return withHeartbeat(answering);
  };
  /** Goes on with what servers before this one did not get to tell. */
  const resume = async (
    entries: Iterable<OutboxEntry> | AsyncIterable<OutboxEntry> = outboxEntries(o.core.deps),
  ) => {
    for await (const { task, caller, base } of entries) {
      const tasks = new TaskService(o.core, caller, base);
      await tasks.find(task).then(
        (record) => webhooks.follow(record, tasks),
        // Its sender never got an answer, and sends it again; or it is so old that it is gone.
        (error) => error instanceof TaskNotFoundError || o.onError(error),
      );
    }
  };
  return { answer, resume };
}

/** `/a2a`, `/a2a/{agent}`, `/a2a/{agent}/{what}`, `/.well-known/agent-card.json`, `/.well-known/agent.json`. */
function readPath(path: string): { name: string; rest: string } {
  const below = path.replace(/^\/a2a(?=\/|$)/, '').replace(/\/+$/, '');
  const [, name = RELAY_AGENT.name, ...rest] = below.split('/');
  if (name === '.well-known') return { name: RELAY_AGENT.name, rest: [name, ...rest].join('/') };
  return { name: percentDecoded(name) ?? name, rest: rest.join('/') };
}

/** Named in a header or, where a client can set none, in the request's parameters. */
function versionOf(c: Context): string | undefined {
  return c.req.header(A2A_VERSION_HEADER) || c.req.query(A2A_VERSION_HEADER) || undefined;
}

/**
 * The card is for everyone, also for those who have no key yet: it says that they need one. Clients of 0.3 get one with the
 * fields that they look for, where they name their version or ask for `agent.json`.
 */
async function cardResponse(
  c: Context,
  card: AgentCard,
  { version, since }: { readonly version: string; readonly since: number | null },
): Promise<Response> {
  let shown = AgentCard.toJSON(card) as object;
  if (version === '0.3') {
    const older = new LegacyRestTransportHandler({
      getAuthenticatedExtendedAgentCard: async () => card,
    } as never);
    shown = { ...shown, ...(await older.getAuthenticatedExtendedAgentCard(new ServerCallContext())) };
  }
  const body = JSON.stringify(shown);
  const etag = `"${await sha256Hex(body)}"`;
  const headers: Record<string, string> = {
    'Cache-Control': 'public, max-age=60',
    Vary: A2A_VERSION_HEADER,
    ETag: etag,
    ...(since === null ? {} : { 'Last-Modified': new Date(since).toUTCString() }),
  };
  const known = (c.req.header('if-none-match') ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (known.includes(etag) || known.includes('*')) return new Response(null, { status: 304, headers });
  return new Response(body, { headers: { 'Content-Type': 'application/json', ...headers } });
}

function callContext(c: Context): ServerCallContext {
  return new ServerCallContext({
    requestedExtensions: Extensions.parseServiceParameter(c.req.header(HTTP_EXTENSION_HEADER)),
    requestedVersion: versionOf(c),
  });
}

async function jsonRpcResponse(
  c: Context,
  agent: A2ARequestHandler,
  context: ServerCallContext,
  read: () => Promise<string>,
): Promise<Response> {
  const legacy = context.requestedVersion === '0.3';
  const handler = legacy ? new LegacyJsonRpcTransportHandler(agent) : new JsonRpcTransportHandler(agent);
  const mapError = legacy
    ? LegacyJsonRpcTransportHandler.mapToLegacyJSONRPCError
    : JsonRpcTransportHandler.mapToJSONRPCError;
  const body = await read();
  const id = jsonObjectIn(body)?.id ?? null;
  const failed = (error: unknown) => ({ jsonrpc: '2.0', id, error: mapError(error) });
  try {
    validateVersion(context.requestedVersion, await agent.getAgentCard(), 'JSONRPC');
    checkMediaType(c);
    const answer = await handler.handle(body as never, context);
    if (!(Symbol.asyncIterator in answer)) return Response.json(answer);
    return await asEvents(answer as AsyncIterable<unknown>, failed);
  } catch (error) {
    return Response.json(failed(error));
  }
}

/** The agent, with errors of ours in the words of the protocol, and accidents logged instead of shown. */
function withA2AErrors(agent: A2ARequestHandler, onError: (error: unknown) => void): A2ARequestHandler {
  const fail = (error: unknown): never => {
    throw translate(error, onError);
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

function translate(error: unknown, onError: (error: unknown) => void): unknown {
  if (error instanceof A2AError) return error;
  if (isRelayError(error) && error.status < 500)
    return new RequestMalformedError(`${error.message} ${error.hint}`);
  onError(error);
  const known = shownError(error);
  if (known.code === 'internal') return new Error('The relay failed. Its log says why.');
  return new Error(`${known.message} ${known.hint}`, { cause: known });
}
