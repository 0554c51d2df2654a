import type { JSONRPCMessage, McpServer, RequestId } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { isJsonObject } from '../../base/json.ts';
import { MCP_MESSAGE_BYTES, MCP_WATCHED } from '../../base/limits.ts';
import { isMethod, listenedTo, type Watches, watchesOf } from './resources.ts';
import { type McpServerOptions, makeMcpServer } from './server.ts';
import type { ToolContext } from './tool.ts';

type Streams = ConstructorParameters<typeof StdioServerTransport>;

export interface StdioOptions extends Omit<McpServerOptions, 'subscribe'> {
  readonly stdin: NonNullable<Streams[0]>;
  readonly stdout: NonNullable<Streams[1]>;
}

/** Serves one client over a pipe; resolves when the client has closed its end and has had its last answers. */
export function serveMcpStdio(context: ToolContext, o: StdioOptions): Promise<void> {
  const wire = new StdioServerTransport(o.stdin, o.stdout, { maxBufferSize: MCP_MESSAGE_BYTES });
  const noteAsked = answeringBeforeClose(wire, o);
  let current: McpServer | null = null;
  const changed = (uri: string) => {
    current?.server.sendResourceUpdated({ uri }).catch(o.onError);
  };
  const watches = watchesOf(context, changed, o.onError);
  serveStdio(
    ({ era }) => {
      current = makeMcpServer(context, { ...o, subscribe: true });
      if (era === 'legacy') followOnRequest(current, watches);
      return current;
    },
    { transport: wire, onerror: o.onError, maxSubscriptions: MCP_WATCHED },
  );
  return new Promise((resolve) => {
    const { onmessage, onclose } = wire;
    // The library answers a modern subscription itself, before the server would hear of it.
    wire.onmessage = (message: JSONRPCMessage) => {
      noteAsked(message);
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

/** The 2025 revisions: one URI at a time. */
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

/** The 2026 revision: a request that stays open until it is cancelled. */
function followListening(message: JSONRPCMessage, watches: Watches): void {
  if (isMethod(message, 'subscriptions/listen')) watches.add(`listen ${message.id}`, listenedTo(message));
  if (isMethod(message, 'notifications/cancelled') && isJsonObject(message.params))
    watches.remove(`listen ${message.params.requestId}`);
}

/** Long enough for what a store or a relay answers, short enough that nothing lingers behind a client that is gone. */
const PATIENCE_MS = 1_000;

/**
 * The library drops what is under way when standard input ends. A client that writes its requests and closes its end,
 * as a shell pipe does, has asked all the same: the wire stays open until they are answered, but not for long.
 * Gives what is to be told of every message that comes in.
 */
function answeringBeforeClose(wire: StdioServerTransport, { stdin, stdout }: StdioOptions) {
  const open = new Set<RequestId>();
  let answered = () => {};
  const settle = (id: RequestId) => {
    open.delete(id);
    if (open.size === 0) answered();
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
      answered = resolve;
      const patience = setTimeout(resolve, PATIENCE_MS);
      await promise;
      clearTimeout(patience);
    }
    await close();
  };
  return (message: JSONRPCMessage): void => {
    if (!('method' in message)) return;
    if ('id' in message) {
      // A subscription is answered by its end, which nobody waits for here.
      if (message.method !== 'subscriptions/listen') open.add(message.id);
    } else if (message.method === 'notifications/cancelled') settle(message.params?.requestId as RequestId);
  };
}
