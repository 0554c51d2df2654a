import { test } from 'node:test';
import { temporaryHome } from '../cli/program.ts';
import { killTriggerServers } from './trigger-servers.ts';

test('with two servers that are killed at random, each message and each time starts one run', async () => {
  using at = temporaryHome();
  await killTriggerServers(at.home, { seed: 7, kills: 3, messages: 6, minutes: 5 });
});
