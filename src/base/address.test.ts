import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLoopback } from './address.ts';

test('loopback is told from addresses that others can reach', () => {
  for (const host of ['127.0.0.1', '127.8.9.1', 'localhost', '::1', '[::1]', '::ffff:127.0.0.1'])
    assert.ok(isLoopback(host), host);
  for (const host of ['0.0.0.0', '::', '192.168.1.2', 'relay.example', '127.0.0.1.example']) {
    assert.ok(!isLoopback(host), host);
  }
});
