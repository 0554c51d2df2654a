import { runMatrix } from '../engine-matrix.ts';
import { workerMatrix } from './matrix.ts';

/** The pinned requests of the original clients of both relays, and pulls; all of them in matrix.full.test.ts. */
await runMatrix(
  ['test/pins/old-clients.test.ts', 'test/http/go-clients.test.ts', 'test/http/pull.test.ts'],
  workerMatrix,
);
