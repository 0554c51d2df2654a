import {
  type CallAnswer,
  callObject,
  type ObjectCall,
  type ObjectStub,
  type StoreObject,
} from './store-object.ts';

/**
 * From this number of reads on, a request sends its reads to one Durable Object, which makes them for the request. The
 * request itself may make only a few calls.
 */
const GATHERED_FROM = 8;
/** Maximum number of blobs that one call reads. A blob has up to 512 KiB, so an answer has at most 16 MiB. */
const GATHERED_BODIES = 32;
/** Unit in bytes in which the size of a call is measured. */
const PART_BYTES = 16 * 1024;
/** Maximum size of one call or of its answer, in units of `PART_BYTES`: half of the platform's limit of 32 MB. */
const MAX_PARTS = 1000;
/**
 * Maximum number of characters of log entries in one answer. A character needs one or two bytes, and the
 * platform limits an answer to 32 MB.
 */
const ANSWER_CHARS = 8 * 1024 * 1024;

interface PendingCall {
  readonly call: ObjectCall;
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

/**
 * Batches the calls of one turn of the event loop. Calls to one object are sent as one call. Many reads from
 * different objects are also sent as one call.
 */
export class Calls {
  readonly #stub: (object: string) => ObjectStub;
  #pending: PendingCall[] = [];

  constructor(stub: (object: string) => ObjectStub) {
    this.#stub = stub;
  }

  /** Adds a call of a method to the batch of this turn. `object` is the name of the Durable Object. */
  ask<Method extends ObjectCall['method']>(
    object: string,
    method: Method,
    ...given: Parameters<StoreObject[Method]>
  ): Promise<Awaited<ReturnType<StoreObject[Method]>>> {
    if (this.#pending.length === 0) queueMicrotask(() => this.#flush());
    const call: ObjectCall = { object, method, given };
    return new Promise((resolve, reject) =>
      this.#pending.push({ call, resolve: resolve as PendingCall['resolve'], reject }),
    );
  }

  #flush(): void {
    const pending = this.#pending;
    this.#pending = [];
    const reads = pending.filter(({ call }) => READS.has(call.method));
    const isMany = reads.length >= GATHERED_FROM;
    if (isMany) this.#gather(reads);
    const others = isMany ? pending.filter(({ call }) => !READS.has(call.method)) : pending;
    for (const [object, calls] of Map.groupBy(others, ({ call }) => call.object))
      for (const batch of splitBatches(calls)) this.#sendBatch(this.#stub(object), batch);
  }

  /**
   * Sends many reads as one call to one Durable Object, which makes them. Any object can do this; the call goes to the
   * object of the first read.
   */
  #gather(reads: readonly PendingCall[]): void {
    const bodies = reads.filter(({ call }) => call.method === 'getBody');
    const others = reads.filter(({ call }) => call.method !== 'getBody');
    for (let at = 0; at < bodies.length; at += GATHERED_BODIES)
      this.#sendGathered(bodies.slice(at, at + GATHERED_BODIES));
    if (others.length > 0) this.#sendGathered(others);
  }

  #sendGathered(reads: readonly PendingCall[]): void {
    const calls = limitAnswers(reads);
    this.#settle(
      reads,
      this.#stub(calls[0]!.object)
        .gather(calls)
        .then((values) => values.map((value) => ({ value }))),
    );
  }

  #sendBatch(object: ObjectStub, pending: readonly PendingCall[]): void {
    const [{ call, resolve, reject }] = pending as [PendingCall];
    if (pending.length === 1) callObject(object, call).then(resolve, reject);
    else this.#settle(pending, object.together(limitAnswers(pending)));
  }

  #settle(pending: readonly PendingCall[], answered: Promise<CallAnswer[]>): void {
    answered.then(
      (answers) => {
        for (const [i, { resolve, reject }] of pending.entries()) {
          const answer = answers[i]!;
          if ('error' in answer) reject(answer.error);
          else resolve(answer.value);
        }
      },
      (error) => {
        for (const { reject } of pending) reject(error);
      },
    );
  }
}

/**
 * Limits each `readEntries` of a batch to its share of the answer. The caller reads further entries with another
 * call.
 */
function limitAnswers(pending: readonly PendingCall[]): ObjectCall[] {
  const share = Math.floor(ANSWER_CHARS / pending.length);
  return pending.map(({ call }) =>
    call.method === 'readEntries' ? { ...call, given: withCharLimit(call.given, share) } : call,
  );
}

/** Lowers the character limit in the arguments of `readEntries` to `share`. */
function withCharLimit([stream, cursor, limit, most]: readonly unknown[], share: number): unknown[] {
  return [stream, cursor, limit, typeof most === 'number' ? Math.min(most, share) : share];
}

/** Splits calls to one object into batches that are small enough to be sent as one call. */
function* splitBatches(calls: readonly PendingCall[]): Generator<PendingCall[]> {
  if (calls.length === 1) return yield [...calls];
  let batch: PendingCall[] = [];
  let parts = 0;
  for (const pending of calls) {
    const size = partsOf(pending.call);
    if (batch.length > 0 && parts + size > MAX_PARTS) {
      yield batch;
      batch = [];
      parts = 0;
    }
    batch.push(pending);
    parts += size;
  }
  yield batch;
}

function partsOf({ method, given }: ObjectCall): number {
  const answer = ANSWER_BYTES[method] ?? 0;
  return Math.max(1, Math.ceil((answer + bytesIn(given)) / PART_BYTES));
}

function bytesIn(given: unknown): number {
  if (typeof given === 'string') return given.length * 2;
  if (given instanceof ArrayBuffer) return given.byteLength;
  if (given === null || typeof given !== 'object') return 0;
  return Object.values(given).reduce<number>((sum, part) => sum + bytesIn(part), 0);
}

/** Maximum size in bytes of an answer, by method. Methods that are not listed here return very little. */
const ANSWER_BYTES: { readonly [method in ObjectCall['method']]?: number } = {
  getRecord: 2_000_000,
  listRecords: 2_000_000,
  readEntries: 2_000_000,
  getBody: 512 * 1024,
};

const READS: ReadonlySet<ObjectCall['method']> = new Set([
  'getRecord',
  'listRecords',
  'readEntries',
  'streamInfo',
  'getBody',
]);
