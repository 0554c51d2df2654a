import { after } from 'node:test';

const opened: AsyncDisposable[] = [];

/** Closed with the file: a test may let go of an engine without closing it, and the process would stay. */
export function closeAtTheEnd(engine: AsyncDisposable): void {
  opened.push(engine);
}

if (process.env.RELAY_TEST_ENGINE) {
  after(async () => {
    for (const engine of opened) await engine[Symbol.asyncDispose]();
  });
}
