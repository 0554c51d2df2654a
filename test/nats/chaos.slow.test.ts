import { test } from 'node:test';
import { runChaos } from './chaos.ts';
import { findNatsServer } from './cluster.ts';

const found = await findNatsServer();
const skip = 'missing' in found ? found.missing : false;

test(
  'every acknowledged write exists exactly once while nodes and servers are killed, cut off and replaced',
  {
    skip,
    timeout: 400_000,
  },
  (t) => runChaos(t, Number(process.env.RELAY_CHAOS_BLOWS ?? 6)),
);
