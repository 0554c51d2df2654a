import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a model was asked, in whichever format. */
export interface Asked {
  readonly path: string;
  readonly model: string;
  readonly system: string;
  readonly user: string;
  readonly headers: IncomingMessage['headers'];
  readonly maxTokens: number | undefined;
}

/** An answer, or a failure with its HTTP status, or one that breaks off half-way. */
export type Reply =
  | string
  | { readonly status: number; readonly message: string; readonly retryAfter?: number }
  | { readonly text: string; readonly breaksOff?: true; readonly cut?: true };

export interface FakeModel extends AsyncDisposable {
  readonly url: string;
  readonly asked: Asked[];
  /** What makes the program ask this one instead of a real provider. */
  readonly env: { readonly [name: string]: string };
}

/**
 * A model server on loopback that speaks the formats of Anthropic, OpenAI and Ollama, for trying things without a key. It
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
  const messages: { role: string; content: string }[] = body.messages ?? [];
  const text = (role: string) => messages.find((message) => message.role === role)?.content ?? '';
  const one: Asked = {
    path: request.url ?? '',
    model: body.model ?? '',
    system: typeof body.system === 'string' ? body.system : text('system'),
    user: text('user'),
    headers: request.headers,
    maxTokens: body.max_tokens ?? body.max_completion_tokens ?? body.options?.num_predict,
  };
  asked.push(one);
  const said = await reply(one);
  if (typeof said === 'object' && 'status' in said) {
    const headers = said.retryAfter === undefined ? {} : { 'retry-after': String(said.retryAfter) };
    response.writeHead(said.status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ type: 'error', error: { type: 'error', message: said.message } }));
    return;
  }
  const { text: words, breaksOff, cut } = typeof said === 'string' ? { text: said } : { ...said };
  const usage = { input: Math.ceil((one.system + one.user).length / 4), output: Math.ceil(words.length / 4) };
  const lines = FORMATS.find(({ at }) => at.test(one.path));
  if (!lines) {
    response.writeHead(404).end(JSON.stringify({ error: { message: 'no such path' } }));
    return;
  }
  response.writeHead(200, { 'content-type': lines.type });
  // In pieces, as the real ones do, and not at the ends of words.
  for (const piece of words.match(/[\s\S]{1,7}/gu) ?? []) response.write(lines.piece(piece));
  if (breaksOff) {
    // What was said so far gets through first.
    await new Promise((resolve) => setTimeout(resolve, 20));
    response.destroy();
  } else response.end(lines.end(usage, cut === true));
}

interface Format {
  readonly at: RegExp;
  readonly type: string;
  piece(text: string): string;
  end(usage: { input: number; output: number }, cut: boolean): string;
}

const event = (data: { type: string; [key: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const line = (value: unknown) => `${JSON.stringify(value)}\n`;

const FORMATS: readonly Format[] = [
  {
    at: /\/v1\/messages$/,
    type: 'text/event-stream',
    piece: (text) => event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    end: ({ input, output }, cut) =>
      event({ type: 'message_start', message: { usage: { input_tokens: input, output_tokens: 1 } } }) +
      event({
        type: 'message_delta',
        delta: { stop_reason: cut ? 'max_tokens' : 'end_turn' },
        usage: { output_tokens: output },
      }) +
      event({ type: 'message_stop' }),
  },
  {
    at: /\/chat\/completions$/,
    type: 'text/event-stream',
    piece: (content) =>
      data({ choices: [{ index: 0, delta: { content }, finish_reason: null }], usage: null }),
    end: ({ input, output }, cut) =>
      data({ choices: [{ index: 0, delta: {}, finish_reason: cut ? 'length' : 'stop' }] }) +
      data({ choices: [], usage: { prompt_tokens: input, completion_tokens: output } }) +
      'data: [DONE]\n\n',
  },
  {
    at: /\/api\/chat$/,
    type: 'application/x-ndjson',
    piece: (content) => line({ message: { role: 'assistant', content }, done: false }),
    end: ({ input, output }, cut) =>
      line({
        message: { role: 'assistant', content: '' },
        done: true,
        done_reason: cut ? 'length' : 'stop',
        prompt_eval_count: input,
        eval_count: output,
      }),
  },
];
