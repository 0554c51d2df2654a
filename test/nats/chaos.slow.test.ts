import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChaos } from './chaos.ts';
import { findNatsServer } from './cluster.ts';

const natsServer = await findNatsServer();
const skip = 'missing' in natsServer ? natsServer.missing : false;

test('every acknowledged write exists exactly once while nodes and servers are killed, cut off and replaced', {
  skip,
  timeout: 400_000,
}, async (t) => {
  const blows = Number(process.env.RELAY_CHAOS_BLOWS ?? 6);
  const result = await runChaos({ blows, say: (line) => t.diagnostic(line) });
  assert.equal(result.doubled, 0);
  // Skip this check if NATS lost acknowledged writes of a plain client: then it may have lost writes of the relay too.
  if (result.raw.lost === 0) assert.equal(result.found, result.acknowledged);
});
