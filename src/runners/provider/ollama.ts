import type { Model } from '../../client/prompts/types.ts';
import { type Connection, callProvider } from './http-call.ts';
import { gather, type Piece, parsePiece, streamLines } from './streamed-answer.ts';

interface Line {
  readonly message?: { readonly content?: string };
  readonly done?: boolean;
  readonly done_reason?: string;
  readonly prompt_eval_count?: number;
  readonly eval_count?: number;
  readonly error?: string;
}

/** Ollama's own chat, one JSON object a line. */
export function ollamaModel(connection: Connection, maxTokens: number): Model {
  const { provider, model } = connection;
  return {
    name: `${provider}/${model}`,
    async answer({ system, user }, o) {
      const body = {
        model,
        messages: [
          { role: 'system', content: system },
          { role: 'user', content: user },
        ],
        stream: true,
        options: { num_predict: maxTokens },
      };
      return gather(provider, pieces(await callProvider(connection, body, o.signal)), o);
    },
  };
}

async function* pieces(body: ReadableStream<Uint8Array>): AsyncGenerator<Piece> {
  for await (const line of streamLines(body)) {
    if (line.trim() === '') continue;
    const { message, done, done_reason, prompt_eval_count, eval_count, error } = parsePiece<Line>(line);
    yield {
      error,
      text: message?.content,
      done,
      cut: done_reason === 'length',
      input_tokens: prompt_eval_count,
      output_tokens: eval_count,
    };
  }
}
