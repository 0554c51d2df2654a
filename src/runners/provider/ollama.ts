import { utf8Bytes } from '../../base/utf8.ts';
import type { Round } from '../../client/prompts/types.ts';
import { systemAndUser } from './chat-completions.ts';
import { type Format, functionTool, parsePiece, streamLines, toolList } from './stream.ts';

interface Line {
  readonly message?: {
    readonly content?: string;
    readonly thinking?: string;
    readonly tool_calls?: readonly Called[];
  };
  readonly done?: boolean;
  readonly done_reason?: string;
  readonly prompt_eval_count?: number;
  readonly eval_count?: number;
  readonly error?: string;
}

interface Called {
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments?: object };
}

/**
 * Format of Ollama's own chat API, which sends one JSON object per line. It has no option that forbids tool
 * calls, so the last round is sent without tools.
 */
export const ollama: Format = {
  body({ prompt, model, maxTokens, tools, rounds, last }) {
    const sent = {
      messages: [...systemAndUser(prompt), ...rounds.flatMap(turns)],
      tools: last ? undefined : toolList(tools, functionTool),
    };
    const num_ctx = contextWindow(utf8Bytes(JSON.stringify(sent)), maxTokens);
    return { model, ...sent, stream: true, options: { num_predict: maxTokens, num_ctx } };
  },
  async *pieces(body) {
    let content = '';
    let thinking = '';
    const called: Called[] = [];
    for await (const line of streamLines(body)) {
      if (line.trim() === '') continue;
      const { message, done, done_reason, prompt_eval_count, eval_count, error } = parsePiece<Line>(line);
      content += message?.content ?? '';
      thinking += message?.thinking ?? '';
      called.push(...(message?.tool_calls ?? []));
      yield {
        error,
        text: message?.content,
        done,
        cut: done_reason === 'length',
        input_tokens: prompt_eval_count,
        output_tokens: eval_count,
        ...(done ? answered(content, thinking, called) : {}),
      };
    }
  },
};

/** Minimum context window: Ollama's own default. */
const MIN_WINDOW = 4096;

/**
 * Returns a context window, in tokens, that fits the request and the answer. Ollama silently drops the
 * beginning of a prompt that does not fit. The window is a power of two, because Ollama reloads the model
 * whenever the size changes.
 */
function contextWindow(bytes: number, answerTokens: number): number {
  // A token is about four bytes of English or three bytes of Chinese.
  return Math.max(MIN_WINDOW, 2 ** Math.ceil(Math.log2(bytes / 3 + answerTokens)));
}

function answered(content: string, thinking: string, called: readonly Called[]) {
  const calls = called.map(({ id, function: { name = '', arguments: args = {} } = {} }, at) => ({
    id: id ?? `call_${at}`,
    name,
    arguments: JSON.stringify(args),
  }));
  const message = { role: 'assistant', content, ...(thinking ? { thinking } : {}), tool_calls: called };
  return { calls, turn: [message] };
}

function turns({ answer: { calls = [], turn = [] }, results }: Round): object[] {
  return [...turn, ...calls.map(({ name }, at) => ({ role: 'tool', tool_name: name, content: results[at] }))];
}
