import { test } from 'node:test';
import { checkExcerpt, randomOutput } from './excerpt-fuzz.ts';

test('an excerpt of random output is within the budget and has the right line numbers', async () => {
  for (let seed = 1; seed <= 60; seed++) {
    const { bytes, numbered } = randomOutput(seed);
    await checkExcerpt(seed, bytes, numbered).catch((error) => {
      throw new Error(`seed ${seed}`, { cause: error });
    });
  }
});
