import { test } from 'node:test';
import { temporaryHome } from '../cli/program.ts';
import { killTriggerServers } from './trigger-servers.ts';

for (const seed of [1, 2, 3])
  test(`with two servers and many kills, each message and each time starts one run (seed ${seed})`, async () => {
    using at = temporaryHome();
    await killTriggerServers(at.home, { seed, kills: 15, messages: 40, minutes: 30 });
  });
