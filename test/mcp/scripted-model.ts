import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/** What the model says next: a tool to call, or its last words. */
export type Move = { readonly tool: string; readonly args: object } | { readonly text: string };

/** Told what the tools have answered so far, in order. */
export type Script = (answers: readonly string[]) => Move | Promise<Move>;

type Json = { readonly [name: string]: unknown };

/**
 * A model on loopback that calls tools as a script tells it, in the formats of Anthropic Messages and OpenAI Responses.
 * Whoever asks without offering the tools (for a title, say) gets a word and nothing more.
 */
export class ScriptedModel implements AsyncDisposable {
  readonly #script: Script;
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error) => response.writeHead(500).end(String(error)));
  });

  constructor(script: Script) {
    this.#script = script;
  }

  async start(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((done) => this.#server.close(() => done()));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += chunk;
    const path = request.url ?? '/';
    if (request.method !== 'POST' || /count_tokens/.test(path)) {
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"input_tokens":10,"data":[]}');
      return;
    }
    const asked = JSON.parse(text) as Json;
    const anthropic = /\/messages/.test(path);
    const offered = toolNames((asked.tools ?? []) as Json[]);
    const answers = anthropic ? anthropicResults(asked) : openaiResults(asked);
    const move = offered.some(({ name }) => name.endsWith('push_context'))
      ? await this.#script(answers)
      : { text: 'Fine.' };
    const call = 'tool' in move ? offered.find(({ name }) => name.endsWith(move.tool)) : undefined;
    if ('tool' in move && !call) throw new Error(`${move.tool} is not offered`);
    const id = `call_${answers.length + 1}`;
    if (anthropic) sayAnthropic(response, move, call?.name ?? '', id);
    else sayOpenai(response, move, call, id);
  }
}

interface Offered {
  readonly name: string;
  readonly namespace?: string;
}

/** Some clients offer the tools of a server in a group of its own. */
function toolNames(tools: readonly Json[]): Offered[] {
  return tools.flatMap((tool): Offered[] => {
    const name = String(tool.name ?? '');
    if (tool.type === 'namespace')
      return (tool.tools as Json[]).map((one) => ({ name: String(one.name), namespace: name }));
    return [{ name }];
  });
}

function anthropicResults(asked: Json): string[] {
  const messages = (asked.messages ?? []) as { content: string | Json[] }[];
  return messages
    .flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .filter(({ type }) => type === 'tool_result')
    .map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)));
}

function openaiResults(asked: Json): string[] {
  const input = (asked.input ?? []) as Json[];
  return input
    .filter(({ type }) => type === 'function_call_output')
    .map(({ output }) => (typeof output === 'string' ? output : JSON.stringify(output)));
}

function sayAnthropic(response: ServerResponse, move: Move, name: string, id: string): void {
  const usage = { input_tokens: 10, output_tokens: 5 };
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'fake',
    stop_sequence: null,
    usage,
  };
  const calls = 'tool' in move;
  const block = calls ? { type: 'tool_use', id, name, input: {} } : { type: 'text', text: '' };
  const delta = calls
    ? { type: 'input_json_delta', partial_json: JSON.stringify(move.args) }
    : { type: 'text_delta', text: move.text };
  events(response, [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: calls ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage,
    },
    { type: 'message_stop' },
  ]);
}

function sayOpenai(response: ServerResponse, move: Move, call: Offered | undefined, id: string): void {
  const item =
    'tool' in move
      ? { type: 'function_call', id: `fc_${id}`, call_id: id, ...call, arguments: JSON.stringify(move.args) }
      : {
          type: 'message',
          role: 'assistant',
          id: 'msg_1',
          content: [{ type: 'output_text', text: move.text }],
        };
  const usage = {
    input_tokens: 10,
    input_tokens_details: null,
    output_tokens: 5,
    output_tokens_details: null,
    total_tokens: 15,
  };
  events(response, [
    { type: 'response.created', response: { id: 'resp_1' } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { id: 'resp_1', output: [item], usage } },
  ]);
}

function events(response: ServerResponse, list: readonly Json[]): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const data of list) response.write(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
  response.end();
}
