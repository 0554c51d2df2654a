import type { ContextRelay } from '../sdk/context-relay.ts';

const POINTER = /\/pull\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/gi;

/** Pointers that one request renews. */
const TOGETHER = 100;

/** Pointers whose expiry is remembered: more than one conversation has. */
const MOST_KNOWN = 10_000;

/**
 * Has the pointers that a stored text names live at least as long as the text does: `ttl` seconds, or as long as the relay
 * allows. What a conversation refers to is then there for as long as the conversation is.
 */
export class KeptPointers {
  readonly #relay: ContextRelay;
  readonly #ttl: number | undefined;
  /** When a pointer has to be renewed, at the latest. */
  readonly #renewAt = new Map<string, number>();
  #warned = false;

  constructor(relay: ContextRelay, ttl?: number) {
    this.#relay = relay;
    this.#ttl = ttl;
  }

  /** To be called once the text is stored, so that its own life has begun. A failure is warned of; the text is stored all the same. */
  async keep(...texts: readonly string[]): Promise<void> {
    const named = new Set(
      texts.flatMap((text) => [...text.matchAll(POINTER)].map(([, id]) => id!.toLowerCase())),
    );
    const due = [...named].filter((id) => (this.#renewAt.get(id) ?? 0) <= Date.now());
    try {
      for (let i = 0; i < due.length; i += TOGETHER) await this.#renew(due.slice(i, i + TOGETHER));
    } catch (error) {
      if (!this.#warned)
        console.warn(`contextrelay: pointers may expire before a text that names them: ${String(error)}`);
      this.#warned = true;
    }
  }

  async #renew(ids: readonly string[]): Promise<void> {
    const now = Date.now();
    const renewed = await this.#relay.renew(ids, { ttl: this.#ttl });
    const expiries = new Map(renewed.map(({ id, expires_at }) => [id, Date.parse(expires_at)]));
    for (const id of ids) this.#note(id, renewalTime(now, expiries.get(id), this.#ttl));
  }

  #note(id: string, at: number): void {
    this.#renewAt.delete(id);
    this.#renewAt.set(id, at);
    if (this.#renewAt.size > MOST_KNOWN) this.#renewAt.delete(this.#renewAt.keys().next().value!);
  }
}

/** A pointer of somebody else is never asked for again. One that the relay does not let live so long is, after an eighth of its life. */
function renewalTime(now: number, expires: number | undefined, ttl: number | undefined): number {
  if (expires === undefined) return Number.POSITIVE_INFINITY;
  const last = ttl === undefined ? 0 : expires - ttl * 1000;
  return last > now ? last : now + (expires - now) / 8;
}
