import { type ChildProcess, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';

interface Message {
  id?: string | number;
  method?: string;
  params?: { requestId?: string | number; _meta?: Record<string, unknown> };
}

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

/**
 * Serves a stdio MCP server over HTTP, because the official suite tests servers only over HTTP. Each session has its own
 * server process. Clients without a session share one process per protocol revision. Request ids are renumbered.
 */
export class HttpBridge implements AsyncDisposable {
  readonly #command: readonly string[];
  readonly #env: NodeJS.ProcessEnv;
  readonly #programs = new Map<string, Program>();
  /** The process for the next session. It is started early, because the suite waits only 30 s for an answer. */
  #spare: Program;
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error) => response.writeHead(500).end(String(error)));
  });

  constructor(command: readonly string[], env: NodeJS.ProcessEnv = process.env) {
    this.#command = command;
    this.#env = env;
    this.#spare = new Program(command, env);
  }

  async start(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}/mcp`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child } of [this.#spare, ...this.#programs.values()]) child.stdin!.end();
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'DELETE') return void response.writeHead(200).end();
    if (request.method !== 'POST') return void response.writeHead(405).end();
    let body = '';
    for await (const chunk of request) body += chunk;
    const message: Message = JSON.parse(body);
    const fresh = message.method === 'initialize';
    // The first message to a stdio server fixes its protocol revision, so each revision needs its own process.
    const stateless = message.params?._meta?.[VERSION] === '2026-07-28' ? 'modern' : 'other';
    const session = fresh
      ? `s${this.#programs.size}`
      : String(request.headers['mcp-session-id'] ?? stateless);
    const program = this.#programs.get(session) ?? this.#spare;
    this.#programs.set(session, program);
    if (program === this.#spare) this.#spare = new Program(this.#command, this.#env);
    if (fresh) response.setHeader('Mcp-Session-Id', session);
    if (message.id === undefined || message.method === undefined) {
      program.send(message);
      return void response.writeHead(202).end();
    }
    program.ask(message, response);
  }
}

class Program {
  readonly child: ChildProcess;
  /** Open HTTP responses, by the request id that the program sees. */
  readonly #open = new Map<number, { id: string | number; response: ServerResponse }>();
  #next = 1;

  constructor([command, ...args]: readonly string[], env: NodeJS.ProcessEnv) {
    this.child = spawn(command!, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface(this.child.stdout!).on('line', (line) => this.#take(JSON.parse(line)));
  }

  send(message: Message): void {
    this.child.stdin!.write(`${JSON.stringify(message)}\n`);
  }

  ask(message: Message, response: ServerResponse): void {
    const id = this.#next++;
    this.#open.set(id, { id: message.id!, response });
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.flushHeaders();
    response.once('close', () => {
      if (!this.#open.delete(id)) return;
      this.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } } as Message);
    });
    this.send({ ...message, id });
  }

  #take(message: Message): void {
    const isAnswer = message.method === undefined;
    const subscription = message.params?._meta?.[SUBSCRIPTION];
    const key = isAnswer ? Number(message.id) : subscription === undefined ? undefined : Number(subscription);
    const [, last] = [...this.#open].at(-1) ?? [];
    const open = key === undefined ? last : this.#open.get(key);
    if (!open) return;
    const outgoing = isAnswer ? { ...message, id: open.id } : message;
    if (subscription !== undefined) outgoing.params!._meta![SUBSCRIPTION] = open.id;
    open.response.write(`data: ${JSON.stringify(outgoing)}\n\n`);
    if (!isAnswer) return;
    this.#open.delete(key!);
    open.response.end();
  }
}
