import type { JSONRPCMessage, McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { isJsonObject } from '../../base/json.ts';
import { MCP_MESSAGE_BYTES, MCP_WATCHED } from '../../base/limits.ts';
import type { Desk } from './desk.ts';
import { LastAnswers } from './last-answers.ts';
import { isMethod, listenedTo } from './listening.ts';
import { type McpServerOptions, makeMcpServer } from './server.ts';
import { Watches } from './watch.ts';

type Streams = ConstructorParameters<typeof StdioServerTransport>;

export interface StdioOptions extends Omit<McpServerOptions, 'subscribe'> {
  readonly stdin: NonNullable<Streams[0]>;
  readonly stdout: NonNullable<Streams[1]>;
}

/** Serves one client over a pipe; resolves when the client has closed its end and has had its last answers. */
export function serveMcpStdio(desk: Desk, o: StdioOptions): Promise<void> {
  const wire = new StdioServerTransport(o.stdin, o.stdout, { maxBufferSize: MCP_MESSAGE_BYTES });
  const answers = new LastAnswers(wire, o.stdin, o.stdout);
  let current: McpServer | null = null;
  const changed = (uri: string) => {
    current?.server.sendResourceUpdated({ uri }).catch(o.onError);
  };
  const watches = new Watches(desk, changed, o.onError);
  serveStdio(
    ({ era }) => {
      current = makeMcpServer(desk, { ...o, subscribe: true });
      if (era === 'legacy') followOnRequest(current, watches);
      return current;
    },
    { transport: wire, onerror: o.onError, maxSubscriptions: MCP_WATCHED },
  );
  return new Promise((resolve) => {
    const { onmessage, onclose } = wire;
    // The library answers a modern subscription itself, before the server would hear of it.
    wire.onmessage = (message: JSONRPCMessage) => {
      answers.expect(message);
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
