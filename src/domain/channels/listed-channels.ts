/** Channels remembered as listed; far more than are in use at a time. */
const REMEMBERED = 10_000;

/** Which channels are known to be on the list of their tenant, by their keys there, and until when that is certain. */
export class ListedChannels {
  readonly #until = new Map<string, number>();

  has(key: string, now: number): boolean {
    return (this.#until.get(key) ?? 0) > now;
  }

  remember(key: string, until: number): void {
    this.#until.delete(key);
    this.#until.set(key, until);
    if (this.#until.size > REMEMBERED) this.#until.delete(this.#until.keys().next().value!);
  }

  forget(key: string): void {
    this.#until.delete(key);
  }
}
