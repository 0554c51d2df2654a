import { test } from 'node:test';
import { runChaos } from './chaos.ts';
import { findNatsServer } from './cluster.ts';

const found = await findNatsServer();
const skip = 'missing' in found ? found.missing : false;

test(
  'every acknowledged write exists exactly once after many minutes of failures',
  {
    skip,
    timeout: 1_800_000,
  },
  (t) => runChaos(t, 30),
);
