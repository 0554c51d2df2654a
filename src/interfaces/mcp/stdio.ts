import type { JSONRPCMessage, McpServer, RequestId } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { isJsonObject } from '../../base/json.ts';
import { MCP_MESSAGE_BYTES, MCP_WATCHED } from '../../base/limits.ts';
import { type McpServerOptions, makeMcpServer } from './server.ts';
import type { ToolContext } from './tool.ts';
import { isMethod, listenedTo, type Watches, watchesOf } from './watch.ts';

type Streams = ConstructorParameters<typeof StdioServerTransport>;

export interface StdioOptions extends Omit<McpServerOptions, 'subscribe'> {
  readonly stdin: NonNullable<Streams[0]>;
  readonly stdout: NonNullable<Streams[1]>;
}

/** Serves one client over a pipe; resolves when the client has closed its end and has had its last answers. */
export function serveMcpStdio(context: ToolContext, o: StdioOptions): Promise<void> {
  const wire = new StdioServerTransport(o.stdin, o.stdout, { maxBufferSize: MCP_MESSAGE_BYTES });
  const answers = new LastAnswers(wire, o.stdin, o.stdout);
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

/** Long enough for what a store or a relay answers, short enough that nothing lingers behind a client that is gone. */
const PATIENCE_MS = 1_000;

/**
 * The library drops what is under way when standard input ends. A client that writes its requests and closes its end,
 * as a shell pipe does, has asked all the same: the wire stays open until they are answered, but not for long.
 */
class LastAnswers {
  readonly #open = new Set<RequestId>();
  #answered: (() => void) | null = null;

  constructor(
    wire: StdioServerTransport,
    stdin: { readonly readableEnded: boolean },
    stdout: { readonly writable: boolean },
  ) {
    const send = wire.send.bind(wire);
    const close = wire.close.bind(wire);
    wire.send = async (message) => {
      await send(message);
      if (!('method' in message) && message.id !== undefined) this.#settle(message.id);
    };
    wire.close = async () => {
      if (stdin.readableEnded && stdout.writable) await this.#all();
      await close();
    };
  }

  expect(message: JSONRPCMessage): void {
    if (!('method' in message)) return;
    if ('id' in message) {
      // A subscription is answered by its end, which nobody waits for here.
      if (message.method !== 'subscriptions/listen') this.#open.add(message.id);
    } else if (message.method === 'notifications/cancelled')
      this.#settle(message.params?.requestId as RequestId);
  }

  #settle(id: RequestId): void {
    this.#open.delete(id);
    if (this.#open.size === 0) this.#answered?.();
  }

  async #all(): Promise<void> {
    if (this.#open.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#answered = resolve;
    const patience = setTimeout(resolve, PATIENCE_MS);
    await promise;
    clearTimeout(patience);
  }
}
