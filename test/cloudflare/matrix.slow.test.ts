import { runMatrix } from '../engine-matrix.ts';
import { workerMatrix } from './matrix.ts';

/** The calls of the Go relay's clients, and pulls. */
await runMatrix(['test/http/go-clients.test.ts', 'test/http/pull.test.ts'], workerMatrix);
