import { test } from 'node:test';
import { killAndResume } from './killing.ts';

test('after the server is killed and restarted, subscribers resume and receive every acknowledged push', async () => {
  await killAndResume({ kills: 1, between: 40, subscribers: 2 });
});
