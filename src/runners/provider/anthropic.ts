import { jsonObjectIn } from '../../base/json.ts';
import type { PromptText, Round, ToolCall } from '../../client/prompts/types.ts';
import { eventData, type Format, NO_MESSAGE, type Piece, parsePiece, toolList } from './stream.ts';

interface Event {
  readonly type: string;
  readonly index?: number;
  readonly message?: { readonly usage?: Usage };
  readonly content_block?: Block;
  readonly delta?: {
    readonly text?: string;
    readonly partial_json?: string;
    readonly thinking?: string;
    readonly signature?: string;
    readonly stop_reason?: string;
  };
  readonly usage?: Usage;
  readonly error?: { readonly message?: string };
}

interface Usage {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cache_creation_input_tokens?: number | null;
  readonly cache_read_input_tokens?: number | null;
}

interface Block {
  readonly type: string;
  readonly id?: string;
  readonly name?: string;
  text?: string;
  thinking?: string;
  signature?: string;
}

/**
 * Field at the end of the part of a prompt that the provider should cache. The next question or round begins
 * with this part, which then costs less.
 */
const MARK = { cache_control: { type: 'ephemeral' } };

/** Format of Anthropic's Messages API. */
export const anthropic: Format = {
  body: ({ prompt, model, maxTokens, tools, rounds, last }) => ({
    model,
    max_tokens: maxTokens,
    system: [{ type: 'text', text: prompt.system, ...MARK }],
    messages: [
      { role: 'user', content: userBlocks(prompt) },
      ...rounds.flatMap((round, at) => turns(round, at === rounds.length - 1)),
    ],
    tools: toolList(tools, ({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
    tool_choice: last && tools.length > 0 ? { type: 'none' } : undefined,
    stream: true,
  }),
  async *pieces(body) {
    const blocks = new Map<number, Block>();
    const inputs = new Map<number, string>();
    for await (const data of eventData(body)) {
      const { type, index = 0, ...event } = parsePiece<Event>(data);
      if (type === 'error') yield { error: event.error?.message ?? NO_MESSAGE };
      else if (type === 'message_start') yield counts(event.message?.usage);
      else if (type === 'content_block_start' && event.content_block) blocks.set(index, event.content_block);
      else if (type === 'content_block_delta') {
        const { text, partial_json = '', thinking, signature } = event.delta ?? {};
        const block = blocks.get(index) ?? { type: 'text' };
        blocks.set(index, block);
        inputs.set(index, (inputs.get(index) ?? '') + partial_json);
        if (text) block.text = (block.text ?? '') + text;
        if (thinking) block.thinking = (block.thinking ?? '') + thinking;
        if (signature) block.signature = (block.signature ?? '') + signature;
        yield { text };
      } else if (type === 'message_delta') {
        const { output_tokens } = counts(event.usage);
        const reason = event.delta?.stop_reason;
        yield { output_tokens, cut: reason === 'max_tokens', refused: reason === 'refusal' };
      } else if (type === 'message_stop') yield { done: true, ...assembleTurn(blocks, inputs) };
    }
  },
};

function userBlocks({ user, stable }: PromptText): object[] {
  if (!stable || stable === user || !user.startsWith(stable)) return [{ type: 'text', text: user }];
  return [
    { type: 'text', text: stable, ...MARK },
    { type: 'text', text: user.slice(stable.length) },
  ];
}

function turns({ answer: { calls = [], turn }, results }: Round, isLast: boolean): object[] {
  const toolResults = calls.map(({ id }, at) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: results[at],
    ...(isLast && at === calls.length - 1 ? MARK : {}),
  }));
  return [
    { role: 'assistant', content: turn },
    { role: 'user', content: toolResults },
  ];
}

function assembleTurn(blocks: ReadonlyMap<number, Block>, inputs: ReadonlyMap<number, string>): Piece {
  const calls: ToolCall[] = [];
  const turn: object[] = [];
  for (const [index, block] of blocks) {
    const { type, id = '', name = '' } = block;
    const written = inputs.get(index) || '{}';
    if (type === 'tool_use') {
      calls.push({ id, name, arguments: written });
      // Replace arguments that are invalid JSON with an empty object. The result of the call then tells the
      // model which arguments are missing.
      turn.push({ ...block, input: jsonObjectIn(written) ?? {} });
      // Leave out empty text, because the API rejects it.
    } else if (type !== 'text' || block.text?.trim()) turn.push(block);
  }
  return { calls, turn };
}

/** Returns the token counts. Cached input is counted as input too, because it is billed. */
function counts(usage: Usage = {}): Piece {
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = usage;
  if (input_tokens === undefined) return { output_tokens };
  const cached = cache_read_input_tokens ?? 0;
  return {
    input_tokens: input_tokens + (cache_creation_input_tokens ?? 0) + cached,
    output_tokens,
    ...(cache_read_input_tokens == null ? {} : { cached_input_tokens: cached }),
  };
}
