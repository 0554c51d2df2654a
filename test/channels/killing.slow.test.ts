import { test } from 'node:test';
import { killAndResume } from './killing.ts';

test('a server that is killed eight times loses no acknowledged message and delivers none twice', async () => {
  await killAndResume({ kills: 8, between: 300, subscribers: 5 });
});
