import { readText } from '../../base/read-text.ts';
import type { TextWork } from '../../domain/text-work.ts';

/** Works in this process, and loads what it needs when there is something to do. For a command that ends soon. */
export const ownTextWork: TextWork = {
  async count(text) {
    const { countTokens } = await import('../../text/token-count.ts');
    return countTokens(typeof text === 'string' ? text : await readText(text));
  },
  async part(body, request) {
    const [{ takePart }, { re2Matcher }] = await Promise.all([
      import('../../text/parts/take-part.ts'),
      import('../../text/parts/re2-matcher.ts'),
    ]);
    return takePart(body, request, re2Matcher);
  },
  async preview(kind, content) {
    const { makePreview } = await import('../../text/preview/preview.ts');
    return makePreview(kind, content);
  },
};
