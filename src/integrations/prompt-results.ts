type Replace = (text: string, tool: string) => Promise<string>;

interface ResultPart {
  readonly type: 'tool-result';
  readonly toolName: string;
  readonly output: { readonly type: string; readonly value?: unknown };
}

/** Replaces tool results in a prompt of the AI SDK or of frameworks built on it. Images and files stay. */
export async function swapResults<M extends { readonly role: string; readonly content: unknown }>(
  prompt: readonly M[],
  shown: Replace,
): Promise<M[]> {
  return Promise.all(
    prompt.map(async (message) => {
      if (message.role !== 'tool' || !Array.isArray(message.content)) return message;
      const content = message.content.map(async (part: { readonly type: string }) => {
        if (part.type !== 'tool-result') return part;
        const result = part as ResultPart;
        return { ...result, output: await swapped(result.output, (text) => shown(text, result.toolName)) };
      });
      return { ...message, content: await Promise.all(content) };
    }),
  );
}

async function swapped(
  output: ResultPart['output'],
  shown: (text: string) => Promise<string>,
): Promise<ResultPart['output']> {
  const { type, value } = output;
  if ((type === 'text' || type === 'error-text') && typeof value === 'string')
    return { ...output, value: await shown(value) };
  if (type === 'json' || type === 'error-json') {
    const text = JSON.stringify(value) ?? '';
    const instead = await shown(text);
    return instead === text ? output : { type: type === 'json' ? 'text' : 'error-text', value: instead };
  }
  if (type === 'content' && Array.isArray(value)) {
    const parts = value.map(async (part: { readonly type: string; readonly text?: string }) =>
      part.type === 'text' && part.text !== undefined ? { ...part, text: await shown(part.text) } : part,
    );
    return { ...output, value: await Promise.all(parts) };
  }
  return output;
}
