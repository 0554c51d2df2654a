import { endToEndFiles, runMatrix } from '../engine-matrix.ts';
import { clusterMatrix } from './matrix.ts';

/** Holds the figures of a document, among them tokens of ids, which are drawn in another order on a cluster. */
const OF_A_DOCUMENT = 'test/threads/token-example.test.ts';

await runMatrix(
  endToEndFiles().filter((path) => path !== OF_A_DOCUMENT),
  await clusterMatrix(),
);
