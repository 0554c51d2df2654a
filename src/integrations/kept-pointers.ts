import type { ContextRelay } from '../sdk/context-relay.ts';
import { Patience } from './patience.ts';

const POINTER = /\/pull\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/gi;

/** Maximum number of pointers per renewal request. */
const TOGETHER = 100;

/** Maximum number of remembered pointers. One conversation has fewer. */
const MAX_REMEMBERED = 10_000;

/**
 * Extends the expiry of pointers in a stored text, so that they do not expire before the text. They then live
 * for `ttl` seconds from now, or as long as the relay allows.
 */
export class KeptPointers {
  readonly #relay: ContextRelay;
  readonly #ttl: number | undefined;
  /** Time at which each pointer must be renewed, in ms since the epoch. */
  readonly #renewAt = new Map<string, number>();
  readonly #patience = new Patience();
  #warned = false;

  constructor(relay: ContextRelay, ttl?: number) {
    this.#relay = relay;
    this.#ttl = ttl;
  }

  /**
   * Renews the pointers in the texts. Call it after the texts are stored, because the lifetime of the texts
   * starts then. A failed renewal does not throw, because the texts are already stored. The first failure logs a
   * warning.
   */
  async keep(...texts: readonly string[]): Promise<void> {
    const named = new Set(
      texts.flatMap((text) => [...text.matchAll(POINTER)].map(([, id]) => id!.toLowerCase())),
    );
    const due = [...named].filter((id) => (this.#renewAt.get(id) ?? 0) <= Date.now());
    if (due.length === 0) return;
    try {
      await this.#patience.run(async (signal) => {
        for (let i = 0; i < due.length; i += TOGETHER) await this.#renew(due.slice(i, i + TOGETHER), signal);
      });
    } catch (error) {
      if (!this.#warned)
        console.warn(
          `contextrelay: pointers could not be renewed and may expire before the text that refers to them: ${String(error)}`,
        );
      this.#warned = true;
    }
  }

  async #renew(ids: readonly string[], signal: AbortSignal): Promise<void> {
    const now = Date.now();
    const renewed = await this.#relay.renew(ids, { ttl: this.#ttl, signal });
    const expiries = new Map(renewed.map(({ id, expires_at }) => [id, Date.parse(expires_at)]));
    for (const id of ids) this.#note(id, renewalTime(now, expiries.get(id), this.#ttl));
  }

  #note(id: string, at: number): void {
    this.#renewAt.delete(id);
    this.#renewAt.set(id, at);
    if (this.#renewAt.size > MAX_REMEMBERED) this.#renewAt.delete(this.#renewAt.keys().next().value!);
  }
}

/**
 * Returns when to renew a pointer, in ms since the epoch: when `ttl` seconds of its lifetime are left. If its
 * lifetime is not longer than `ttl`, or there is no `ttl`, it is renewed after an eighth of its lifetime. If
 * `expires` is undefined, the pointer belongs to another tenant and is never renewed.
 */
function renewalTime(now: number, expires: number | undefined, ttl: number | undefined): number {
  if (expires === undefined) return Number.POSITIVE_INFINITY;
  const last = ttl === undefined ? 0 : expires - ttl * 1000;
  return last > now ? last : now + (expires - now) / 8;
}
