import { after, afterEach, before, beforeEach, describe, it } from 'node:test';

type Body = (...args: never[]) => unknown;
type Block = (name: string, body: Body) => unknown;

/** Defines the globals of Jest with Node's test runner, for test suites written for Jest. The caller passes `expect`. */
export function provideJestGlobals(expect: unknown): void {
  // Ignore the timeout in the third argument, because a busy machine must not fail a test.
  const withEach = (block: Block) =>
    Object.assign((name: string, body: Body) => block(name, body), {
      each: (rows: readonly unknown[]) => (name: string, body: Body) => {
        for (const row of rows) block(formatName(name, row), () => body(row as never));
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

/** Replaces `%s` by the row, and `$field` by this field of the row. */
function formatName(name: string, row: unknown): string {
  return name
    .replace('%s', String(row))
    .replace(/\$(\w+)/g, (_, field: string) => String((row as Record<string, unknown>)[field]));
}
