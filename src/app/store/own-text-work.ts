import { readText } from '../../base/utf8.ts';
import type { TextWork } from '../../domain/text-work.ts';
import { countTokens } from './token-counter.ts';

/**
 * Processes texts in this process instead of worker threads, for commands, which end soon. Loads code on
 * first use.
 */
export const ownTextWork: TextWork = {
  async count(text) {
    return countTokens(typeof text === 'string' ? text : await readText(text));
  },
  async part(body, request) {
    // Load the regular expression library only here: it is large and few commands need it.
    const { takePart } = await import('../../text/parts/take-part.ts');
    const { re2Matcher } = await import('../../text/parts/re2-matcher.ts');
    return takePart(body, request, re2Matcher);
  },
  async excerpt(body, { budget }) {
    const { excerpt } = await import('../../text/excerpt/excerpt.ts');
    return excerpt(body instanceof Uint8Array ? [body] : body, { budget, counter: ownTextWork });
  },
  async preview(kind, content) {
    const { makePreview } = await import('../../text/preview/preview.ts');
    return makePreview(kind, content);
  },
  async fold(load) {
    const { runFold } = await import('../../domain/threads/fold-job.ts');
    const { WorkMeter } = await import('../../base/work-meter.ts');
    const { job, events } = await load();
    return runFold(job, events, new WorkMeter());
  },
};
