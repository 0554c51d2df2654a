import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { readBeginning, streamFrom } from '../../base/byte-streams.ts';
import { type ErrorCode, RelayError } from '../../base/errors.ts';
import {
  INLINE_BLOB_BYTES,
  TEXT_JOB_MEMORY_MB,
  TEXT_JOB_TIME_MS,
  TEXT_JOB_WAIT_MS,
  TEXT_JOBS_WAITING,
  TEXT_THREADS,
} from '../../base/limits.ts';
import type { TokenCount } from '../../base/tokens.ts';
import type { TextWork, WorkOptions } from '../../domain/text-work.ts';
import type { Events, FoldAnswers, FoldJob, FoldKind, LoadFold } from '../../domain/threads/fold-job.ts';
import type { IndexJob } from '../../engines/index-thread.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import type { Hit } from '../../kernel/search-index.ts';
import type { Excerpt, ExcerptOptions } from '../../text/excerpt/excerpt.ts';
import type { Part, PartRequest } from '../../text/parts/part-request.ts';
import type { Content, Preview, PreviewKind } from '../../text/preview/preview.ts';
import { workerFile } from '../own-package.ts';
import { ownTextWork } from './own-text-work.ts';

const LIMITS = {
  threads: TEXT_THREADS,
  /** Maximum number of waiting jobs of a tenant in one queue (see `Lane`). */
  waiting: TEXT_JOBS_WAITING,
  /** Maximum time in ms that a job waits for its turn. */
  waitMs: TEXT_JOB_WAIT_MS,
  timeMs: TEXT_JOB_TIME_MS,
  memoryMb: TEXT_JOB_MEMORY_MB,
};

/**
 * Maximum size in bytes of a text that is previewed in this process. For such a short text, this is faster than a
 * worker thread.
 */
const SHORT_BYTES = 8 * 1024;

/** Number of seconds after which a client may retry a rejected job. */
const RETRY_S = 5;

type Turn = PromiseWithResolvers<void>;

/**
 * Queue of jobs, with a maximum number of running jobs. There is one queue for long texts, one for short texts and
 * one for folds, which compute states from events.
 */
class Lane {
  readonly most: number;
  running = 0;
  /** Waiting jobs by tenant. The first tenant is next; tenants without waiting jobs are not in the map. */
  readonly #waiting = new Map<string, Turn[]>();

  constructor(most: number) {
    this.most = most;
  }

  get waiting(): number {
    return [...this.#waiting.values()].reduce((sum, { length }) => sum + length, 0);
  }

  waitingOf(tenant: string): number {
    return this.#waiting.get(tenant)?.length ?? 0;
  }

  push(tenant: string, turn: Turn): void {
    const turns = this.#waiting.get(tenant);
    if (turns) turns.push(turn);
    else this.#waiting.set(tenant, [turn]);
  }

  /** Removes and returns the oldest job of the next tenant. The tenant then moves to the end of the queue. */
  shift(): Turn | undefined {
    for (const [tenant, turns] of this.#waiting) {
      const turn = turns.shift();
      this.#waiting.delete(tenant);
      if (turns.length > 0) this.#waiting.set(tenant, turns);
      return turn;
    }
    return undefined;
  }

  /** Removes a job from the queue. Returns false if it no longer waits. */
  remove(tenant: string, turn: Turn): boolean {
    const turns = this.#waiting.get(tenant) ?? [];
    const at = turns.indexOf(turn);
    if (at === -1) return false;
    turns.splice(at, 1);
    if (turns.length === 0) this.#waiting.delete(tenant);
    return true;
  }
}

/**
 * Runs jobs in worker threads, so that a long text does not block other requests. Threads are started on
 * demand. If there are several threads, long texts leave one of them free for short texts, such as headers. Tenants
 * take turns: a tenant with many jobs delays only itself.
 */
export class TextWorkers implements TextWork, AsyncDisposable {
  readonly #limits: typeof LIMITS;
  readonly #short: Lane;
  readonly #long: Lane;
  /**
   * Queue for folds, which compute states from events. Only one fold at a time loads its snapshot and first
   * events, because parsing them blocks this process.
   */
  readonly #reading = new Lane(1);
  readonly #idle: TextThread[] = [];
  readonly #threads = new Set<TextThread>();

  constructor(limits: Partial<typeof LIMITS> = {}) {
    this.#limits = { ...LIMITS, ...limits };
    const { threads } = this.#limits;
    this.#short = new Lane(threads);
    this.#long = new Lane(Math.max(1, threads - 1));
  }

