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
import type { Env } from '../../base/env.ts';
import { isRelayError, RelayError } from '../../base/errors.ts';
import { a2a } from '../../contract/a2a.ts';
import { authorize } from '../../contract/authorize.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import { RelayAgent } from './agent.ts';
import { type AgentDirectory, type AgentEntry, agentCard, RELAY_AGENT } from './card.ts';
import { asEvents, patiently, readBody } from './http-bodies.ts';
import { restResponse } from './rest.ts';
import type { OutboxEntry, TaskStore, WebhookOutbox } from './task-record.ts';
import { TaskService } from './task-service.ts';
import { Webhooks, type WebhooksOptions } from './webhooks.ts';

export interface A2AOptions extends WebhooksOptions {
  readonly version: string;
  readonly env: Env;
  /** Whether callers need a key. */
  readonly keys: boolean;
  /** Who sent a request; throws `unauthorized`. */
  enter(c: Context): Promise<A2AEntered>;
  /** The same for somebody who was here before, and of whom this is known. */
  reenter(caller: Caller, base: string): A2AEntered;
  /** Tasks of which webhooks wait to hear, of all callers. */
  outboxEntries(): AsyncIterable<OutboxEntry>;
  /** Where pointers and cards say that this relay is, for someone who has not said who he is. */
  baseOf(c: Context): string;
}

export interface A2AEntered {
  readonly caller: Caller;
  readonly relay: Relay;
  readonly base: string;
  readonly store: TaskStore;
  readonly outbox: WebhookOutbox;
  readonly agents: AgentDirectory;
}

export interface A2AOverHttp {
  /** `/a2a/{agent}`: JSON-RPC by POST, HTTP+JSON below it, and its card; the relay's own agent also at the root. */
  answer(c: Context): Promise<Response>;
  /** Goes on with what servers before this one did not get to tell. */
  resume(): Promise<void>;
}

export function a2aOverHttp(o: A2AOptions): A2AOverHttp {
  const webhooks = new Webhooks(o);
  const answer = async (c: Context) => {
    const { name, rest } = readPath(c.req.path);
    if (rest === '.well-known/agent-card.json') return cardResponse(c, name, o);
    const entered = await o.enter(c);
    const { caller, base, outbox, agents } = entered;
    authorize(caller, a2a.get);
    const entry = name === RELAY_AGENT.name ? RELAY_AGENT : await agents.find(name);
    if (!entry) throw noAgent(name);
    const tasks = new TaskService({ ...entered, env: o.env });
    const plain = new RelayAgent({
      caller,
      agent: entry,
      card: agentCard(entry, { base, version: o.version, keys: o.keys }),
      tasks,
      base,
      signal: AbortSignal.any([c.req.raw.signal, o.stopping]),
      webhooks: {
        check: (url) => webhooks.check(url),
        follow: (record) => webhooks.follow(record, { tasks, outbox, base }),
      },
    });
    const agent = speakingA2A(plain, o.onError);
    const context = callContext(c);
    if (rest !== '') return patiently(restResponse(c, rest, agent, context));
    if (c.req.method !== 'POST')
      throw new RelayError('method_not_allowed', {
        method: c.req.method,
        path: c.req.path.slice(0, 200),
        allowed: 'POST',
      });
    return patiently(jsonRpcResponse(c, agent, context));
  };
  const resume = async () => {
    for await (const { task, caller, base } of o.outboxEntries()) {
      const { outbox, ...entered } = o.reenter(caller, base);
      const tasks = new TaskService({ ...entered, outbox, env: o.env });
      await tasks.find(task).then(
        (record) => webhooks.follow(record, { tasks, outbox, base, resumed: true }),
        // Its sender never got an answer, and sends it again; or it is so old that it is gone.
        (error) => error instanceof TaskNotFoundError || o.onError(error),
      );
    }
  };
  return { answer, resume };
}

