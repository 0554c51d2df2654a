import { createMcpHandler, type McpHttpHandler, type ServerEventBus } from '@modelcontextprotocol/server';
import { systemEnv } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { isJsonObject } from '../../base/json.ts';
import { MCP_BUDGET_TOKENS, MCP_MESSAGE_BYTES, MCP_STREAMS } from '../../base/limits.ts';
import { may } from '../../contract/authorize.ts';
import { parsePointer, pointerUrl } from '../../contract/pointer-url.ts';
import type { Relay } from '../../contract/relay.ts';
import { type TextWork, workFor } from '../../domain/text-work.ts';
import { ContextRelay } from '../../sdk/context-relay.ts';
import type { FrameSecret } from '../../text/frame.ts';
import { jsonText, POINTER_HINT } from '../body-text.ts';
import { endForSlowReader } from '../event-response.ts';
import type { CallerContext } from '../protocol.ts';
import { createWatches, isMethod, subscribedUris } from './resources.ts';
import { type McpServerOptions, makeMcpServer } from './server.ts';
import type { ToolContext } from './tool.ts';
import { readToolChoice } from './tools.ts';

export interface McpHttpOptions extends Pick<McpServerOptions, 'version' | 'extend' | 'onError'> {
  readonly texts: TextWork;
  /** Aborted when the server stops. Ends all open streams. */
  readonly stopping: AbortSignal;
  readonly frameSecret: FrameSecret;
  readonly replaced?: ToolContext['replaced'];
  /** Maximum size of a message in bytes. By default, the largest payload fits. */
  readonly messageBytes?: number;
}

type McpOverHttp = (request: Request, by: CallerContext) => Promise<Response>;

/**
 * Serves MCP over Streamable HTTP at /mcp, for every protocol revision. It keeps no state between requests,
 * so any server can answer, even after a restart.
 */
export function mcpOverHttp(o: McpHttpOptions): McpOverHttp {
  const streams = new Set<McpHttpHandler>();
  o.stopping.addEventListener('abort', () => {
    for (const handler of streams) handler.close().catch(o.onError);
  });
  return async (original, by) => {
    const context = createContext(by, o);
    const toolsParam = new URL(original.url).searchParams.get('tools');
    const tools = toolsParam === null ? null : readToolChoice(toolsParam);
    const { request, message } = await readMessage(original, o.messageBytes);
    if (isMethod(message, 'subscriptions/listen') && streams.size >= MCP_STREAMS)
      throw new RelayError('busy', { what: 'too many change streams are open' });
    const handler: McpHttpHandler = createMcpHandler(
      ({ era }) => makeMcpServer(context, { ...o, tools, subscribe: era === 'modern' }),
      {
        bus: createEventBus(message, context, o, {
          begun: () => streams.add(handler),
          ended: () => streams.delete(handler),
        }),
        responseMode: takesLong(message) ? 'sse' : 'auto',
        onerror: o.onError,
      },
    );
    const response = await handler.fetch(request, message === undefined ? {} : { parsedBody: message });
    const { body, status, headers } = response;
    if (!body || !isMethod(message, 'subscriptions/listen')) return response;
    return new Response(endForSlowReader(body), { status, headers });
  };
}

/** Builds the tool context for a request. Its tools use only this relay, with the rights of the caller. */
function createContext(
  { caller, relay, base, onRead }: CallerContext,
  { texts, frameSecret, replaced }: McpHttpOptions,
): ToolContext {
  const client = new ContextRelay({ relay, ownBases: [base] });
  const access = { client, relay, resolve: (url: string) => ownPointer(url, relay, base) };
  return {
    local: false,
    env: systemEnv,
    texts: workFor({ ...caller, onRead }, texts),
    frameSecret,
    replaced,
    budget: MCP_BUDGET_TOKENS,
    open: async () => access,
    may: (verb) => may(caller, verb),
  };
}

/**
 * Returns the pointer on this relay, whatever host the URL names: the server must not fetch other URLs for
 * its clients.
 */
async function ownPointer(url: string, relay: Relay, base: string): Promise<string> {
  const { id, base: named } = parsePointer(url);
  const isHere = () => relay.pointers.peek(id).then(Boolean, () => false);
  if (named !== null && named !== base && !(await isHere())) {
    throw new RelayError('not_found', {
      what: 'the pointer',
      hint: 'It is not on this relay. To read pointers of other relays, use the stdio server (relay mcp).',
    });
  }
  return named === null ? id : pointerUrl(base, id);
}

/**
 * Creates the event bus of one request. It watches the resources to which the request subscribed until the
 * stream ends.
 */
function createEventBus(
  message: unknown,
  context: ToolContext,
  { onError, extend }: McpHttpOptions,
  stream: { begun(): void; ended(): void },
): ServerEventBus {
  return {
    publish: () => {},
    subscribe(listener) {
      const watches = createWatches(context, (uri) => listener({ kind: 'resource_updated', uri }), onError);
      stream.begun();
      const end = extend?.listening?.(listener);
      watches.add('listen', subscribedUris(message));
      return () => {
        watches.clear();
        end?.();
        stream.ended();
      };
    },
  };
}

/**
 * Returns whether a call may take minutes. It is then answered as a stream with heartbeats, so that clients
 * do not time out.
 */
function takesLong(message: unknown): boolean {
  return (
    isMethod(message, 'tools/call') && isJsonObject(message.params) && message.params.name === 'bridge_task'
  );
}

/** Reads the message up to the size limit. The library answers invalid JSON with an error. */
async function readMessage(
  request: Request,
  bytes = MCP_MESSAGE_BYTES,
): Promise<{ request: Request; message?: unknown }> {
  if (request.method !== 'POST' || !request.body) return { request };
  const text = await jsonText(request, { bytes, what: 'an MCP message', hint: POINTER_HINT });
  const { url, method, headers, signal } = request;
  try {
    return { request, message: JSON.parse(text) };
  } catch {
    return { request: new Request(url, { method, headers, signal, body: text }) };
  }
}
