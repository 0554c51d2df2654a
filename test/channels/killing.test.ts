import { test } from 'node:test';
import { killAndResume } from './killing.ts';

test('the server is killed and started again: subscribers resume by themselves, and every acknowledged push arrives', async () => {
  await killAndResume({ kills: 1, between: 40, subscribers: 2 });
});
