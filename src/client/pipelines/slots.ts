/** Lets so many work at once; the others wait in the order they came. */
export class Slots {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(size: number) {
    this.#free = size;
  }

  async take(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** A slot goes straight to the one who has waited longest, so that nobody slips in between. */
  free(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free++;
  }
}
