import { test } from 'node:test';
import { runChaos } from './chaos.ts';
import { findNatsServer } from './cluster.ts';

const found = await findNatsServer();
const skip = 'missing' in found ? found.missing : false;

test(
  'nodes and servers are killed, cut off and replaced, and every acknowledged write is there once',
  {
    skip,
    timeout: 400_000,
  },
  (t) => runChaos(t, Number(process.env.RELAY_CHAOS_BLOWS ?? 6)),
);
