import { parentPort } from 'node:worker_threads';
import { isRelayError } from '../../base/errors.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import { ownTextWork } from './own-text-work.ts';
import type { TextAnswer, TextJob } from './text-thread.ts';

/** What a TextThread runs: one job at a time. */
parentPort?.on('message', async (job: TextJob) => {
  parentPort?.postMessage(await answer(job));
});

async function answer(job: TextJob): Promise<TextAnswer> {
  try {
    const done = job.part ? ownTextWork.part(job.body as BlobBody, job.part) : ownTextWork.count(job.body);
    return { done: await done };
  } catch (error) {
    if (isRelayError(error)) return { refused: { code: error.code, details: error.details } };
    return { failed: String(error) };
  }
}
