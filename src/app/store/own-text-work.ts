import { readText } from '../../base/read-text.ts';
import type { TokenCount } from '../../base/tokens.ts';
import { WorkMeter } from '../../base/work-meter.ts';
import type { TextWork } from '../../domain/text-work.ts';

let counter: Promise<(text: string) => TokenCount> | null = null;

/** Works in this process, and loads what it needs when there is something to do. For a command that ends soon. */
export const ownTextWork: TextWork = {
  async count(text) {
    counter ??= import('./token-counter.ts').then(({ openTokenCounter }) => openTokenCounter());
    const countTokens = await counter;
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
  async fold(job, events) {
    const { runFold } = await import('../../domain/threads/fold-job.ts');
    return runFold(job, events, new WorkMeter());
  },
};
