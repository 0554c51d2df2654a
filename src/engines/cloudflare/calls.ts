import type { ObjectCall } from './object-calls.ts';
import { askObject, type ObjectStub, type StoreObject } from './store-object.ts';

/** From so many reads on, another object does them: a request may make few calls of its own. */
const GATHERED_FROM = 8;
/** What one call carries at most: values of 2 MB each, and a call takes 32 MB. */
const TOGETHER = 8;
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
    if (this.#waiting.length === 0) queueMicrotask(() => this.#send());
    const call: ObjectCall = { object, method, given };
    return new Promise((resolve, reject) =>
      this.#waiting.push({ call, resolve: resolve as Waiting['resolve'], reject }),
    );
  }

  #send(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    if (waiting.length >= GATHERED_FROM && waiting.every(({ call }) => READS.has(call.method))) {
      // Any object can do it: that of the first one asked for.
      this.#answer(waiting, (calls) => this.#named(calls[0]!.object).gather(calls));
      return;
    }
    for (const [object, calls] of Map.groupBy(waiting, ({ call }) => call.object)) {
      for (let at = 0; at < calls.length; at += TOGETHER)
        this.#sendTo(this.#named(object), calls.slice(at, at + TOGETHER));
    }
  }

  #sendTo(object: ObjectStub, waiting: readonly Waiting[]): void {
    const [{ call, resolve, reject }] = waiting as [Waiting];
    if (waiting.length === 1) askObject(object, call).then(resolve, reject);
    else this.#answer(waiting, (calls) => object.together(calls));
  }

  #answer(waiting: readonly Waiting[], ask: (calls: ObjectCall[]) => Promise<unknown[]>): void {
    const share = Math.floor(ANSWER_CHARS / waiting.length);
    const sharing = (call: ObjectCall): ObjectCall =>
      call.method === 'readEntries' ? { ...call, given: [...call.given, share] } : call;
    ask(waiting.map(({ call }) => sharing(call))).then(
      (answers) => {
        for (const [i, { resolve }] of waiting.entries()) resolve(answers[i]);
      },
      (error) => {
        for (const { reject } of waiting) reject(error);
      },
    );
  }
}

const READS: ReadonlySet<ObjectCall['method']> = new Set([
  'getRecord',
  'listRecords',
  'readEntries',
  'streamInfo',
]);
