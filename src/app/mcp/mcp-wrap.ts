import { createHmac } from 'node:crypto';
import { userInfo } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { config as configureZod } from 'zod';
import { systemEnv } from '../../base/env.ts';
import { ignore, RelayError } from '../../base/errors.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { MCP_BUDGET_TOKENS, MCP_MESSAGE_BYTES } from '../../base/limits.ts';
import { encodeUtf8 } from '../../base/utf8.ts';
import { OUTPUT, TOOL_READER } from '../../contract/outputs.ts';
import type { OpenClient, WrapOptions } from '../../interfaces/cli/host.ts';
import { runTool } from '../../interfaces/mcp/server.ts';
import type { ToolContext } from '../../interfaces/mcp/tool.ts';
import { POINTER_TOOLS } from '../../interfaces/mcp/tools/pointers.ts';
import { Interceptor, type InterceptorHost } from '../../interfaces/mcp/wrap/interceptor.ts';
import { startPiped } from '../../runners/processes.ts';
import { PULL_TOOL } from '../../sdk/context-tools.ts';
import { lastLine } from '../../text/excerpt/last-line.ts';
import type { Config } from '../config.ts';
import { OutputStore } from '../outputs/output-store.ts';
import { Spool } from '../outputs/spool.ts';
import { birthOf } from '../serve/pid-file.ts';
import { homeSecret } from '../store/home.ts';
import { openRelay } from '../store/open-relay.ts';
import { ownTextWork } from '../store/own-text-work.ts';

/** The wrapped MCP server. Messages are JSON texts without line feeds. */
interface Upstream {
  send(text: string): Promise<void> | void;
  /** Yields the messages of the server until it ends. */
  messages(): AsyncIterable<string | Uint8Array>;
  /** Ends the connection to the server, because the client has left. */
  close(): void;
  readonly exit: Promise<number>;
}

/** Time in ms that the server gets to end after the client has disconnected. */
const END_GRACE_MS = 2_000;

/** Runs the proxy until the client or the server ends. Returns the exit code of the server. */
export async function wrapMcp(home: string, readConfig: () => Config, o: WrapOptions): Promise<number> {
  configureZod({ jitless: true });
  const upstream = 'url' in o.server ? await overHttp(o.server.url) : overStdio(o.server.command);
  await using stores = new Stores(home, readConfig, o);
  const named = o.name ?? ('url' in o.server ? new URL(o.server.url).host : null);
  const interceptor = new Interceptor(named, stores);
  const toClient = (text: string | Uint8Array) => {
    o.stdout.write(text);
    o.stdout.write('\n');
  };
  const fromClient = async () => {
    for await (const line of linesOf(o.stdin)) {
      if (typeof line !== 'string') continue;
      const handled = await interceptor.fromClient(line);
      if ('answer' in handled) toClient(handled.answer);
      else await upstream.send(handled.forward);
    }
    upstream.close();
    setTimeout(() => process.exit(0), END_GRACE_MS).unref();
  };
  const reading = fromClient();
  reading.catch((error) => o.onWarning(error.message));
  const waiting = new Set<Promise<void>>();
  for await (const message of upstream.messages()) {
    const output = typeof message === 'string' ? interceptor.fromServer(message) : message;
    if (!(output instanceof Promise)) {
      toClient(output);
      continue;
    }
    // Do not await this: storing a long result takes time, and later messages must not wait for it.
    const sent = output.then(toClient).finally(() => waiting.delete(sent));
    waiting.add(sent);
  }
  await Promise.all(waiting);
  return await upstream.exit;
}

/** Yields the lines of a stream. A line above the size limit comes as bytes, unparsed. */
async function* linesOf(stream: Readable): AsyncGenerator<string | Uint8Array> {
  let pending: Uint8Array[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, from)) {
      pending.push(chunk.subarray(from, at));
      const line = pending.length === 1 ? (pending[0] as Buffer) : Buffer.concat(pending);
      pending = [];
      from = at + 1;
      yield line.length > MCP_MESSAGE_BYTES ? line : line.toString();
    }
    if (from < chunk.length) pending.push(chunk.subarray(from));
  }
  if (pending.length > 0) yield Buffer.concat(pending).toString();
}

