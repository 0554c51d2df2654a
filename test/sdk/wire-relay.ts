import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PartRequest } from '../../src/text/parts/part-request.ts';
import { parsePartRequest } from '../../src/text/parts/part-request.ts';
import { re2Matcher } from '../../src/text/parts/re2-matcher.ts';
import { takePart } from '../../src/text/parts/take-part.ts';

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

interface Stored {
  readonly body: Buffer;
  readonly metadata: string;
  readonly type: string;
  readonly channel: string | null;
}

/** Answers a request instead of the relay, or returns false to let the relay answer. `n` counts requests from 0. */
type Trouble = (request: Seen, response: ServerResponse, n: number) => boolean | Promise<boolean>;

/** A minimal fake relay on a real socket, for tests of the SDK. Unlike a real relay, it can be told to fail. */
export class WireRelay implements AsyncDisposable {
  readonly seen: Seen[] = [];
  readonly stored = new Map<string, Stored>();
  readonly #server: Server;
  readonly #repeated = new Map<string, string>();
  trouble: Trouble = () => false;
  /** Base URL of the pointers; null if it is the address of this server. */
  publicUrl: string | null = null;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<WireRelay> {
    const server = createServer({ maxHeaderSize: 64 * 1024 });
    const relay = new WireRelay(server);
    server.on('request', (request, response) => {
      relay.#take(request, response).catch(() => response.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return relay;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Values of one header in all requests so far. */
  headers(name: string): (string | undefined)[] {
    return this.seen.map((request) => request.headers[name] as string | undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'http://x');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const recorded: Seen = {
      method: request.method!,
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: Buffer.concat(chunks),
    };
    this.seen.push(recorded);
    if (await this.trouble(recorded, response, this.seen.length - 1)) return;
    if (recorded.method === 'POST') return this.#push(recorded, response);
    const [, verb, id] = recorded.path.split('/');
    const stored = this.stored.get(id!);
    if (!stored) return fail(response, 404, 'not_found');
    if (recorded.method === 'DELETE') {
      this.stored.delete(id!);
      response.writeHead(204).end();
    } else if (verb === 'peek') {
      response
        .writeHead(200, { ...describe(stored), 'Content-Type': 'application/json' })
        .end(stored.metadata);
    } else await pull(stored, recorded, response);
  }

  #push(request: Seen, response: ServerResponse): void {
    const isEnvelope = request.headers['content-type']?.startsWith('application/json');
    const fields = isEnvelope ? JSON.parse(request.body.toString()) : null;
    const header = request.headers['relay-metadata'] as string | undefined;
    const key = request.headers['idempotency-key'] as string | undefined;
    const id = (key && this.#repeated.get(key)) || randomUUID();
    if (key) this.#repeated.set(key, id);
    const channel = fields?.channel ?? request.query.get('channel');
    const body = fields ? Buffer.from(fields.data) : request.body;
    if (body.length === 0) {
      fail(response, 400, 'empty_payload');
      return;
    }
    const metadata = fields?.metadata
      ? JSON.stringify(fields.metadata)
      : Buffer.from(header ?? 'e30', 'base64url').toString();
    const type =
      fields?.content_type ?? decodeURIComponent((request.headers['relay-content-type'] as string) ?? '');
    this.stored.set(id, { body, metadata, type, channel });
    const tokens = { tokens: 7, tokenizer: 'o200k_base', estimated: false };
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(
      JSON.stringify({
        url: `${this.publicUrl ?? this.url}/pull/${id}`,
        id,
        channel,
        expires_at: '2030-01-01T00:00:00.000Z',
        size: body.length,
        ...(request.query.get('count') === '1' ? { tokens } : {}),
      }),
    );
  }
}

export function fail(
  response: ServerResponse,
  status: number,
  code: string,
  headers: Record<string, string> = {},
): void {
  const body = { error: `Refused with ${code}.`, code, hint: `Mind ${code}.` };
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
}

async function pull(stored: Stored, request: Seen, response: ServerResponse): Promise<void> {
  const { query } = request;
  const part: PartRequest | null = parsePartRequest({
    lines: query.get('lines'),
    grep: query.get('grep'),
    context: query.get('context'),
    ignore_case: query.get('ignore_case'),
    json: query.get('json'),
    outline: query.get('outline'),
  });
  const excerpt = part && (await takePart(new Uint8Array(stored.body), part, re2Matcher));
  if (query.get('cost') === '1') {
    const bytes = excerpt ? Buffer.byteLength(excerpt.text) : stored.body.length;
    response
      .writeHead(200)
      .end(JSON.stringify({ tokens: 3, tokenizer: 'o200k_base', estimated: true, bytes }));
  } else if (excerpt) {
    const headers = {
      'Relay-Part': encodeURIComponent(excerpt.about),
      ...(excerpt.truncated ? { 'Relay-Truncated': '1' } : {}),
    };
    response.writeHead(200, headers).end(excerpt.text);
  } else {
    const size = stored.body.length;
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
    const [start, end] = range ? [Number(range[1]), Math.min(Number(range[2]) + 1, size)] : [0, size];
    if (start >= size) return fail(response, 416, 'range_not_satisfiable');
    response
      .writeHead(range ? 206 : 200, {
        ...describe(stored),
        'Relay-Metadata': Buffer.from(stored.metadata).toString('base64url'),
        'Content-Length': String(end - start),
        ...(range ? { 'Content-Range': `bytes ${start}-${end - 1}/${size}` } : {}),
      })
      .end(stored.body.subarray(start, end));
  }
}

export function describe(stored: Stored): Record<string, string> {
  const sha256 = createHash('sha256').update(stored.body).digest('hex');
  return {
    ETag: `"${sha256}"`,
    'Relay-Size': String(stored.body.length),
    'Relay-Text': stored.body.equals(Buffer.from(stored.body.toString())) ? '1' : '0',
    'Relay-Created-At': '2029-12-31T00:00:00.000Z',
    'Relay-Expires-At': '2030-01-01T00:00:00.000Z',
    'Relay-From': encodeURIComponent('Zoë'),
    'Relay-Visibility': 'link',
    'Relay-Tokens': '12; o200k_base; estimated',
    ...(stored.type ? { 'Relay-Content-Type': encodeURIComponent(stored.type) } : {}),
    ...(stored.channel ? { 'Relay-Channel': encodeURIComponent(stored.channel) } : {}),
  };
}
