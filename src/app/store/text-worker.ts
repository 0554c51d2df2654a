import { MessagePort, parentPort } from 'node:worker_threads';
import { isRelayError } from '../../base/errors.ts';
import { FOLD_WORK } from '../../base/limits.ts';
import { WorkMeter } from '../../base/work-meter.ts';
import type { StoredEvent } from '../../domain/threads/event.ts';
import { runFold } from '../../domain/threads/fold-job.ts';
import { runIndexJob } from '../../engines/sqlite/index-jobs.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import { ownTextWork } from './own-text-work.ts';
import type { BodyPiece, TextAnswer, TextJob, TextResult } from './text-workers.ts';

/** This code runs in a worker thread. It runs one job at a time for a `TextThread`. */
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

async function done({ body: sent, part, excerpt, preview, fold, index }: TextJob): Promise<TextResult> {
  const body = sent instanceof MessagePort ? received(sent) : sent;
  if (fold) {
    return runFold(fold, eventsIn(body as BlobBody), new WorkMeter(FOLD_WORK));
  }
  if (index) return runIndexJob(index);
  if (preview) return ownTextWork.preview(preview.kind, { ...preview, start: body as Uint8Array });
  if (excerpt) return ownTextWork.excerpt(body as BlobBody, excerpt);
  return part ? ownTextWork.part(body as BlobBody, part) : ownTextWork.count(body);
}

/** Parses the events in a body. Each line is the JSON of one event. */
async function* eventsIn(body: BlobBody): AsyncGenerator<StoredEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop()!;
    for (const line of lines) yield JSON.parse(line);
  }
}

/** Returns the body that a `BodySender` sends through the port, as a stream. */
function received(port: MessagePort): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) =>
        new Promise((resolve, reject) => {
          port.once('message', (piece: BodyPiece) => {
            if (piece === null) controller.close();
            else if ('failed' in piece) return reject(new Error(piece.failed));
            else controller.enqueue(piece.bytes);
            resolve();
          });
          port.postMessage(null);
        }),
    },
    { highWaterMark: 0 },
  );
}
