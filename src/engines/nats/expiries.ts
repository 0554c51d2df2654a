/** What this server remembers of them; the rest is left to the TTL that each message has. */
const REMEMBERED = 100_000;

export interface Expiring {
  readonly subject: string;
  readonly stream: string;
  readonly expiresAt: number;
  /** Of a blob: what it takes up. */
  readonly bytes?: number;
}

/**
 * What this server has written that will expire, so that a sweep can reclaim it at once instead of looking through everything.
 * JetStream reclaims by itself, some time later, what is forgotten here.
 */
export class Expiries {
  readonly #waiting = new Map<string, Expiring>();

  note(expiring: Expiring): void {
    this.#waiting.delete(expiring.subject);
    this.#waiting.set(expiring.subject, expiring);
    if (this.#waiting.size > REMEMBERED) this.#waiting.delete(this.#waiting.keys().next().value!);
  }

  forget(subject: string): void {
    this.#waiting.delete(subject);
  }

  /** Takes out what has expired. */
  take(now: number): Expiring[] {
    const due = [...this.#waiting.values()].filter(({ expiresAt }) => expiresAt <= now);
    for (const { subject } of due) this.#waiting.delete(subject);
    return due;
  }
}
