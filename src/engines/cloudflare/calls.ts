import {
  askObject,
  type CallAnswer,
  type ObjectCall,
  type ObjectStub,
  type StoreObject,
} from './store-object.ts';

/** From so many reads on, another object does them: a request may make few calls of its own. */
const GATHERED_FROM = 8;
/** Bodies that are read by one call, of 512 KiB each. */
const GATHERED_BODIES = 32;
/** What one call carries at most, there or back, in parts of 16 KiB: it takes 32 MB, and this is half of that. */
const PART_BYTES = 16 * 1024;
const PARTS = 1000;
/** What the entries in one answer to several calls are at most, in characters of one or two bytes: an answer takes 32 MB too. */
const ANSWER_CHARS = 8 * 1024 * 1024;
interface Waiting {
  readonly call: ObjectCall;
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

/** Calls that are asked for in one turn: those to one object travel together, and many reads make one call. */
export class Calls {
  readonly #named: (object: string) => ObjectStub;
  #waiting: Waiting[] = [];

  constructor(named: (object: string) => ObjectStub) {
    this.#named = named;
  }

  ask<Method extends ObjectCall['method']>(
    object: string,
    method: Method,
    ...given: Parameters<StoreObject[Method]>
  ): Promise<Awaited<ReturnType<StoreObject[Method]>>> {
    if (this.#waiting.length === 0) queueMicrotask(() => this.#leave());
    const call: ObjectCall = { object, method, given };
    return new Promise((resolve, reject) =>
      this.#waiting.push({ call, resolve: resolve as Waiting['resolve'], reject }),
    );
  }

  #leave(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    const reads = waiting.filter(({ call }) => READS.has(call.method));
    const isMany = reads.length >= GATHERED_FROM;
    if (isMany) this.#gather(reads);
    const others = isMany ? waiting.filter(({ call }) => !READS.has(call.method)) : waiting;
    for (const [object, calls] of Map.groupBy(others, ({ call }) => call.object))
      for (const load of loads(calls)) this.#sendTo(this.#named(object), load);
  }

  /** Any object can do it: that of the first one asked for. */
  #gather(reads: readonly Waiting[]): void {
    const bodies = reads.filter(({ call }) => call.method === 'getBody');
    const others = reads.filter(({ call }) => call.method !== 'getBody');
    for (let at = 0; at < bodies.length; at += GATHERED_BODIES)
      this.#gatherSome(bodies.slice(at, at + GATHERED_BODIES));
    if (others.length > 0) this.#gatherSome(others);
  }

  #gatherSome(reads: readonly Waiting[]): void {
    const calls = sharing(reads);
    this.#settle(
      reads,
      this.#named(calls[0]!.object)
        .gather(calls)
        .then((values) => values.map((value) => ({ value }))),
    );
  }

  #sendTo(object: ObjectStub, waiting: readonly Waiting[]): void {
    const [{ call, resolve, reject }] = waiting as [Waiting];
    if (waiting.length === 1) askObject(object, call).then(resolve, reject);
    else this.#settle(waiting, object.together(sharing(waiting)));
  }

  #settle(waiting: readonly Waiting[], asked: Promise<CallAnswer[]>): void {
    asked.then(
      (answers) => {
        for (const [i, { resolve, reject }] of waiting.entries()) {
          const answer = answers[i]!;
          if ('error' in answer) reject(answer.error);
          else resolve(answer.value);
        }
      },
      (error) => {
        for (const { reject } of waiting) reject(error);
      },
    );
  }
}

/** Calls that are answered together: each page of entries takes its share of the answer, and who asked for more asks again. */
function sharing(waiting: readonly Waiting[]): ObjectCall[] {
  const share = Math.floor(ANSWER_CHARS / waiting.length);
  return waiting.map(({ call }) =>
    call.method === 'readEntries' ? { ...call, given: withShare(call.given, share) } : call,
  );
}

/** The arguments of `readEntries`: stream, cursor, limit and the most bytes, which is the caller's or this call's share of one answer. */
function withShare([stream, cursor, limit, most]: readonly unknown[], share: number): unknown[] {
  return [stream, cursor, limit, typeof most === 'number' ? Math.min(most, share) : share];
}

/** Calls to one object, as many at once as one call carries. */
function* loads(calls: readonly Waiting[]): Generator<Waiting[]> {
  if (calls.length === 1) return yield [...calls];
  let load: Waiting[] = [];
  let parts = 0;
  for (const waiting of calls) {
    const own = partsOf(waiting.call);
    if (load.length > 0 && parts + own > PARTS) {
      yield load;
      load = [];
      parts = 0;
    }
    load.push(waiting);
    parts += own;
  }
  yield load;
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

/** What may come back; of others next to nothing does. */
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
