/** What the test passed, and how a script answers. */
export function options<T>(): T {
  return JSON.parse(process.argv[2]!) as T;
}

export function say(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