function overStdio([command, ...args]: readonly string[]): Upstream {
  const { input, output, end } = startPiped({ command: command!, args }, process.env);
  // A missing program also rejects here. The caller sees the error when it reads the exit code.
  end.catch(() => {});
  return {
    send: async (text) => {
      if (!input.write(`${text}\n`)) await drained(input);
    },
    messages: () => linesOf(output),
    close: () => input.end(),
    exit: end.then(({ code }) => code),
  };
}

function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    stream.once('drain', resolve).once('close', resolve);
  });
}

/**
 * Connects to a server over HTTP. RELAY_MCP_HEADERS has the headers as JSON: other users could see them in
 * command-line arguments.
 */
async function overHttp(url: string): Promise<Upstream> {
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const headers = readHeaders(process.env.RELAY_MCP_HEADERS || '{}');
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  const { readable, writable } = new TransformStream<string, string>(undefined, undefined, {
    highWaterMark: Number.POSITIVE_INFINITY,
  });
  const writer = writable.getWriter();
  const calls = new Map<string, AbortController>();
  transport.onmessage = (message) => {
    if ('result' in message && isJsonObject(message.result) && 'protocolVersion' in message.result)
      transport.setProtocolVersion(String(message.result.protocolVersion));
    if (!('method' in message)) calls.delete(JSON.stringify(message.id));
    // Ignore the error: the writer is closed only after the client has left, when nobody waits for the
    // message.
    writer.write(JSON.stringify(message)).catch(() => {});
  };
  await transport.start();
  const fail = (id: unknown, error: Error) =>
    writer.write(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_603, message: error.message } }));
  return {
    async send(text) {
      const message = JSON.parse(text);
      const key = JSON.stringify(message.id);
      if (message.method === 'notifications/cancelled')
        calls.get(JSON.stringify(message.params?.requestId))?.abort();
      const controller = new AbortController();
      if (message.method !== undefined && message.id !== undefined) calls.set(key, controller);
      const sent = transport.send(message, { requestSignal: controller.signal }).catch((error: Error) => {
        if (controller.signal.aborted || message.id === undefined || message.method === undefined) return;
        return fail(message.id, error);
      });
      // Wait for the first answer: it starts the session to which later messages belong.
      if (message.method === 'initialize') await sent;
    },
    messages: () => readable,
    close: () => {
      // The client has left. Ending the session now is only polite: the server ends it by itself later.
      transport
        .terminateSession()
        .catch(() => {})
        .then(() => transport.close())
        .then(() => writer.close())
        .catch(() => {});
    },
    exit: Promise.resolve(0),
  };
}

function readHeaders(text: string): Record<string, string> {
  try {
    const headers: unknown = JSON.parse(text);
    if (isJsonObject(headers) && Object.values(headers).every((value) => typeof value === 'string'))
      return headers as Record<string, string>;
  } catch {
    // Invalid JSON gets the error below, which must not quote the text: it may contain a secret.
  }
  throw new RelayError('bad_usage', {
    what: 'RELAY_MCP_HEADERS is not a JSON object with string values.',
    hint: `Use a value such as '{"Authorization":"Bearer …"}'.`,
  });
}

/**
 * Stores tool results in the local store and reads them again for the interceptor. Opens the store on first
 * use.
 */
class Stores implements InterceptorHost, AsyncDisposable {
  readonly budget: number;
  readonly expands: boolean;
  readonly counter = ownTextWork;
  readonly #home: string;
  readonly #readConfig: () => Config;
  readonly #o: WrapOptions;
  readonly #tool = POINTER_TOOLS.find(({ name }) => name === PULL_TOOL.name)!;
  /**
   * Identifies the client's process. Read at the start, because this process gets another parent when the
   * client ends.
   */
  readonly #client = `${process.ppid} ${birthOf(process.ppid)}`;
  #opened: Promise<OpenClient> | null = null;

