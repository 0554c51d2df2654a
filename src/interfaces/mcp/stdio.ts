import type { JSONRPCMessage, McpServer, RequestId } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { isJsonObject } from '../../base/json.ts';
import { MCP_MESSAGE_BYTES, MCP_WATCHED } from '../../base/limits.ts';
import { createWatches, isMethod, subscribedUris, type Watches } from './resources.ts';
import { type McpServerOptions, makeMcpServer } from './server.ts';
import type { ToolContext } from './tool.ts';
import { offersResources } from './tools.ts';

type Streams = ConstructorParameters<typeof StdioServerTransport>;

interface StdioOptions extends Omit<McpServerOptions, 'subscribe'> {
  readonly stdin: NonNullable<Streams[0]>;
  readonly stdout: NonNullable<Streams[1]>;
}

/**
 * Serves one client over stdio. Resolves when the client has closed stdin and the pending requests are answered or
 * timed out.
 */
export function serveMcpStdio(context: ToolContext, o: StdioOptions): Promise<void> {
  const wire = new StdioServerTransport(o.stdin, o.stdout, { maxBufferSize: MCP_MESSAGE_BYTES });
  const trackRequest = answerBeforeClose(wire, o);
  let current: McpServer | null = null;
  const changed = (uri: string) => {
    current?.server.sendResourceUpdated({ uri }).catch(o.onError);
  };
  const watches = createWatches(context, changed, o.onError);
  serveStdio(
    ({ era }) => {
      current = makeMcpServer(context, { ...o, subscribe: true });
      if (era === 'legacy' && offersResources(context, o.tools)) followOnRequest(current, watches);
      return current;
    },
    { transport: wire, onerror: o.onError, maxSubscriptions: MCP_WATCHED },
  );
  return new Promise((resolve) => {
    const { onmessage, onclose } = wire;
    // Look at each message before the library does. The library handles `subscriptions/listen` itself, so our server
    // would never see this message.
    wire.onmessage = (message: JSONRPCMessage) => {
      trackRequest(message);
      followListening(message, watches);
      onmessage?.(message);
    };
    wire.onclose = () => {
      watches.clear();
      onclose?.();
      resolve();
    };
  });
}

/** Handles subscriptions of the 2025 revisions, in which each request names one URI. */
function followOnRequest({ server }: McpServer, watches: Watches): void {
  server.setRequestHandler('resources/subscribe', ({ params }) => {
    watches.add(params.uri, [params.uri]);
    return {};
  });
  server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    watches.remove(params.uri);
    return {};
  });
}

/** Handles subscriptions of the 2026 revision, in which a request stays open until it is canceled. */
function followListening(message: JSONRPCMessage, watches: Watches): void {
  if (isMethod(message, 'subscriptions/listen')) watches.add(`listen ${message.id}`, subscribedUris(message));
  if (isMethod(message, 'notifications/cancelled') && isJsonObject(message.params))
    watches.remove(`listen ${message.params.requestId}`);
}

/** Maximum time in ms to answer pending requests after the client closed stdin. */
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * Delays closing until all requests are answered, for at most `CLOSE_TIMEOUT_MS`. Otherwise, if a shell pipe closes
 * stdin after its last request, the library would drop the unanswered requests. The returned function must be called
 * with every incoming message.
 */
function answerBeforeClose(wire: StdioServerTransport, { stdin, stdout }: StdioOptions) {
  const open = new Set<RequestId>();
  let onAllAnswered = () => {};
  const settle = (id: RequestId) => {
    open.delete(id);
    if (open.size === 0) onAllAnswered();
  };
  const send = wire.send.bind(wire);
  const close = wire.close.bind(wire);
  wire.send = async (message) => {
    await send(message);
    if (!('method' in message) && message.id !== undefined) settle(message.id);
  };
  wire.close = async () => {
    if (stdin.readableEnded && stdout.writable && open.size > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      onAllAnswered = resolve;
      const timeout = setTimeout(resolve, CLOSE_TIMEOUT_MS);
      await promise;
      clearTimeout(timeout);
    }
    await close();
  };
  return (message: JSONRPCMessage): void => {
    if (!('method' in message)) return;
    if ('id' in message) {
      // Do not wait for a subscription: it is answered only when it ends.
      if (message.method !== 'subscriptions/listen') open.add(message.id);
    } else if (message.method === 'notifications/cancelled') settle(message.params?.requestId as RequestId);
  };
}
