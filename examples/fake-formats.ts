/** The parts of a request that every format has. */
export interface AskedText {
  readonly system: string;
  readonly user: string;
  readonly maxTokens: number | undefined;
  /** Names of the tools that the model may call. */
  readonly tools: readonly string[];
  /** Results of the tool calls in all rounds so far. */
  readonly results: readonly string[];
}

export interface FakeCall {
  readonly name: string;
  /** An object, or text that is not valid JSON, as models sometimes write. */
  readonly arguments: object | string;
}

export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

/** A provider's format from the server's side: parses a request and writes the stream of an answer. */
export interface FakeFormat {
  readonly at: RegExp;
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever a client sent
  read(body: any): AskedText;
  piece(text: string): string;
  /** Writes tool calls in pieces, as real providers do. `text` is the answer's text before them. */
  calls(calls: readonly FakeCall[], text: string): string[];
  end(usage: Usage, cut: boolean, calls: readonly FakeCall[], refused: boolean): string;
}

type Fields = { readonly [name: string]: unknown };
// biome-ignore lint/suspicious/noExplicitAny: whatever a client sent
type Sent = any;

const event = (data: Fields & { type: string }) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const line = (value: unknown) => `${JSON.stringify(value)}\n`;
const json = (call: FakeCall) =>
  typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments);
const halves = (text: string) => [text.slice(0, text.length / 2), text.slice(text.length / 2)];
const contentText = (content: Sent): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text }: Sent) => text ?? '').join('');
const messageText = (messages: Sent[] | undefined, role: string) =>
  contentText(messages?.find((message) => message.role === role)?.content);

const anthropic: FakeFormat = {
  at: /\/v1\/messages$/,
  type: 'text/event-stream',
  read: (body) => ({
    system: contentText(body.system),
    user: messageText(body.messages, 'user'),
    maxTokens: body.max_tokens,
    tools: (body.tools ?? []).map(({ name }: Sent) => name),
    results: body.messages.flatMap(({ content }: Sent) =>
      typeof content === 'string'
        ? []
        : content
            .filter(({ type }: Sent) => type === 'tool_result')
            .map((one: Sent) => contentText(one.content)),
    ),
  }),
  piece: (text) => event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  calls: (calls) =>
    calls.flatMap((call, at) => {
      const block = { type: 'tool_use', id: `toolu_${at}`, name: call.name, input: {} };
      const delta = (partial_json: string) =>
        event({
          type: 'content_block_delta',
          index: at + 1,
          delta: { type: 'input_json_delta', partial_json },
        });
      return [
        event({ type: 'content_block_start', index: at + 1, content_block: block }),
        ...halves(json(call)).map(delta),
      ];
    }),
  end: ({ input, output, cached }, cut, calls, refused) =>
    event({
      type: 'message_start',
      message: {
        usage: { input_tokens: input - cached, cache_read_input_tokens: cached, output_tokens: 1 },
      },
    }) +
    event({
      type: 'message_delta',
      delta: {
        stop_reason: refused ? 'refusal' : cut ? 'max_tokens' : calls.length > 0 ? 'tool_use' : 'end_turn',
      },
      usage: { output_tokens: output },
    }) +
    event({ type: 'message_stop' }),
};

const chat: FakeFormat = {
  at: /\/chat\/completions$/,
  type: 'text/event-stream',
  read: (body) => ({
    system: messageText(body.messages, 'system'),
    user: messageText(body.messages, 'user'),
    maxTokens: body.max_tokens ?? body.max_completion_tokens,
    tools: (body.tools ?? []).map((tool: Sent) => tool.function.name),
    results: body.messages.filter(({ role }: Sent) => role === 'tool').map(({ content }: Sent) => content),
  }),
  piece: (content) => data({ choices: [{ index: 0, delta: { content }, finish_reason: null }], usage: null }),
  calls: (calls) =>
    calls.flatMap((call, index) => {
      const delta = (fields: Fields) =>
        data({ choices: [{ index: 0, delta: { tool_calls: [{ index, ...fields }] }, finish_reason: null }] });
      return [
        delta({ id: `call_x${index}`, type: 'function', function: { name: call.name, arguments: '' } }),
        ...halves(json(call)).map((part) => delta({ function: { arguments: part } })),
      ];
    }),
  end: ({ input, output, cached }, cut, calls, refused) => {
    const finish_reason = refused
      ? 'content_filter'
      : cut
        ? 'length'
        : calls.length > 0
          ? 'tool_calls'
          : 'stop';
    const prompt_tokens_details = { cached_tokens: cached };
    return (
      data({ choices: [{ index: 0, delta: {}, finish_reason }] }) +
      data({
        choices: [],
        usage: { prompt_tokens: input, completion_tokens: output, prompt_tokens_details },
      }) +
      'data: [DONE]\n\n'
    );
  },
};

