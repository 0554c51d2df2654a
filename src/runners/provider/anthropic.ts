import type { Model } from '../../client/prompts/types.ts';
import { type Connection, callProvider } from './http-call.ts';
import { eventData, gather, type Piece, parsePiece } from './streamed-answer.ts';

interface Event {
  readonly type: string;
  readonly message?: { readonly usage?: Usage };
  readonly delta?: { readonly type?: string; readonly text?: string; readonly stop_reason?: string };
  readonly usage?: Usage;
  readonly error?: { readonly message?: string };
}

interface Usage {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cache_creation_input_tokens?: number;
  readonly cache_read_input_tokens?: number;
}

/** The Messages API. */
export function anthropicModel(connection: Connection, maxTokens: number): Model {
  const { provider, model } = connection;
  return {
    name: `${provider}/${model}`,
    async answer({ system, user }, o) {
      const body = {
        model,
        max_tokens: maxTokens,
        system,
        messages: [{ role: 'user', content: user }],
        stream: true,
      };
      return gather(provider, pieces(await callProvider(connection, body, o.signal)), o);
    },
  };
}

async function* pieces(body: ReadableStream<Uint8Array>): AsyncGenerator<Piece> {
  for await (const data of eventData(body)) {
    const event = parsePiece<Event>(data);
    if (event.type === 'error') yield { error: event.error?.message ?? 'an error without words' };
    else if (event.type === 'message_start') yield counts(event.message?.usage);
    else if (event.type === 'content_block_delta') yield { text: event.delta?.text };
    else if (event.type === 'message_delta') {
      const { output_tokens } = counts(event.usage);
      yield { output_tokens, cut: event.delta?.stop_reason === 'max_tokens' };
    } else if (event.type === 'message_stop') yield { done: true };
  }
}

/** Everything that was read is billed, from a cache or not. */
function counts(usage: Usage | undefined): Piece {
  if (!usage) return {};
  const { input_tokens, cache_creation_input_tokens = 0, cache_read_input_tokens = 0, output_tokens } = usage;
  const input =
    input_tokens === undefined
      ? undefined
      : input_tokens + cache_creation_input_tokens + cache_read_input_tokens;
  return { input_tokens: input, output_tokens };
}
