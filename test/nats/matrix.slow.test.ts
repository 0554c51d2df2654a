import { runMatrix } from '../engine-matrix.ts';
import { clusterMatrix } from './matrix.ts';

/** One to three test files per interface or subject. matrix.full.test.ts runs all test files. */
await runMatrix(
  [
    'test/http/pull.test.ts',
    'test/http/handles.test.ts',
    'test/http/idempotency.test.ts',
    'test/channels/sdk.test.ts',
    'test/threads/http.test.ts',
    'test/threads/same-id.test.ts',
    'test/threads/sdk.test.ts',
    'test/files/sdk.test.ts',
    'test/keys/rotation.test.ts',
    'test/mcp/threads.test.ts',
    'test/a2a/answers.test.ts',
    'test/bridge/tasks.test.ts',
  ],
  await clusterMatrix(),
);