/** `/a2a`, `/a2a/{agent}`, `/a2a/{agent}/{what}`, `/.well-known/agent-card.json`. */
function readPath(path: string): { name: string; rest: string } {
  const [, first, ...more] = path.replace(/\/+$/, '').split('/');
  if (first === '.well-known') return { name: RELAY_AGENT.name, rest: [first, ...more].join('/') };
  const [name = RELAY_AGENT.name, ...rest] = more;
  if (name === '.well-known') return { name: RELAY_AGENT.name, rest: more.join('/') };
  return { name: decodeName(name), rest: rest.join('/') };
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** The card is for everyone, also for those who have no key yet: it says that they need one. */
async function cardResponse(c: Context, name: string, o: A2AOptions): Promise<Response> {
  const base = o.baseOf(c);
  const options = { base, version: o.version, keys: o.keys };
  const entry = name === RELAY_AGENT.name ? RELAY_AGENT : await findAgent(c, name, o);
  if (!entry) throw noAgent(name);
  const card = agentCard(entry, options);
  const headers = { 'Cache-Control': 'public, max-age=60', Vary: A2A_VERSION_HEADER };
  const plain = AgentCard.toJSON(card) as object;
  const asked = c.req.header(A2A_VERSION_HEADER);
  if (asked && asked !== '0.3') return Response.json(plain, { headers });
  // Whoever does not say which version he speaks gets a card that both can read.
  const older = new LegacyRestTransportHandler({
    getAuthenticatedExtendedAgentCard: async () => card,
  } as never);
  const both = { ...plain, ...(await older.getAuthenticatedExtendedAgentCard(new ServerCallContext())) };
  return Response.json(both, { headers });
}

async function findAgent(c: Context, name: string, o: A2AOptions): Promise<AgentEntry | null> {
  const { caller, agents } = await o.enter(c);
  authorize(caller, a2a.getCard);
  return agents.find(name);
}

function callContext(c: Context): ServerCallContext {
  return new ServerCallContext({
    requestedExtensions: Extensions.parseServiceParameter(c.req.header(HTTP_EXTENSION_HEADER)),
    requestedVersion: c.req.header(A2A_VERSION_HEADER) || undefined,
  });
}

async function jsonRpcResponse(
  c: Context,
  agent: A2ARequestHandler,
  context: ServerCallContext,
): Promise<Response> {
  const legacy = context.requestedVersion === '0.3';
  const handler = legacy ? new LegacyJsonRpcTransportHandler(agent) : new JsonRpcTransportHandler(agent);
  const mapError = legacy
    ? LegacyJsonRpcTransportHandler.mapToLegacyJSONRPCError
    : JsonRpcTransportHandler.mapToJSONRPCError;
  const body = await readBody(c.req.raw);
  const failed = (error: unknown) => ({ jsonrpc: '2.0', id: requestId(body), error: mapError(error) });
  try {
    validateVersion(context.requestedVersion, await agent.getAgentCard(), 'JSONRPC');
    const answer = await handler.handle(body as never, context);
    if (!(Symbol.asyncIterator in answer)) return Response.json(answer);
    return await asEvents(answer as AsyncIterable<unknown>, failed, (error) => Response.json(failed(error)));
  } catch (error) {
    return Response.json(failed(error));
  }
}

function requestId(body: string): unknown {
  try {
    return JSON.parse(body).id ?? null;
  } catch {
    return null;
  }
}

function noAgent(name: string): RelayError {
  return new RelayError('not_found', {
    what: `the agent "${name.slice(0, 100)}"`,
    hint: 'An agent is there once a bridge of that name was started: relay bridge start --name NAME. relay agents lists them.',
  });
}

const STREAMS = ['sendMessageStream', 'resubscribe'];

/** The agent, with errors of ours in the words of the protocol, and accidents logged instead of shown. */
function speakingA2A(agent: A2ARequestHandler, onError: (error: unknown) => void): A2ARequestHandler {
  const told = (error: unknown) => translate(error, onError);
  return new Proxy(agent, {
    get(target, name) {
      const method = Reflect.get(target, name) as unknown;
      if (typeof method !== 'function') return method;
      if (STREAMS.includes(String(name))) {
        return async function* (...args: unknown[]) {
          try {
            yield* method.apply(target, args);
          } catch (error) {
            throw told(error);
          }
        };
      }
      return async (...args: unknown[]) => {
        try {
          return await method.apply(target, args);
        } catch (error) {
          throw told(error);
        }
      };
    },
  });
}

function translate(error: unknown, onError: (error: unknown) => void): unknown {
  if (error instanceof A2AError) return error;
  if (isRelayError(error) && error.status < 500)
    return new RequestMalformedError(`${error.message} ${error.hint}`);
  onError(error);
  return new Error('The relay failed. Its log says why.');
}
