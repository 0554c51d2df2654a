import { endToEndFiles, runMatrix } from '../engine-matrix.ts';
import { clusterMatrix } from './matrix.ts';

/** Test file that checks token counts that include random ids. On a cluster the ids, and so the counts, differ. */
const WITH_ID_TOKENS = 'test/threads/token-example.test.ts';

await runMatrix(
  endToEndFiles().filter((path) => path !== WITH_ID_TOKENS),
  await clusterMatrix(),
);
