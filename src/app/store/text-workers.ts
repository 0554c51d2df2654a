import { RelayError } from '../../base/errors.ts';
import {
  INLINE_BLOB_BYTES,
  TEXT_JOB_MEMORY_MB,
  TEXT_JOB_TIME_MS,
  TEXT_JOBS_WAITING,
  TEXT_THREADS,
} from '../../base/limits.ts';
import type { TokenCount } from '../../base/tokens.ts';
import type { TextWork, WorkOptions } from '../../domain/text-work.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import type { Part, PartRequest } from '../../text/parts/part-request.ts';
import type { Content, Preview, PreviewKind } from '../../text/preview/preview.ts';
import { ownTextWork } from './own-text-work.ts';
import { leftAlone, type TextJob, type TextResult, TextThread } from './text-thread.ts';

const LIMITS = {
  threads: TEXT_THREADS,
  /** Jobs that wait, of long texts and of short ones. */
  waiting: TEXT_JOBS_WAITING,
  timeMs: TEXT_JOB_TIME_MS,
  memoryMb: TEXT_JOB_MEMORY_MB,
};

/** Made a preview of on the spot: sooner than a thread is told of it. */
const SHORT_BYTES = 8 * 1024;

/** What a client that was refused is told to wait. */
const RETRY_S = 5;

/** Jobs of one kind: how many are under way, and those that wait for their turn. */
interface Lane {
  readonly most: number;
  running: number;
  readonly waiting: PromiseWithResolvers<void>[];
}

/**
 * Works in threads, so that a long text does not hold up those who ask a server for something else. A thread begins when there
 * is work for it. Long texts never take the last one, so short texts, such as the header of a thread, are worked on meanwhile.
 */
export class TextWorkers implements TextWork, AsyncDisposable {
  readonly #limits: typeof LIMITS;
  readonly #short: Lane;
  readonly #long: Lane;
  readonly #idle: TextThread[] = [];
  readonly #threads = new Set<TextThread>();

  constructor(limits: Partial<typeof LIMITS> = {}) {
    this.#limits = { ...LIMITS, ...limits };
    const { threads } = this.#limits;
    this.#short = { most: threads, running: 0, waiting: [] };
    this.#long = { most: Math.max(1, threads - 1), running: 0, waiting: [] };
  }

  count(body: string | BlobBody, { signal }: WorkOptions = {}): Promise<TokenCount> {
    return this.#run({ body }, signal) as Promise<TokenCount>;
  }

  part(body: BlobBody, part: PartRequest, { signal }: WorkOptions = {}): Promise<Part> {
    return this.#run({ body, part }, signal) as Promise<Part>;
  }

  preview(kind: PreviewKind, { start, size, lineCount, isText }: Content): Promise<Preview> {
    const preview = { kind, size, lineCount, isText };
    if (start.byteLength <= SHORT_BYTES) return ownTextWork.preview(kind, { ...preview, start });
    return this.#run({ body: start, preview }) as Promise<Preview>;
  }

  /** Jobs under way and waiting. */
  get jobs(): { running: number; waiting: number } {
    const { running, waiting } = this.#long;
    return {
      running: running + this.#short.running,
      waiting: waiting.length + this.#short.waiting.length,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const lane of [this.#short, this.#long])
      for (const turn of lane.waiting.splice(0)) turn.reject(leftAlone());
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  async #run(job: TextJob, signal?: AbortSignal): Promise<TextResult> {
    const { body } = job;
    const lane = isLong(body) ? this.#long : this.#short;
    try {
      await this.#turn(lane, signal);
    } catch (error) {
      if (body instanceof ReadableStream) body.cancel().catch(() => {});
      throw error;
    }
    try {
      return await this.#work(job, signal);
    } finally {
      lane.running--;
      this.#wake(this.#short);
      this.#wake(this.#long);
    }
  }

  async #work(job: TextJob, signal?: AbortSignal): Promise<TextResult> {
    // One may have ended since its last job.
    let thread = this.#idle.pop();
    while (thread?.ended) thread = this.#idle.pop();
    thread ??= await TextThread.start(this.#limits);
    this.#threads.add(thread);
    try {
      return await thread.run(job, signal);
    } finally {
      if (thread.ended) this.#threads.delete(thread);
      else this.#idle.push(thread);
    }
  }

  /** Resolves when a job of this kind may begin. */
  async #turn(lane: Lane, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) throw leftAlone();
    if (lane.waiting.length >= this.#limits.waiting) throw new RelayError('overloaded', { seconds: RETRY_S });
    const turn = Promise.withResolvers<void>();
    lane.waiting.push(turn);
    const leave = () => {
      const at = lane.waiting.indexOf(turn);
      if (at === -1) return;
      lane.waiting.splice(at, 1);
      turn.reject(leftAlone());
    };
    signal?.addEventListener('abort', leave, { once: true });
    this.#wake(lane);
    await turn.promise.finally(() => signal?.removeEventListener('abort', leave));
  }

  #wake(lane: Lane): void {
    while (lane.waiting.length > 0 && lane.running < lane.most && this.jobs.running < this.#limits.threads) {
      lane.running++;
      lane.waiting.shift()!.resolve();
    }
  }
}

function isLong(body: TextJob['body']): boolean {
  return body instanceof ReadableStream || body.length > INLINE_BLOB_BYTES;
}
