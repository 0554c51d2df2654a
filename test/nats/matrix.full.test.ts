import { endToEndFiles, runMatrix } from '../engine-matrix.ts';
import { clusterMatrix } from './matrix.ts';

/** Checks figures that include tokens of random ids. A cluster draws ids in another order, so the figures differ. */
const WITH_ID_TOKENS = 'test/threads/token-example.test.ts';

await runMatrix(
  endToEndFiles().filter((path) => path !== WITH_ID_TOKENS),
  await clusterMatrix(),
);
