import { after, afterEach, before, beforeEach, describe, it } from 'node:test';

type Body = (...args: never[]) => unknown;
type Block = (name: string, body: Body) => unknown;

/**
 * The names that suites in the manner of Jest take from the global scope, over the runner of Node. `expect` is brought by
 * whoever runs one.
 */
export function provideJestGlobals(expect: unknown): void {
  // A time-out as the third argument is not passed on: a busy machine is no failure.
  const withEach = (block: Block) =>
    Object.assign((name: string, body: Body) => block(name, body), {
      each: (rows: readonly unknown[]) => (name: string, body: Body) => {
        for (const row of rows) block(named(name, row), () => body(row as never));
      },
    });
  Object.assign(globalThis, {
    describe: withEach((name, body) => describe(name, body as () => void)),
    it: Object.assign(
      withEach((name, body) => it(name, () => body() as Promise<void>)),
      { skip: (name: string, body: Body) => it.skip(name, body as () => void) },
    ),
    beforeAll: (body: Body) => before(() => body() as Promise<void>),
    afterAll: (body: Body) => after(() => body() as Promise<void>),
    beforeEach: (body: Body) => beforeEach(() => body() as Promise<void>),
    afterEach: (body: Body) => afterEach(() => body() as Promise<void>),
    expect,
  });
}

/** `%s` is the row itself, `$field` a field of it. */
function named(name: string, row: unknown): string {
  return name
    .replace('%s', String(row))
    .replace(/\$(\w+)/g, (_, field: string) => String((row as Record<string, unknown>)[field]));
}
