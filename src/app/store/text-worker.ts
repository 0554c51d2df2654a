import { parentPort } from 'node:worker_threads';
import { isRelayError } from '../../base/errors.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import { ownTextWork } from './own-text-work.ts';
import type { TextAnswer, TextJob, TextResult } from './text-thread.ts';

/** What a TextThread runs: one job at a time. */
parentPort?.on('message', async (job: TextJob) => {
  parentPort?.postMessage(await answer(job));
});

async function answer(job: TextJob): Promise<TextAnswer> {
  try {
    return { done: await done(job) };
  } catch (error) {
    if (isRelayError(error)) return { refused: { code: error.code, details: error.details } };
    return { failed: String(error) };
  }
}

function done({ body, part, preview }: TextJob): Promise<TextResult> {
  if (preview) return ownTextWork.preview(preview.kind, { ...preview, start: body as Uint8Array });
  return part ? ownTextWork.part(body as BlobBody, part) : ownTextWork.count(body);
}