  constructor(home: string, readConfig: () => Config, o: WrapOptions) {
    this.#home = home;
    this.#readConfig = readConfig;
    this.#o = o;
    this.budget = o.budget;
    this.expands = o.expands;
  }

  get pullTool(): JsonObject {
    const { name, description, schema } = this.#tool;
    const inputSchema = schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' }) as JsonObject;
    return { name, description, inputSchema, annotations: { readOnlyHint: true } };
  }

  async pull(args: JsonObject): Promise<JsonObject> {
    const context: ToolContext = {
      local: true,
      env: systemEnv,
      texts: ownTextWork,
      frameSecret: homeSecret(this.#home),
      budget: MCP_BUDGET_TOKENS,
      typed: this.#o.typed,
      may: () => true,
      open: async () => {
        const open = await this.#open();
        return { ...open, client: await open.client() };
      },
    };
    return (await runTool(this.#tool, args, context, this.#o.onWarning)) as unknown as JsonObject;
  }

  lastLine: InterceptorHost['lastLine'] = (handle, about) =>
    lastLine(handle, about, about.omitted[0], (number, lines) => {
      const asArgument = this.expands ? `; the argument "${handle}" gives a tool the whole text` : '';
      const tool = `pull_context url="${handle}" part="lines=${lines}" | "grep=PATTERN" | "question=TEXT" | "outline"`;
      return `${tool}${asArgument}; in a shell: ${this.#o.typed(`relay pull ${number}`)} --lines ${lines}`;
    });

  store: InterceptorHost['store'] = async (text, { lines, tokens, shown, bytes }, call) => {
    const command = `${TOOL_READER}${call.server} ${call.tool}`;
    const session = await this.#session(call.session);
    const store = new OutputStore(await this.#open(), this.#readConfig());
    const spool = Spool.create(this.#home, command);
    try {
      spool.append(encodeUtf8(text));
      const facts = { command, exit: null, lines, tokens, shown, bytes, session };
      const pushed = await store.save(spool, facts);
      await store.keepWithin();
      return pushed.handle ?? pushed.id;
    } finally {
      spool.delete();
    }
  };

  read: InterceptorHost['read'] = async (handle, call) => {
    const open = await this.#open();
    const url = await open.resolve(handle);
    const found = await (await open.client()).inspect(url).catch(ignore('not_found'));
    const session = await this.#session(call.session);
    if (found === null || found.metadata.kind !== OUTPUT || found.metadata.session !== session) return null;
    // Statistics read the server and the tool from the agent name of a pull, so pull under a name that contains
    // both.
    await using reader = await this.#openStore(`${TOOL_READER}${call.server} ${call.tool}`);
    return await (await reader.client()).pull(url);
  };

  warn(what: string): void {
    this.#o.onWarning(what);
  }

  /** Identifies the session of the client: by its id or, if unknown, by user, folder and process. */
  async #session(stated: string | null): Promise<string> {
    const id = stated ?? process.env.CLAUDE_CODE_SESSION_ID ?? process.env.GEMINI_SESSION_ID;
    const key = id ?? `${userInfo().uid} ${this.#o.folder} ${this.#client}`;
    const secret = await homeSecret(this.#home)();
    return createHmac('sha256', secret).update(key).digest('hex').slice(0, 32);
  }

  #open(): Promise<OpenClient> {
    this.#opened ??= this.#openStore().catch((error) => {
      // Forget the failed attempt, so that the next call tries again: the store may only have been busy.
      this.#opened = null;
      throw error;
    });
    return this.#opened;
  }

  /** Opens the local store, even if CONTEXTRELAY_URL names another relay. */
  #openStore(agent?: string): Promise<OpenClient> {
    const { onWarning: warn } = this.#o;
    return openRelay({ ...this.#readConfig(), remote: null }, agent === undefined ? {} : { agent }, { warn });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#opened)?.[Symbol.asyncDispose]();
  }
}
