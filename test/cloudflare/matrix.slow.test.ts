import { runMatrix } from '../engine-matrix.ts';
import { workerMatrix } from './matrix.ts';

/**
 * The pinned requests of the original clients of both relays, pulls, threads, webhooks of A2A, and hand-overs by MCP; all of them in
 * matrix.full.test.ts.
 */
await runMatrix(
  [
    'test/pins/old-clients.test.ts',
    'test/http/go-clients.test.ts',
    'test/http/pull.test.ts',
    'test/threads/http.test.ts',
    'test/threads/same-id.test.ts',
    'test/a2a/revoked-keys.test.ts',
    'test/mcp/hand-over.test.ts',
  ],
  workerMatrix,
);
