import { test } from 'node:test';
import { killAndResume } from './killing.ts';

test('the server is killed eight times in mid-stream: nothing acknowledged is lost, nothing comes twice', async () => {
  await killAndResume({ kills: 8, between: 300, subscribers: 5 });
});
