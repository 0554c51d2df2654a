import { after } from 'node:test';

const openEngines: AsyncDisposable[] = [];

/** Closes an engine at the end of the file, because a test may leave it open and the process would not exit. */
export function closeAtTheEnd(engine: AsyncDisposable): void {
  openEngines.push(engine);
}

if (process.env.RELAY_TEST_ENGINE) {
  after(async () => {
    for (const engine of openEngines) await engine[Symbol.asyncDispose]();
  });
}
