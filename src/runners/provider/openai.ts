import type { Model } from '../../client/prompts/types.ts';
import { type Connection, callProvider } from './http-call.ts';
import { eventData, gather, type Piece, parsePiece } from './streamed-answer.ts';

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
  readonly error?: { readonly message?: string };
}

/** Chat completions, which OpenAI and everybody compatible with it speak. */
export function openaiModel(connection: Connection, maxTokens: number): Model {
  const { provider, model } = connection;
  // Newer models of OpenAI take only the new name, most others only the old one.
  const limit = provider === 'openai' ? { max_completion_tokens: maxTokens } : { max_tokens: maxTokens };
  return {
    name: `${provider}/${model}`,
    async answer({ system, user }, o) {
      const body = {
        model,
        ...limit,
        messages: [
          { role: 'system', content: system },
          { role: 'user', content: user },
        ],
        stream: true,
        stream_options: { include_usage: true },
      };
      return gather(provider, pieces(await callProvider(connection, body, o.signal)), o);
    },
  };
}

async function* pieces(body: ReadableStream<Uint8Array>): AsyncGenerator<Piece> {
  for await (const data of eventData(body)) {
    if (data === '[DONE]') {
      yield { done: true };
      continue;
    }
    const { choices, usage, error } = parsePiece<Chunk>(data);
    if (error) yield { error: error.message ?? 'an error without words' };
    const choice = choices?.[0];
    const finish = choice?.finish_reason;
    yield {
      text: choice?.delta?.content ?? undefined,
      cut: finish === 'length',
      done: typeof finish === 'string',
      input_tokens: usage?.prompt_tokens,
      output_tokens: usage?.completion_tokens,
    };
  }
}
