import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AskedText, FAKE_FORMATS, type FakeCall } from './fake-formats.ts';

/** A request to the model, in any format. */
export interface Asked extends AskedText {
  readonly path: string;
  readonly model: string;
  readonly headers: IncomingMessage['headers'];
  /** The whole request body, as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever a client sent
  readonly body: any;
}

/**
 * An answer, a failure with its HTTP status, an answer that breaks off half-way, or tool calls. `cached` is the number of
 * input tokens that the model reports as cached.
 */
export type Reply =
  | string
  | { readonly status: number; readonly message: string; readonly retryAfter?: number }
  | {
      readonly text?: string;
      readonly breaksOff?: true;
      readonly cut?: true;
      readonly refused?: true;
      readonly calls?: readonly FakeCall[];
      readonly cached?: number;
    };

export interface FakeModel extends AsyncDisposable {
  readonly url: string;
  readonly asked: Asked[];
  /** Environment variables that make the program use this model instead of a real provider. */
  readonly env: { readonly [name: string]: string };
}

/**
 * Starts a model server on loopback that speaks the formats of Anthropic, OpenAI, Gemini and Ollama and needs no key. It
 * bills one token per four characters, so that billed figures differ from counted ones.
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
  const result = await reply(one);
  if (typeof result === 'object' && 'status' in result) {
    const headers = result.retryAfter === undefined ? {} : { 'retry-after': String(result.retryAfter) };
    response.writeHead(result.status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ type: 'error', error: { type: 'error', message: result.message } }));
    return;
  }
  const {
    text = '',
    breaksOff,
    cut,
    refused,
    calls = [],
    cached = 0,
  } = typeof result === 'string' ? { text: result } : result;
  const read = one.system + one.user + one.results.join('');
  const usage = { input: Math.ceil(read.length / 4), output: Math.ceil(text.length / 4), cached };
  response.writeHead(200, { 'content-type': format.type });
  // Sends pieces that do not end at word boundaries, as real providers do.
  for (const piece of text.match(/[\s\S]{1,7}/gu) ?? []) response.write(format.piece(piece));
  for (const piece of format.calls(calls, text)) response.write(piece);
  if (breaksOff) {
    // Wait until the client has received the text so far.
    await new Promise((resolve) => setTimeout(resolve, 20));
    response.destroy();
  } else response.end(format.end(usage, cut === true, calls, refused === true));
}
