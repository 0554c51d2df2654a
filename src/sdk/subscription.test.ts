import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LEASE_MS } from '../base/limits.ts';
import { keepExtending, type ReceivedMessage } from './subscription.ts';

test('a lease is renewed in time by a client whose clock is a day behind the relay', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let extended = 0;
  const message = {
    lease_until: Date.now() + 24 * 3600 * 1000 + LEASE_MS,
    extend: async () => {
      extended++;
    },
  } as unknown as ReceivedMessage;
  const extending = keepExtending(message);
  t.mock.timers.tick(LEASE_MS - 1);
  assert.ok(extended > 0);
  extending.stop();
});
