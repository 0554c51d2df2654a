import { readText } from '../../base/utf8.ts';
import { WorkMeter } from '../../base/work-meter.ts';
import type { TextWork } from '../../domain/text-work.ts';
import { runFold } from '../../domain/threads/fold-job.ts';
import { excerpt } from '../../text/excerpt/excerpt.ts';
import { takePart } from '../../text/parts/take-part.ts';
import { makePreview } from '../../text/preview/preview.ts';
import { countTokens } from './token-counter.ts';

/**
 * Processes texts in this process instead of worker threads. It is for commands, which end soon. Code is
 * loaded when it is first needed.
 */
export const ownTextWork: TextWork = {
  async count(text) {
    return countTokens(typeof text === 'string' ? text : await readText(text));
  },
  async part(body, request) {
    // The regular expression library is large and few commands need it, so load it only here.
    const { re2Matcher } = await import('../../text/parts/re2-matcher.ts');
    return takePart(body, request, re2Matcher);
  },
  excerpt: (body, { budget }) =>
    excerpt(body instanceof Uint8Array ? [body] : body, { budget, counter: ownTextWork }),
  async preview(kind, content) {
    return makePreview(kind, content);
  },
  async fold(load) {
    const { job, events } = await load();
    return runFold(job, events, new WorkMeter());
  },
};
