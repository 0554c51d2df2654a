import type { PromptText } from '../../client/prompts/types.ts';
import { eventData, type Piece, parsePiece, streamLines } from './streamed-answer.ts';

/** How a provider is asked, and what the stream of its answer says. */
export interface Format {
  body(prompt: PromptText, model: string, maxTokens: number): object;
  pieces(body: ReadableStream<Uint8Array>): AsyncIterable<Piece>;
}

interface AnthropicEvent {
  readonly type: string;
  readonly message?: { readonly usage?: AnthropicUsage };
  readonly delta?: { readonly type?: string; readonly text?: string; readonly stop_reason?: string };
  readonly usage?: AnthropicUsage;
  readonly error?: { readonly message?: string };
}

interface AnthropicUsage {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cache_creation_input_tokens?: number;
  readonly cache_read_input_tokens?: number;
}

/** The Messages API. */
export const anthropic: Format = {
  body: ({ system, user }, model, maxTokens) => ({
    model,
    max_tokens: maxTokens,
    system,
    messages: [{ role: 'user', content: user }],
    stream: true,
  }),
  async *pieces(body) {
    for await (const data of eventData(body)) {
      const event = parsePiece<AnthropicEvent>(data);
      if (event.type === 'error') yield { error: event.error?.message ?? 'an error without words' };
      else if (event.type === 'message_start') yield anthropicCounts(event.message?.usage);
      else if (event.type === 'content_block_delta') yield { text: event.delta?.text };
      else if (event.type === 'message_delta') {
        const { output_tokens } = anthropicCounts(event.usage);
        yield { output_tokens, cut: event.delta?.stop_reason === 'max_tokens' };
      } else if (event.type === 'message_stop') yield { done: true };
    }
  },
};

/** Everything that was read is billed, from a cache or not. */
function anthropicCounts(usage: AnthropicUsage = {}): Piece {
  const { input_tokens, cache_creation_input_tokens = 0, cache_read_input_tokens = 0, output_tokens } = usage;
  if (input_tokens === undefined) return { output_tokens };
  return {
    input_tokens: input_tokens + cache_creation_input_tokens + cache_read_input_tokens,
    output_tokens,
  };
}

interface ChatChunk {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
  readonly error?: { readonly message?: string };
}

/**
 * Chat completions, which OpenAI and everybody compatible with it speak. Newer models of OpenAI take only the new name of
 * the limit, most others only the old one.
 */
export function chatCompletions(limit: 'max_tokens' | 'max_completion_tokens'): Format {
  return {
    body: (prompt, model, maxTokens) => ({
      model,
      [limit]: maxTokens,
      messages: systemAndUser(prompt),
      stream: true,
      stream_options: { include_usage: true },
    }),
    async *pieces(body) {
      for await (const data of eventData(body)) {
        if (data === '[DONE]') {
          yield { done: true };
          continue;
        }
        const { choices, usage, error } = parsePiece<ChatChunk>(data);
        if (error) yield { error: error.message ?? 'an error without words' };
        const choice = choices?.[0];
        yield {
          text: choice?.delta?.content ?? undefined,
          cut: choice?.finish_reason === 'length',
          done: typeof choice?.finish_reason === 'string',
          input_tokens: usage?.prompt_tokens,
          output_tokens: usage?.completion_tokens,
        };
      }
    },
  };
}

interface OllamaLine {
  readonly message?: { readonly content?: string };
  readonly done?: boolean;
  readonly done_reason?: string;
  readonly prompt_eval_count?: number;
  readonly eval_count?: number;
  readonly error?: string;
}

/** Ollama's own chat, one JSON object a line. */
export const ollama: Format = {
  body: (prompt, model, maxTokens) => ({
    model,
    messages: systemAndUser(prompt),
    stream: true,
    options: { num_predict: maxTokens },
  }),
  async *pieces(body) {
    for await (const line of streamLines(body)) {
      if (line.trim() === '') continue;
      const { message, done, done_reason, prompt_eval_count, eval_count, error } =
        parsePiece<OllamaLine>(line);
      yield {
        error,
        text: message?.content,
        done,
        cut: done_reason === 'length',
        input_tokens: prompt_eval_count,
        output_tokens: eval_count,
      };
    }
  },
};

function systemAndUser({ system, user }: PromptText) {
  return [
    { role: 'system', content: system },
    { role: 'user', content: user },
  ];
}
