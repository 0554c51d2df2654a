import { runMatrix } from '../engine-matrix.ts';
import { workerMatrix } from './matrix.ts';

/**
 * Selected test files: pinned requests of the original clients, pulls, threads, A2A webhooks and hand-offs by MCP.
 * matrix.full.test.ts runs all files.
 */
await runMatrix(
  [
    'test/pins/old-clients.test.ts',
    'test/http/go-clients.test.ts',
    'test/http/pull.test.ts',
    'test/http/handles.test.ts',
    'test/threads/http.test.ts',
    'test/threads/same-id.test.ts',
    'test/a2a/revoked-keys.test.ts',
    'test/mcp/hand-over.test.ts',
  ],
  workerMatrix,
);