const responses: FakeFormat = {
  at: /\/responses$/,
  type: 'text/event-stream',
  read: (body) => ({
    system: body.instructions,
    user: messageText(body.input, 'user'),
    maxTokens: body.max_output_tokens,
    tools: (body.tools ?? []).map(({ name }: Sent) => name),
    results: body.input
      .filter(({ type }: Sent) => type === 'function_call_output')
      .map(({ output }: Sent) => output),
  }),
  piece: (delta) => event({ type: 'response.output_text.delta', delta }),
  calls: (calls, text) => [
    event({
      type: 'response.output_item.done',
      item: { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] },
    }),
    ...calls.flatMap((call, at) => [
      ...halves(json(call)).map((delta) => event({ type: 'response.function_call_arguments.delta', delta })),
      event({
        type: 'response.output_item.done',
        item: {
          type: 'function_call',
          id: `fc_${at}`,
          call_id: `call_r${at}`,
          name: call.name,
          arguments: json(call),
        },
      }),
    ]),
  ],
  end: ({ input, output, cached }, cut, _calls, refused) => {
    const usage = {
      input_tokens: input,
      output_tokens: output,
      input_tokens_details: { cached_tokens: cached },
    };
    const reason = refused ? 'content_filter' : 'max_output_tokens';
    const incomplete_details = cut || refused ? { reason } : null;
    return event({
      type: incomplete_details ? 'response.incomplete' : 'response.completed',
      response: { usage, incomplete_details },
    });
  },
};

const gemini: FakeFormat = {
  at: /:streamGenerateContent/,
  type: 'text/event-stream',
  read: (body) => ({
    system: contentText(body.systemInstruction.parts),
    user: contentText(body.contents[0].parts),
    maxTokens: body.generationConfig.maxOutputTokens,
    tools: (body.tools ?? []).flatMap((tool: Sent) =>
      tool.functionDeclarations.map(({ name }: Sent) => name),
    ),
    results: body.contents.flatMap(({ parts }: Sent) =>
      parts.flatMap(({ functionResponse }: Sent) => functionResponse?.response.result ?? []),
    ),
  }),
  piece: (text) => data({ candidates: [{ content: { role: 'model', parts: [{ text }] } }] }),
  calls: (calls) =>
    calls.map((call) => {
      const functionCall = { name: call.name, args: call.arguments };
      const parts = [{ functionCall, thoughtSignature: 'c2lnbmVk' }];
      return data({ candidates: [{ content: { role: 'model', parts } }] });
    }),
  end: ({ input, output, cached }, cut, _calls, refused) =>
    data({
      candidates: [
        { content: { parts: [] }, finishReason: refused ? 'SAFETY' : cut ? 'MAX_TOKENS' : 'STOP' },
      ],
      usageMetadata: {
        promptTokenCount: input,
        candidatesTokenCount: output,
        cachedContentTokenCount: cached,
      },
    }),
};

const ollama: FakeFormat = {
  at: /\/api\/chat$/,
  type: 'application/x-ndjson',
  read: (body) => ({ ...chat.read(body), maxTokens: body.options?.num_predict }),
  piece: (content) => line({ message: { role: 'assistant', content }, done: false }),
  calls: (calls) =>
    calls.map((call) => {
      const tool_calls = [{ function: { name: call.name, arguments: call.arguments } }];
      return line({ message: { role: 'assistant', content: '', tool_calls }, done: false });
    }),
  end: ({ input, output }, cut) =>
    line({
      message: { role: 'assistant', content: '' },
      done: true,
      done_reason: cut ? 'length' : 'stop',
      prompt_eval_count: input,
      eval_count: output,
    }),
};

export const FAKE_FORMATS: readonly FakeFormat[] = [anthropic, chat, responses, gemini, ollama];
