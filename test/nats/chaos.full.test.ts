import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChaos } from './chaos.ts';
import { findNatsServer } from './cluster.ts';

const found = await findNatsServer();
const skip = 'missing' in found ? found.missing : false;

test('every acknowledged write exists exactly once after many minutes of failures', {
  skip,
  timeout: 1_800_000,
}, async (t) => {
  const blows = 30;
  const result = await runChaos({ blows, say: (line) => t.diagnostic(line) });
  assert.equal(result.doubled, 0);
  // If NATS lost writes of a plain client, the relay may have lost writes in the same way.
  if (result.raw.lost === 0) assert.equal(result.found, result.acknowledged);
});
