import { askObject, type ObjectStub, type ReadCall, type StoreObject } from './store-object.ts';

/** From so many reads at once on, another object does them: a request may make few calls of its own. */
const GATHERED_FROM = 8;

interface Waiting {
  readonly call: ReadCall;
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

/** Reads that are asked for in one turn, such as those of every channel on a list, make one call where they are many. */
export class Reads {
  readonly #named: (object: string) => ObjectStub;
  #waiting: Waiting[] = [];

  constructor(named: (object: string) => ObjectStub) {
    this.#named = named;
  }

  read<Method extends ReadCall['method']>(
    object: string,
    method: Method,
    ...given: Parameters<StoreObject[Method]>
  ): Promise<Awaited<ReturnType<StoreObject[Method]>>> {
    if (this.#waiting.length === 0) queueMicrotask(() => void this.#ask());
    const call = { object, method, given } as ReadCall;
    return new Promise((resolve, reject) => this.#waiting.push({ call, resolve, reject }));
  }

  async #ask(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    if (waiting.length < GATHERED_FROM) {
      for (const { call, resolve, reject } of waiting)
        askObject(this.#named(call.object), call).then(resolve, reject);
      return;
    }
    try {
      // Any object can do it: that of the first one asked for.
      const answers = await this.#named(waiting[0]!.call.object).gather(waiting.map(({ call }) => call));
      for (const [i, { resolve }] of waiting.entries()) resolve(answers[i]);
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}
