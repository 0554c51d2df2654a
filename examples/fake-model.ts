import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AskedText, FAKE_FORMATS, type FakeCall } from './fake-formats.ts';

/** What a model was asked, in whichever format. */
export interface Asked extends AskedText {
  readonly path: string;
  readonly model: string;
  readonly headers: IncomingMessage['headers'];
  /** As it came. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever a client sent
  readonly body: any;
}

/**
 * An answer, or a failure with its HTTP status, or one that breaks off half-way, or calls of tools. `cached`: so many of the
 * tokens it was sent are said to come from a cache.
 */
export type Reply =
  | string
  | { readonly status: number; readonly message: string; readonly retryAfter?: number }
  | {
      readonly text?: string;
      readonly breaksOff?: true;
      readonly cut?: true;
      readonly calls?: readonly FakeCall[];
      readonly cached?: number;
    };

export interface FakeModel extends AsyncDisposable {
  readonly url: string;
  readonly asked: Asked[];
  /** What makes the program ask this one instead of a real provider. */
  readonly env: { readonly [name: string]: string };
}

/**
 * A model server on loopback that speaks the formats of Anthropic, OpenAI, Gemini and Ollama, for trying things without a key. It
 * bills one token for four characters, so that its figures are told apart from counted ones.
 */
export async function startFakeModel(reply: (asked: Asked) => Reply | Promise<Reply>): Promise<FakeModel> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    answer(request, response, asked, reply).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    asked,
    env: { ANTHROPIC_API_KEY: 'fake-key-for-trying', ANTHROPIC_BASE_URL: url },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  asked: Asked[],
  reply: (asked: Asked) => Reply | Promise<Reply>,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString() || '{}');
  const format = FAKE_FORMATS.find(({ at }) => at.test(request.url ?? ''));
  if (!format) {
    response.writeHead(404).end(JSON.stringify({ error: { message: 'no such path' } }));
    return;
  }
  const one: Asked = {
    path: request.url ?? '',
    model: body.model ?? '',
    headers: request.headers,
    body,
    ...format.read(body),
  };
  asked.push(one);
  const said = await reply(one);
  if (typeof said === 'object' && 'status' in said) {
    const headers = said.retryAfter === undefined ? {} : { 'retry-after': String(said.retryAfter) };
    response.writeHead(said.status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ type: 'error', error: { type: 'error', message: said.message } }));
    return;
  }
  const {
    text: words = '',
    breaksOff,
    cut,
    calls = [],
    cached = 0,
  } = typeof said === 'string' ? { text: said } : said;
  const read = one.system + one.user + one.results.join('');
  const usage = { input: Math.ceil(read.length / 4), output: Math.ceil(words.length / 4), cached };
  response.writeHead(200, { 'content-type': format.type });
  // In pieces, as the real ones do, and not at the ends of words.
  for (const piece of words.match(/[\s\S]{1,7}/gu) ?? []) response.write(format.piece(piece));
  for (const piece of format.calls(calls, words)) response.write(piece);
  if (breaksOff) {
    // What was said so far gets through first.
    await new Promise((resolve) => setTimeout(resolve, 20));
    response.destroy();
  } else response.end(format.end(usage, cut === true, calls));
}
