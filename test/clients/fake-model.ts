import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/** A request of a client to its model. */
export interface Asked {
  readonly path: string;
  readonly body: string;
}

/** The model's next step: a tool call, with or without text before it, or the final text. */
export type Move =
  | { readonly tool: string; readonly args: object; readonly say?: string }
  | { readonly text: string };

/** Called with all tool results so far, in order. */
export type Script = (answers: readonly string[]) => Move | Promise<Move>;

type Json = { readonly [name: string]: unknown };

/** A tool that the client offers to the model. Some clients put the tools of a server into a namespace. */
interface Offered {
  readonly name: string;
  readonly namespace?: string;
  /** True if the tool takes one text, named `input`, instead of JSON arguments. */
  readonly custom?: boolean;
}

const ANTHROPIC_USAGE = { input_tokens: 10, output_tokens: 5 };
const ANTHROPIC_MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'fake',
  stop_sequence: null,
};
const OPENAI_USAGE = {
  input_tokens: 10,
  input_tokens_details: null,
  output_tokens: 5,
  output_tokens_details: null,
  total_tokens: 15,
};

/**
 * A fake model on loopback for coding agents, in the formats of Anthropic Messages, OpenAI Responses and Gemini. It
 * records all requests. The script decides the answer if the request offers the marker tool. Other requests, such as
 * for a title or a summary, are answered with `words`.
 */
export class FakeModel implements AsyncDisposable {
  readonly requests: Asked[] = [];
  /** Answer to requests without the marker tool. */
  reply = 'All is well.';
  readonly #script: Script;
  readonly #marker: string;
  #calls = 0;
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error) => response.writeHead(500).end(String(error)));
  });

  /** `marker` is a tool that only requests of the main conversation offer; by default a tool of the relay. */
  constructor(script: Script = () => ({ text: this.reply }), marker = 'push_context') {
    this.#script = script;
    this.#marker = marker;
  }

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
    let body = '';
    for await (const chunk of request) body += chunk;
    const path = request.url ?? '/';
    if (request.method === 'POST') this.requests.push({ path, body });
    if (/\/v1\/messages\/count_tokens/.test(path)) return json(response, { input_tokens: 10 });
    if (/\/v1\/messages/.test(path)) return this.#sayAnthropic(response, JSON.parse(body));
    if (/\/responses(?:\?|$)/.test(path)) return this.#sayOpenai(response, JSON.parse(body));
    if (/:streamGenerateContent/.test(path)) return events(response, [await this.#gemini(JSON.parse(body))]);
    if (/:generateContent/.test(path)) return json(response, await this.#gemini(JSON.parse(body)));
    if (/:countTokens/.test(path)) return json(response, { totalTokens: 10 });
    if (/\/models/.test(path)) return json(response, { data: [], models: [] });
    return json(response, {});
  }

  /** Returns the next move. `call` has the tool's name as the client offers it. */
  async #move(body: Json, answers: readonly string[]): Promise<{ move: Move; call: Offered; id: string }> {
    const offered = toolNames((body.tools ?? []) as Json[]);
    const ours = offered.some(({ name }) => name.endsWith(this.#marker));
    const move = ours ? await this.#script(answers) : { text: this.reply };
    const call = 'tool' in move ? offeredAs(offered, move.tool) : { name: '' };
    if (!call) throw new Error(`${(move as { tool: string }).tool} is not offered`);
    return { move, call, id: `call_${++this.#calls}` };
  }

  async #sayAnthropic(response: ServerResponse, body: Json): Promise<void> {
    const { move, call, id } = await this.#move(body, anthropicResults(body));
    const message = { ...ANTHROPIC_MESSAGE, usage: ANTHROPIC_USAGE };
    const calls = 'tool' in move;
    const text = wordsOf(move);
    const textBlocks = text === undefined ? [] : [{ type: 'text', text }];
    const use = { type: 'tool_use', id, name: call.name, input: calls ? move.args : {} };
    const content = calls ? [...textBlocks, use] : textBlocks;
    const stop_reason = calls ? 'tool_use' : 'end_turn';
    if (body.stream !== true) return json(response, { ...message, content, stop_reason });
    const blocks = content.flatMap((block, index) => {
      const [empty, delta] =
        'text' in block
          ? [
              { ...block, text: '' },
              { type: 'text_delta', text: block.text },
            ]
          : [
              { ...block, input: {} },
              { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
            ];
      return [
        { type: 'content_block_start', index, content_block: empty },
        { type: 'content_block_delta', index, delta },
        { type: 'content_block_stop', index },
      ];
    });
    events(response, [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      ...blocks,
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: ANTHROPIC_USAGE },
      { type: 'message_stop' },
    ]);
  }

  async #sayOpenai(response: ServerResponse, body: Json): Promise<void> {
    const { move, call, id } = await this.#move(body, openaiResults(body));
    const text = wordsOf(move);
    const textBlocks =
      text === undefined
        ? []
        : [
            {
              type: 'message',
              role: 'assistant',
              id: `msg_${id}`,
              status: 'completed',
              content: [{ type: 'output_text', text, annotations: [] }],
            },
          ];
    const { custom, ...names } = call;
    const use = (args: object) =>
      custom
        ? { type: 'custom_tool_call', id: `ct_${id}`, call_id: id, ...names, ...args }
        : { type: 'function_call', id: `fc_${id}`, call_id: id, ...names, arguments: JSON.stringify(args) };
    const output: Json[] = [...textBlocks, ...('tool' in move ? [use(move.args)] : [])];
    events(response, [
      { type: 'response.created', response: { id: 'resp_1' } },
      ...output.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
      { type: 'response.completed', response: { id: 'resp_1', output, usage: OPENAI_USAGE } },
    ]);
  }

  async #gemini(body: Json): Promise<Json> {
    const { move, call } = await this.#move(body, geminiResults(body));
    const text = wordsOf(move);
    const parts = [
      ...(text === undefined ? [] : [{ text }]),
      ...('tool' in move ? [{ functionCall: { name: call.name, args: move.args } }] : []),
    ];
    return {
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
      modelVersion: 'fake',
    };
  }
}

