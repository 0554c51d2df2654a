import { isRelayError, RelayError } from '../../base/errors.ts';
import { PROVIDER_EVENT_CHARS } from '../../base/limits.ts';
import type { AnswerOptions, ModelAnswer, PromptText, Tool, ToolUse } from '../../client/prompts/types.ts';

/** How to build a request to a provider and parse its stream. */
export interface Format {
  body(asking: ModelRequest): object;
  pieces(body: ReadableStream<Uint8Array>): AsyncIterable<Piece>;
}

export interface ModelRequest extends ToolUse {
  readonly prompt: PromptText;
  readonly model: string;
  readonly maxTokens: number;
}

/**
 * One piece of a stream, in a form for all providers. Texts are joined. Counts and calls of a later piece
 * replace those of an earlier one.
 */
export interface Piece extends Pick<ModelAnswer, 'calls' | 'turn' | 'cut' | 'refused'> {
  readonly text?: string;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cached_input_tokens?: number;
  readonly done?: boolean;
  readonly error?: string;
}

export const NO_MESSAGE = 'an error without a message';

/**
 * Converts the tools of a request. Returns undefined if there are none, because some providers reject an
 * empty list.
 */
export function toolList<T>(tools: readonly Tool[], convert: (tool: Tool) => T): T[] | undefined {
  return tools.length > 0 ? tools.map(convert) : undefined;
}

/** Returns a tool in the format of OpenAI's chat API, which other providers use too. */
export function functionTool({ name, description, parameters }: Tool) {
  return { type: 'function', function: { name, description, parameters } };
}

/**
 * Assembles an answer from its stream. If the stream ends too early, throws, so that an incomplete answer is
 * not taken for a complete one.
 */
export async function gather(
  provider: string,
  pieces: AsyncIterable<Piece>,
  o: AnswerOptions,
): Promise<ModelAnswer> {
  const texts: string[] = [];
  const counts: { input_tokens?: number; output_tokens?: number; cached_input_tokens?: number } = {};
  let ending: Pick<ModelAnswer, 'calls' | 'turn'> = {};
  let cut = false;
  let refused = false;
  let done = false;
  try {
    for await (const piece of pieces) {
      if (piece.error !== undefined) throw new RelayError('provider_failed', { provider, what: piece.error });
      if (piece.text) {
        texts.push(piece.text);
        o.onText?.(piece.text);
      }
      for (const name of COUNTS) counts[name] = piece[name] ?? counts[name];
      if (piece.calls?.length) ending = { calls: piece.calls, turn: piece.turn };
      cut ||= piece.cut === true;
      refused ||= piece.refused === true;
      done ||= piece.done === true;
    }
  } catch (error) {
    if (isRelayError(error)) throw error;
    if (o.signal?.aborted) throw new RelayError('aborted', { what: 'the prompt was canceled' }, error);
    throw new RelayError('provider_failed', { provider, what: (error as Error).message }, error);
  }
  if (!done)
    throw new RelayError('provider_failed', {
      provider,
      what: 'the connection ended before the answer was complete',
    });
  const { input_tokens, output_tokens, cached_input_tokens } = counts;
  const cached = cached_input_tokens === undefined ? {} : { cached_input_tokens };
  const isBilled = input_tokens !== undefined || output_tokens !== undefined;
  const billed = { input_tokens: input_tokens ?? 0, output_tokens: output_tokens ?? 0, ...cached };
  return {
    text: texts.join(''),
    ...(isBilled ? { billed } : {}),
    ...(cut ? { cut } : {}),
    ...(refused ? { refused } : {}),
    ...ending,
  };
}

const COUNTS = ['input_tokens', 'output_tokens', 'cached_input_tokens'] as const;

/** Parses JSON. Throws an error that quotes invalid data. */
export function parsePiece<T>(data: string): T {
  try {
    return JSON.parse(data) as T;
  } catch {
    throw new Error(`it sent data that is not JSON: ${data.slice(0, 80)}`);
  }
}

/** Yields the lines of a body as they arrive, without line ends. */
export async function* streamLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let at = rest.indexOf('\n'); at >= 0; at = rest.indexOf('\n', from)) {
      yield rest.slice(from, rest[at - 1] === '\r' && at > from ? at - 1 : at);
      from = at + 1;
    }
    rest = rest.slice(from);
    if (rest.length > PROVIDER_EVENT_CHARS) throw new Error('it sent a line that is too long');
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}

/** Yields the data of server-sent events. Event names and comments are skipped: the name is in the data too. */
export async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let data: string[] = [];
  for await (const line of streamLines(body)) {
    if (line === '') {
      if (data.length > 0) yield data.join('\n');
      data = [];
    } else if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
  }
  if (data.length > 0) yield data.join('\n');
}
