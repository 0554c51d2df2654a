import type { LargeResults } from './large-results.ts';

interface ResultPart {
  readonly type: 'tool-result';
  readonly toolName: string;
  readonly output: { readonly type: string; readonly value?: unknown };
}

/** Replaces large tool results in a prompt of the AI SDK, or of a framework built on it. Images and files stay. */
export async function swapResults<M extends { readonly role: string; readonly content: unknown }>(
  prompt: readonly M[],
  results: LargeResults,
  signal: AbortSignal | undefined,
): Promise<M[]> {
  return Promise.all(
    prompt.map(async (message) => {
      if (message.role !== 'tool' || !Array.isArray(message.content)) return message;
      const content = message.content.map(async (part: { readonly type: string }) => {
        if (part.type !== 'tool-result') return part;
        const result = part as ResultPart;
        return { ...result, output: await swapped(result, results, signal) };
      });
      return { ...message, content: await Promise.all(content) };
    }),
  );
}

async function swapped(
  { toolName, output }: ResultPart,
  results: LargeResults,
  signal: AbortSignal | undefined,
): Promise<ResultPart['output']> {
  const { type, value } = output;
  const replace = (text: string) => results.replaceText(text, toolName, { signal });
  if ((type === 'text' || type === 'error-text') && typeof value === 'string')
    return { ...output, value: await replace(value) };
  if (type === 'json' || type === 'error-json') {
    const text = JSON.stringify(value) ?? '';
    const replacement = await replace(text);
    return replacement === text
      ? output
      : { type: type === 'json' ? 'text' : 'error-text', value: replacement };
  }
  if (type === 'content' && Array.isArray(value))
    return { ...output, value: await results.replaceBlocks(value, toolName, { signal }) };
  return output;
}

/**
 * Replaces the texts in a value and nothing else, because each tool has its own format for results. Returns
 * the original value if no text was replaced.
 */
export async function swapTexts(
  value: unknown,
  replace: (text: string) => Promise<string>,
): Promise<unknown> {
  if (typeof value === 'string') return replace(value);
  if (typeof value !== 'object' || value === null) return value;
  const entries = await Promise.all(
    Object.entries(value).map(async ([name, each]) => [name, await swapTexts(each, replace)] as const),
  );
  if (entries.every(([name, each]) => each === (value as Record<string, unknown>)[name])) return value;
  return Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries);
}
