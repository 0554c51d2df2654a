import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { type ErrorCode, RelayError } from '../../base/errors.ts';
import type { TokenCount } from '../../base/tokens.ts';
import type { FoldAnswers, FoldJob, FoldKind } from '../../domain/threads/fold-job.ts';
import type { IndexJob } from '../../engines/index-thread.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import type { Hit } from '../../kernel/search-index.ts';
import type { Part, PartRequest } from '../../text/parts/part-request.ts';
import type { Content, Preview, PreviewKind } from '../../text/preview/preview.ts';
import { workerFile } from '../own-package.ts';

/**
 * One kind of work. `part`: take this part of the body. `preview`: make a preview of a content that begins with the body. `fold`: fold
 * the events in the body, one as JSON on each line. `index`: search or change a search index; the body is empty. None of them: count
 * the tokens of the body.
 */
export interface TextJob {
  readonly body: string | BlobBody;
  readonly part?: PartRequest;
  readonly preview?: Omit<Content, 'start'> & { readonly kind: PreviewKind };
  readonly fold?: FoldJob;
  readonly index?: IndexJob;
}

export type TextResult = TokenCount | Part | Preview | FoldAnswers[FoldKind] | Hit[];

export type TextAnswer =
  | { readonly done: TextResult }
  | { readonly refused: { readonly code: ErrorCode; readonly details: { [name: string]: unknown } } }
  | { readonly failed: string };

/** One thread that does one job at a time, and ends with a job that takes too much or that nobody waits for any more. */
export class TextThread {
  readonly #worker: Worker;
  readonly #timeMs: number;
  #job: PromiseWithResolvers<TextAnswer> | null = null;
  ended = false;

  static async start(o: { timeMs: number; memoryMb: number }): Promise<TextThread> {
    const options = { name: 'texts', resourceLimits: { maxOldGenerationSizeMb: o.memoryMb } };
    return new TextThread(new Worker(workerFile('text-worker', import.meta.url), options), o.timeMs);
  }

  private constructor(worker: Worker, timeMs: number) {
    this.#worker = worker;
    this.#timeMs = timeMs;
    worker.unref();
    worker.on('message', (answer: TextAnswer) => this.#job?.resolve(answer));
    worker.on('error', (error: Error & { code?: string }) =>
      this.end(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooCostly('memory') : error),
    );
    worker.on('exit', () => this.end(new Error('The thread ended.')));
  }

  async run(job: TextJob, signal?: AbortSignal): Promise<TextResult> {
    const answered = Promise.withResolvers<TextAnswer>();
    this.#job = answered;
    const source = job.body instanceof ReadableStream ? new BodySender(job.body) : null;
    const timer = setTimeout(() => this.end(tooCostly('time')), this.#timeMs);
    const leave = () => this.end(leftAlone());
    signal?.addEventListener('abort', leave, { once: true });
    this.#worker.ref();
    try {
      if (signal?.aborted) throw leftAlone();
      if (source) this.#worker.postMessage({ ...job, body: source.port }, [source.port]);
      else this.#worker.postMessage(job);
      const answer = await answered.promise;
      if (source?.error !== undefined) throw source.error;
      return taken(answer);
    } finally {
      this.#job = null;
      this.#worker.unref();
      clearTimeout(timer);
      signal?.removeEventListener('abort', leave);
      source?.close();
    }
  }

  /** Whoever waits for its job is told once the thread is gone, and with it the memory it took. */
  async end(error: Error = leftAlone()): Promise<void> {
    if (this.ended) return;
    this.ended = true;
    await this.#worker.terminate();
    this.#job?.reject(error);
  }
}

export function leftAlone(): RelayError {
  return new RelayError('aborted', { what: 'nobody waits for it any more' });
}

function tooCostly(what: 'time' | 'memory'): RelayError {
  return new RelayError('too_costly', { what });
}

function taken(answer: TextAnswer): TextResult {
  if ('done' in answer) return answer.done;
  if ('refused' in answer) throw new RelayError(answer.refused.code, answer.refused.details);
  throw new Error(answer.failed);
}

/** One piece of a body; null at its end, an error where it cannot be read. */
export type BodyPiece = { readonly bytes: Uint8Array } | { readonly failed: string } | null;

/** Sends a body to a thread piece by piece, each when the thread asks for it. (Bun cannot transfer a ReadableStream.) */
class BodySender {
  /** The thread's end. */
  readonly port: MessagePort;
  error: unknown;
  readonly #own: MessagePort;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  constructor(source: ReadableStream<Uint8Array>) {
    this.#reader = source.getReader();
    const { port1, port2 } = new MessageChannel();
    this.#own = port1;
    this.port = port2;
    port1.on('message', async () => port1.postMessage(await this.#next()));
  }

  async #next(): Promise<BodyPiece> {
    try {
      const { done, value } = await this.#reader.read();
      if (done) return null;
      // A view is sent with all of its buffer, so a part of a buffer is copied first.
      return { bytes: value.byteLength === value.buffer.byteLength ? value : value.slice() };
    } catch (error) {
      this.error = error;
      return { failed: String(error) };
    }
  }

  close(): void {
    this.#own.close();
    // The answer is complete, or nobody waits for it: a source that cannot be cancelled changes neither.
    void this.#reader.cancel().catch(() => {});
  }
}
