import type { Round } from '../../client/prompts/types.ts';
import { eventData, type Format, NO_MESSAGE, type Piece, parsePiece, toolList } from './stream.ts';

interface Event {
  readonly type: string;
  readonly delta?: string;
  readonly item?: Item;
  readonly response?: {
    readonly usage?: {
      readonly input_tokens?: number;
      readonly output_tokens?: number;
      readonly input_tokens_details?: { readonly cached_tokens?: number };
    } | null;
    readonly incomplete_details?: { readonly reason?: string } | null;
    readonly error?: { readonly message?: string } | null;
  };
  readonly message?: string;
  readonly error?: { readonly message?: string };
}

interface Item {
  readonly type: string;
  readonly id?: string;
  readonly encrypted_content?: string;
  readonly call_id?: string;
  readonly name?: string;
  readonly arguments?: string;
}

/**
 * Matches models with reasoning. Only these models are asked for encrypted reasoning, because other models reject
 * such a request.
 */
const THINKING = /^(?:o\d|gpt-[5-9])(?!.*chat)/;

/**
 * Format of OpenAI's Responses API. Nothing is stored on the server. So the reasoning between two calls is
 * sent back, in encrypted form.
 */
export const responses: Format = {
  body: ({ prompt, model, maxTokens, tools, rounds, last }) => ({
    model,
    instructions: prompt.system,
    input: [{ role: 'user', content: prompt.user }, ...rounds.flatMap(turns)],
    max_output_tokens: maxTokens,
    tools: toolList(tools, (tool) => ({ type: 'function', ...tool, strict: false })),
    tool_choice: last && tools.length > 0 ? 'none' : undefined,
    // OpenAI lets prompts with the same key share a cache.
    prompt_cache_key: prompt.cacheKey,
    store: false,
    include: THINKING.test(model) ? ['reasoning.encrypted_content'] : undefined,
    stream: true,
  }),
  async *pieces(body) {
    const items: Item[] = [];
    for await (const data of eventData(body)) {
      const { type, delta, item, response, ...event } = parsePiece<Event>(data);
      if (type === 'response.output_text.delta') yield { text: delta };
      else if (type === 'response.refusal.delta') yield { text: delta, refused: true };
      else if (type === 'response.output_item.done' && item) items.push(item);
      else if (type === 'response.completed') yield { done: true, ...ended(items, response) };
      else if (type === 'response.incomplete') {
        const reason = response?.incomplete_details?.reason;
        if (reason === 'max_output_tokens') yield { done: true, cut: true, ...ended(items, response) };
        else if (reason === 'content_filter') yield { done: true, refused: true, ...ended(items, response) };
        else yield { error: `it stopped: ${reason ?? NO_MESSAGE}` };
      } else if (type === 'response.failed') yield { error: response?.error?.message ?? NO_MESSAGE };
      else if (type === 'error') yield { error: event.message ?? event.error?.message ?? NO_MESSAGE };
    }
  },
};

function ended(items: readonly Item[], response: Event['response']): Piece {
  const called = items.filter(({ type }) => type === 'function_call');
  const { usage } = response ?? {};
  return {
    calls: called.map(({ call_id = '', name = '', arguments: written }) => ({
      id: call_id,
      name,
      arguments: written || '{}',
    })),
    turn: items.flatMap(sentBack),
    input_tokens: usage?.input_tokens,
    output_tokens: usage?.output_tokens,
    cached_input_tokens: usage?.input_tokens_details?.cached_tokens,
  };
}

/**
 * Returns an item in the form in which it is sent back. Reasoning without encrypted content is stored
 * nowhere. So it is left out, and calls must not refer to its id.
 */
function sentBack({ id, ...item }: Item): object[] {
  if (item.type === 'function_call') return [item];
  return item.type === 'reasoning' && !item.encrypted_content ? [] : [{ id, ...item }];
}

function turns({ answer: { calls = [], turn = [] }, results }: Round): object[] {
  const toolResults = calls.map(({ id }, at) => ({
    type: 'function_call_output',
    call_id: id,
    output: results[at],
  }));
  return [...turn, ...toolResults];
}
