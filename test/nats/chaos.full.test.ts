import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChaos } from './chaos.ts';
import { findNatsServer } from './cluster.ts';

const natsServer = await findNatsServer();
const skip = 'missing' in natsServer ? natsServer.missing : false;

test('every acknowledged write exists exactly once after many minutes of failures', {
  skip,
  timeout: 1_800_000,
}, async (t) => {
  const blows = 30;
  const result = await runChaos({ blows, say: (line) => t.diagnostic(line) });
  assert.equal(result.doubled, 0);
  // Skip this check if NATS lost acknowledged writes of a plain client: then it may have lost writes of the relay too.
  if (result.raw.lost === 0) assert.equal(result.found, result.acknowledged);
});
