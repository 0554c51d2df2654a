import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/** A request that a client sent to its model. */
export interface Asked {
  readonly path: string;
  readonly body: string;
}

/**
 * A model on loopback that says one sentence to whoever asks, in the formats of Anthropic Messages, OpenAI Responses and
 * Gemini, and remembers what it was asked.
 */
export class FakeModel implements AsyncDisposable {
  readonly asked: Asked[] = [];
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  async start(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((done) => {
      this.#server.close(() => done());
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const path = request.url ?? '/';
    if (request.method === 'POST') this.asked.push({ path, body });
    if (/\/v1\/messages\/count_tokens/.test(path)) return json(response, { input_tokens: 10 });
    if (/\/v1\/messages/.test(path)) return anthropic(response, body.includes('"stream":true'));
    if (/\/responses(?:\?|$)/.test(path)) return openai(response);
    if (/:streamGenerateContent/.test(path)) return events(response, [[null, gemini()]]);
    if (/:generateContent/.test(path)) return json(response, gemini());
    if (/:countTokens/.test(path)) return json(response, { totalTokens: 10 });
    if (/\/models/.test(path)) return json(response, { data: [], models: [] });
    return json(response, {});
  }
}

const WORDS = 'All is well.';

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
}

function events(response: ServerResponse, list: readonly (readonly [string | null, unknown])[]): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const [name, data] of list)
    response.write(`${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`);
  response.end();
}

function anthropic(response: ServerResponse, stream: boolean): void {
  const usage = { input_tokens: 10, output_tokens: 5 };
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'fake',
    stop_sequence: null,
    usage,
  };
  if (!stream) {
    json(response, { ...message, content: [{ type: 'text', text: WORDS }], stop_reason: 'end_turn' });
    return;
  }
  const named = (data: { type: string }) => [data.type, data] as const;
  events(response, [
    named({ type: 'message_start', message: { ...message, content: [], stop_reason: null } } as never),
    named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as never),
    named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: WORDS } } as never),
    named({ type: 'content_block_stop', index: 0 } as never),
    named({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage } as never),
    named({ type: 'message_stop' }),
  ]);
}

function openai(response: ServerResponse): void {
  const item = {
    type: 'message',
    role: 'assistant',
    id: 'msg_1',
    status: 'completed',
    content: [{ type: 'output_text', text: WORDS, annotations: [] }],
  };
  const usage = {
    input_tokens: 10,
    input_tokens_details: null,
    output_tokens: 5,
    output_tokens_details: null,
    total_tokens: 15,
  };
  events(response, [
    ['response.created', { type: 'response.created', response: { id: 'resp_1' } }],
    ['response.output_item.done', { type: 'response.output_item.done', output_index: 0, item }],
    ['response.completed', { type: 'response.completed', response: { id: 'resp_1', output: [item], usage } }],
  ]);
}

function gemini(): unknown {
  return {
    candidates: [{ content: { role: 'model', parts: [{ text: WORDS }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    modelVersion: 'fake',
  };
}
