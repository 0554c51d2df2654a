import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownHosts } from './serve-home.ts';

test('a server is called by the address it listens on, or by any of the machine', () => {
  assert.deepEqual(ownHosts('127.0.0.1'), []);
  assert.deepEqual(ownHosts('192.168.1.2'), ['192.168.1.2']);
  assert.deepEqual(ownHosts('fe80::1%eth0'), ['[fe80::1]']);
  assert.ok(ownHosts('0.0.0.0').includes('127.0.0.1'));
});
