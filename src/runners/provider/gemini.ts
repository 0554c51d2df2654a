import type { Round, ToolCall } from '../../client/prompts/types.ts';
import { eventData, type Format, NO_MESSAGE, type Piece, parsePiece } from './stream.ts';

interface Chunk {
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly Part[] };
    readonly finishReason?: string;
  }[];
  readonly promptFeedback?: { readonly blockReason?: string };
  readonly usageMetadata?: {
    readonly promptTokenCount?: number;
    readonly candidatesTokenCount?: number;
    readonly thoughtsTokenCount?: number;
    readonly cachedContentTokenCount?: number;
  };
  readonly error?: { readonly message?: string };
}

interface Part {
  readonly text?: string;
  readonly thought?: boolean;
  readonly functionCall?: { readonly id?: string; readonly name?: string; readonly args?: object };
}

/**
 * Format of Gemini's generateContent, as a stream. The parts of an answer are signed, so they are sent back
 * unchanged.
 */
export const gemini: Format = {
  body: ({ prompt, maxTokens, tools, rounds, last }) => ({
    systemInstruction: { parts: [{ text: prompt.system }] },
    contents: [{ role: 'user', parts: [{ text: prompt.user }] }, ...rounds.flatMap(turns)],
    tools: tools.length > 0 ? [{ functionDeclarations: tools }] : undefined,
    toolConfig: last && tools.length > 0 ? { functionCallingConfig: { mode: 'NONE' } } : undefined,
    generationConfig: { maxOutputTokens: maxTokens },
  }),
  async *pieces(body) {
    const turn: Part[] = [];
    for await (const data of eventData(body)) {
      const { candidates, promptFeedback, usageMetadata, error } = parsePiece<Chunk>(data);
      if (error) yield { error: error.message ?? NO_MESSAGE };
      if (promptFeedback?.blockReason) yield { done: true, refused: true };
      const { content, finishReason: reason } = candidates?.[0] ?? {};
      const parts = content?.parts ?? [];
      turn.push(...parts);
      for (const { text, thought } of parts) if (text && !thought) yield { text };
      yield counts(usageMetadata);
      const refused = reason !== undefined && REFUSALS.has(reason);
      if (reason && !refused && reason !== 'STOP' && reason !== 'MAX_TOKENS')
        yield { error: `it stopped: ${reason}` };
      if (reason) yield { done: true, cut: reason === 'MAX_TOKENS', refused, turn, calls: callsIn(turn) };
    }
  },
};

/** Reasons for which Gemini withholds an answer. */
const REFUSALS: ReadonlySet<string> = new Set([
  'SAFETY',
  'RECITATION',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
]);

function callsIn(turn: readonly Part[]): ToolCall[] {
  const called = turn.flatMap(({ functionCall }) => functionCall ?? []);
  return called.map(({ id = '', name = '', args = {} }) => ({ id, name, arguments: JSON.stringify(args) }));
}

function turns({ answer: { calls = [], turn }, results }: Round): object[] {
  const toolResults = calls.map(({ id, name }, at) => ({
    functionResponse: { ...(id ? { id } : {}), name, response: { result: results[at] } },
  }));
  return [
    { role: 'model', parts: turn },
    { role: 'user', parts: toolResults },
  ];
}

/**
 * Returns the token counts. Each chunk has the totals until then. Thoughts count as output, because they are
 * billed as output.
 */
function counts(usage: Chunk['usageMetadata']): Piece {
  if (!usage) return {};
  const { promptTokenCount, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = usage;
  return {
    input_tokens: promptTokenCount,
    output_tokens: candidatesTokenCount + thoughtsTokenCount,
    cached_input_tokens: usage.cachedContentTokenCount,
  };
}
