import type { TokenCount } from '../../base/tokens.ts';
import { readText } from '../../base/utf8.ts';
import { WorkMeter } from '../../base/work-meter.ts';
import type { TextWork } from '../../domain/text-work.ts';
import { runFold } from '../../domain/threads/fold-job.ts';
import { takePart } from '../../text/parts/take-part.ts';
import { makePreview } from '../../text/preview/preview.ts';
import { openTokenCounter } from './token-counter.ts';

let counter: Promise<(text: string) => TokenCount> | null = null;

/** Works in this process, and loads what it needs when there is something to do. For a command that ends soon. */
export const ownTextWork: TextWork = {
  async count(text) {
    counter ??= openTokenCounter();
    const countTokens = await counter;
    return countTokens(typeof text === 'string' ? text : await readText(text));
  },
  async part(body, request) {
    // The regular expressions are a large library that few commands need.
    const { re2Matcher } = await import('../../text/parts/re2-matcher.ts');
    return takePart(body, request, re2Matcher);
  },
  async preview(kind, content) {
    return makePreview(kind, content);
  },
  async fold(job, events) {
    return runFold(job, events, new WorkMeter());
  },
};
