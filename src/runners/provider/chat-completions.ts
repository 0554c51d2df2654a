import type { PromptText, Round } from '../../client/prompts/types.ts';
import { eventData, type Format, functionTool, NO_MESSAGE, parsePiece, toolList } from './stream.ts';

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly refusal?: string | null;
      readonly reasoning_content?: string | null;
      readonly tool_calls?: readonly CallPiece[] | null;
    };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: {
    readonly prompt_tokens?: number;
    readonly completion_tokens?: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null;
  } | null;
  readonly error?: { readonly message?: string };
}

interface CallPiece {
  readonly index?: number;
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}

/**
 * Format of chat completions, the API of OpenAI and of compatible servers. `limit` is the field for the
 * maximum number of tokens: newer OpenAI models accept only `max_completion_tokens`, most other servers only
 * `max_tokens`.
 */
export function chatCompletions(limit: 'max_tokens' | 'max_completion_tokens'): Format {
  return {
    body: ({ prompt, model, maxTokens, tools, rounds, last }) => ({
      model,
      [limit]: maxTokens,
      // This field is sent only to OpenAI, which alone accepts a cache key. Only OpenAI uses
      // `max_completion_tokens`.
      prompt_cache_key: limit === 'max_completion_tokens' ? prompt.cacheKey : undefined,
      messages: [...systemAndUser(prompt), ...rounds.flatMap(turns)],
      tools: toolList(tools, functionTool),
      tool_choice: last && tools.length > 0 ? 'none' : undefined,
      stream: true,
      stream_options: { include_usage: true },
    }),
    async *pieces(body) {
      let text = '';
      let reasoning = '';
      const parts = new Map<number, CallPiece>();
      for await (const data of eventData(body)) {
        if (data === '[DONE]') {
          yield { done: true };
          continue;
        }
        const { choices, usage, error } = parsePiece<Chunk>(data);
        if (error) yield { error: error.message ?? NO_MESSAGE };
        const choice = choices?.[0];
        const { content, refusal, reasoning_content, tool_calls } = choice?.delta ?? {};
        text += content ?? '';
        reasoning += reasoning_content ?? '';
        for (const piece of tool_calls ?? []) addCall(parts, piece);
        const ended = typeof choice?.finish_reason === 'string';
        yield {
          text: content ?? refusal ?? undefined,
          refused: Boolean(refusal) || choice?.finish_reason === 'content_filter',
          cut: choice?.finish_reason === 'length',
          done: ended,
          input_tokens: usage?.prompt_tokens,
          output_tokens: usage?.completion_tokens,
          cached_input_tokens: usage?.prompt_tokens_details?.cached_tokens,
          ...(ended ? answered(text, reasoning, [...parts.values()]) : {}),
        };
      }
    },
  };
}

/**
 * Adds a piece of a tool call. The index may be missing if a server sends the whole call in one piece.
 * Unknown fields are kept, because they must be sent back.
 */
function addCall(parts: Map<number, CallPiece>, piece: CallPiece): void {
  const { index = parts.size, ...fields } = piece;
  const before = parts.get(index);
  const joined = (field: 'name' | 'arguments') =>
    (before?.function?.[field] ?? '') + (piece.function?.[field] ?? '');
  const called = { name: joined('name'), arguments: joined('arguments') };
  parts.set(index, { id: `call_${index}`, ...before, ...fields, function: called });
}

function answered(text: string, reasoning: string, parts: readonly CallPiece[]) {
  const tool_calls = parts.map((part) => ({ type: 'function', ...part }));
  const message = {
    role: 'assistant',
    content: text === '' ? null : text,
    // Some servers reject the next round without this field.
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    tool_calls,
  };
  const calls = parts.map(({ id = '', function: called }) => ({
    id,
    name: called?.name ?? '',
    arguments: called?.arguments || '{}',
  }));
  return { calls, turn: [message] };
}

function turns({ answer: { calls = [], turn = [] }, results }: Round): object[] {
  const toolResults = calls.map(({ id }, at) => ({ role: 'tool', tool_call_id: id, content: results[at] }));
  return [...turn, ...toolResults];
}

export function systemAndUser({ system, user }: PromptText): object[] {
  return [
    { role: 'system', content: system },
    { role: 'user', content: user },
  ];
}
