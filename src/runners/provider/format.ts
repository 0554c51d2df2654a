import type { ModelAnswer, PromptText, Tool, ToolUse } from '../../client/prompts/types.ts';

/** How a provider is asked, and what the stream of its answer says. */
export interface Format {
  body(asking: Asking): object;
  pieces(body: ReadableStream<Uint8Array>): AsyncIterable<Piece>;
}

export interface Asking extends ToolUse {
  readonly prompt: PromptText;
  readonly model: string;
  readonly maxTokens: number;
}

/** One step of a stream, in whatever format it came. What is said again counts instead of what was said before. */
export interface Piece extends Pick<ModelAnswer, 'calls' | 'turn' | 'cut'> {
  readonly text?: string;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cached_input_tokens?: number;
  readonly done?: boolean;
  readonly error?: string;
}

export const WORDLESS = 'an error without words';

/** A tool as OpenAI's chat, and all who took it over, want it. */
export function functionTool({ name, description, parameters }: Tool) {
  return { type: 'function', function: { name, description, parameters } };
}

/** The object that a model wrote as the arguments of a call; an empty one where it is broken. */
export function argumentsOf(written: string): object {
  try {
    const parsed: unknown = JSON.parse(written);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  } catch {
    // Whoever does the call tells the model.
  }
  return {};
}
