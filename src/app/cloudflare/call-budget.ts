import type { Objects } from '../../engines/cloudflare/store-object.ts';

/** What a request keeps for its end, and for what it writes behind its answer. */
const KEPT_CALLS = 10;

/** Counts the calls that a request makes to objects; what could go on for long is to end while some are left. */
export class CallBudget {
  readonly objects: Objects;
  readonly #most: number;
  #calls = 0;
  #spent: AbortController | undefined;

  /** `calls`: what the platform lets a request make. */
  constructor(all: Objects, calls: number) {
    this.#most = calls - KEPT_CALLS;
    this.objects = {
      idFromName: (name) => all.idFromName(name),
      // Whoever asks for an object calls it once.
      get: (id) => {
        if (++this.#calls >= this.#most) this.#spent?.abort();
        return all.get(id);
      },
    };
  }

  /** Fires when few are left. Made when it is first asked for: most requests end by themselves. */
  get spent(): AbortSignal {
    this.#spent ??= new AbortController();
    if (this.#calls >= this.#most) this.#spent.abort();
    return this.#spent.signal;
  }
}
