/** Returns the options that the test passed. */
export function options<T>(): T {
  return JSON.parse(process.argv[2]!) as T;
}

/** Prints a value as one line of JSON. */
export function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