  count(body: string | BlobBody, o?: WorkOptions): Promise<TokenCount> {
    return this.#run({ body }, o) as Promise<TokenCount>;
  }

  part(body: BlobBody, part: PartRequest, o?: WorkOptions): Promise<Part> {
    return this.#run({ body, part }, o) as Promise<Part>;
  }

  excerpt(body: BlobBody, excerpt: Pick<ExcerptOptions, 'budget'>, o?: WorkOptions): Promise<Excerpt> {
    return this.#run({ body, excerpt }, o) as Promise<Excerpt>;
  }

  preview(kind: PreviewKind, { start, size, lineCount, isText }: Content, o?: WorkOptions): Promise<Preview> {
    const preview = { kind, size, lineCount, isText };
    if (start.byteLength <= SHORT_BYTES) return ownTextWork.preview(kind, { ...preview, start });
    return this.#run({ body: start, preview }, o) as Promise<Preview>;
  }

  /** Computes states from events (folds them) in a worker thread, which requests the events in batches. */
  async fold<K extends FoldKind>(load: LoadFold<K>, o?: WorkOptions): Promise<FoldAnswers[K]> {
    // The error if the events cannot be read. The caller gets it; the worker thread learns only that reading failed.
    let failure: { readonly error: unknown } | null = null;
    const begin = async () => {
      const { job: fold, events } = await load();
      const lines = streamFrom(encoded(events, (error) => (failure = { error })));
      return { fold, body: await readBeginning(lines, INLINE_BLOB_BYTES) };
    };
    await this.#turn(this.#reading, o?.tenant ?? '', o?.signal);
    // Release the queue in a later turn of the event loop, so that other requests are served before the next
    // fold loads.
    const job = await begin().finally(() => setImmediate(() => this.#leave(this.#reading)));
    try {
      return (await this.#run(job, o)) as FoldAnswers[K];
    } catch (error) {
      throw failure ? (failure as { error: unknown }).error : error;
    }
  }

  /** Searches or changes a search index in a worker thread. */
  index(index: IndexJob, o?: WorkOptions): Promise<Hit[]> {
    return this.#run({ body: '', index }, o) as Promise<Hit[]>;
  }

  get #lanes(): readonly Lane[] {
    return [this.#short, this.#long, this.#reading];
  }

  /** Number of running and waiting jobs. */
  get jobs(): { running: number; waiting: number } {
    const waiting = this.#lanes.reduce((sum, lane) => sum + lane.waiting, 0);
    return { running: this.#short.running + this.#long.running, waiting };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const lane of this.#lanes)
      for (let turn = lane.shift(); turn; turn = lane.shift()) turn.reject(abortedError());
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  async #run(job: TextJob, { signal, tenant = '' }: WorkOptions = {}): Promise<TextResult> {
    const { body } = job;
    const lane = job.index || isLong(body) ? this.#long : this.#short;
    try {
      await this.#turn(lane, tenant, signal);
    } catch (error) {
      // Ignore an error of canceling the body: the caller learns why the job was rejected.
      if (body instanceof ReadableStream) body.cancel().catch(() => {});
      throw error;
    }
    try {
      return await this.#work(job, signal);
    } finally {
      this.#leave(lane);
    }
  }

  #leave(lane: Lane): void {
    lane.running--;
    for (const each of this.#lanes) this.#wake(each);
  }

  async #work(job: TextJob, signal?: AbortSignal): Promise<TextResult> {
    // Skip threads that have ended since their last job.
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

  /**
   * Waits until a job may start. Throws `overloaded` if the tenant has too many waiting jobs or if the job
   * waits too long, and `aborted` if the caller aborts.
   */
  async #turn(lane: Lane, tenant: string, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) throw abortedError();
    if (lane.waitingOf(tenant) >= this.#limits.waiting) throw overloaded();
    const turn = Promise.withResolvers<void>();
    lane.push(tenant, turn);
    const leave = (error: RelayError) => {
      if (lane.remove(tenant, turn)) turn.reject(error);
    };
    const abort = () => leave(abortedError());
    signal?.addEventListener('abort', abort, { once: true });
    this.#wake(lane);
    const timer = setTimeout(() => leave(overloaded()), this.#limits.waitMs);
    try {
      await turn.promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  #wake(lane: Lane): void {
    while (lane.running < lane.most && this.#short.running + this.#long.running < this.#limits.threads) {
      const turn = lane.shift();
      if (!turn) return;
      lane.running++;
      turn.resolve();
    }
  }
}

/** Approximate number of characters per batch of events for a worker thread. */
const SENT_BYTES = 64 * 1024;

/** Encodes events for a worker thread as batches of JSON lines, one line per event. */
async function* encoded(events: Events, onError: (error: unknown) => void): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  let text = '';
  try {
    for await (const event of events) {
      text += `${JSON.stringify(event)}\n`;
      if (text.length < SENT_BYTES) continue;
      yield encoder.encode(text);
      text = '';
    }
  } catch (error) {
    onError(error);
    throw error;
  }
  if (text !== '') yield encoder.encode(text);
}

function isLong(body: TextJob['body']): boolean {
  return body instanceof ReadableStream || body.length > INLINE_BLOB_BYTES;
}

/**
 * A job for a worker thread. `part` extracts a part of the body. `excerpt` and `preview` shorten the body. `fold`
 * folds the events in the body, which has the JSON of one event per line. `index` searches or changes a search index;
 * its body is empty. Without any of these fields, the job counts the tokens of the body.
 */
export interface TextJob {
  readonly body: string | BlobBody;
  readonly part?: PartRequest;
  readonly excerpt?: Pick<ExcerptOptions, 'budget'>;
  readonly preview?: Omit<Content, 'start'> & { readonly kind: PreviewKind };
  readonly fold?: FoldJob;
  readonly index?: IndexJob;
}

export type TextResult = TokenCount | Part | Excerpt | Preview | FoldAnswers[FoldKind] | Hit[];

export type TextAnswer =
  | { readonly done: TextResult }
  | { readonly refused: { readonly code: ErrorCode; readonly details: { [name: string]: unknown } } }
  | { readonly failed: string };

/**
 * A worker thread that runs one job at a time. The thread is ended if its job exceeds a limit or if nobody
 * waits for the result any more.
 */
class TextThread {
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
    const pendingAnswer = Promise.withResolvers<TextAnswer>();
    this.#job = pendingAnswer;
    const source = job.body instanceof ReadableStream ? new BodySender(job.body) : null;
    const timer = setTimeout(() => this.end(tooCostly('time')), this.#timeMs);
    const leave = () => this.end(abortedError());
    signal?.addEventListener('abort', leave, { once: true });
    this.#worker.ref();
    try {
      if (signal?.aborted) throw abortedError();
      if (source) this.#worker.postMessage({ ...job, body: source.port }, [source.port]);
      else this.#worker.postMessage(job);
      const answer = await pendingAnswer.promise;
      if (source?.error !== undefined) throw source.error;
      return unwrapAnswer(answer);
    } finally {
      this.#job = null;
      this.#worker.unref();
      clearTimeout(timer);
      signal?.removeEventListener('abort', leave);
      source?.close();
    }
  }

  /**
   * Ends the thread. The caller of the job gets the error only afterwards, when the thread's memory is free.
   */
  async end(error: Error = abortedError()): Promise<void> {
    if (this.ended) return;
    this.ended = true;
    await this.#worker.terminate();
    this.#job?.reject(error);
  }
}

function abortedError(): RelayError {
  return new RelayError('aborted', { what: 'the caller no longer waits for the result' });
}

function overloaded(): RelayError {
  return new RelayError('overloaded', { seconds: RETRY_S });
}

function tooCostly(what: 'time' | 'memory'): RelayError {
  return new RelayError('too_costly', { what });
}

function unwrapAnswer(answer: TextAnswer): TextResult {
  if ('done' in answer) return answer.done;
  if ('refused' in answer) throw new RelayError(answer.refused.code, answer.refused.details);
  throw new Error(answer.failed);
}

/** A chunk of a body, or null at its end. `failed` means that the body cannot be read. */
export type BodyPiece = { readonly bytes: Uint8Array } | { readonly failed: string } | null;

/**
 * Sends a body to a worker thread in chunks, on request. Transferring a ReadableStream would be simpler, but Bun
 * cannot do that.
 */
class BodySender {
  /** The port of the message channel that is transferred to the worker thread. */
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
      // `postMessage` copies the whole buffer of a view. Copy the bytes first if they are only a part of it.
      return { bytes: value.byteLength === value.buffer.byteLength ? value : value.slice() };
    } catch (error) {
      this.error = error;
      return { failed: String(error) };
    }
  }

  close(): void {
    this.#own.close();
    // The answer is complete or unwanted, so ignore an error of canceling.
    void this.#reader.cancel().catch(() => {});
  }
}