function wordsOf(move: Move): string | undefined {
  return 'tool' in move ? move.say : move.text;
}

/** Finds an offered tool by its name without the prefix that clients add for the server. */
function offeredAs(offered: readonly Offered[], tool: string): Offered | undefined {
  return offered.find(({ name }) => name === tool) ?? offered.find(({ name }) => name.endsWith(tool));
}

function toolNames(tools: readonly Json[]): Offered[] {
  return tools.flatMap((tool): Offered[] => {
    if (tool.functionDeclarations) return toolNames(tool.functionDeclarations as Json[]);
    const name = String(tool.name ?? '');
    if (tool.type === 'namespace')
      return (tool.tools as Json[]).map((one) => ({ name: String(one.name), namespace: name }));
    return [{ name, ...(tool.type === 'custom' && { custom: true }) }];
  });
}

function anthropicResults(body: Json): string[] {
  const messages = (body.messages ?? []) as { content: string | Json[] }[];
  return messages
    .flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .filter(({ type }) => type === 'tool_result')
    .map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)));
}

function openaiResults(body: Json): string[] {
  const input = (body.input ?? []) as Json[];
  return input
    .filter(({ type }) => type === 'function_call_output')
    .map(({ output }) => (typeof output === 'string' ? output : JSON.stringify(output)));
}

function geminiResults(body: Json): string[] {
  const contents = (body.contents ?? []) as { parts?: Json[] }[];
  return contents
    .flatMap(({ parts = [] }) => parts)
    .filter(({ functionResponse }) => functionResponse !== undefined)
    .map(({ functionResponse }) => JSON.stringify(functionResponse));
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
}

function events(response: ServerResponse, list: readonly Json[]): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const data of list) {
    response.write(`${data.type ? `event: ${data.type}\n` : ''}data: ${JSON.stringify(data)}\n\n`);
  }
  response.end();
}
