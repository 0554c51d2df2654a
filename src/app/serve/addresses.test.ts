import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPublicAddress, ownHosts } from './addresses.ts';

test('public internet addresses are distinguished from all others', () => {
  for (const address of [
    '1.1.1.1',
    '8.8.8.8',
    '93.184.216.34',
    '172.15.0.1',
    '172.32.0.1',
    '100.63.0.1',
    '192.0.1.1',
    '2606:4700::1111',
    '2a00:1450:4001:82a::200e',
    '[2606:4700::1111]',
  ]) {
    assert.equal(isPublicAddress(address), true, address);
  }
  for (const address of [
    '127.0.0.1',
    '127.255.255.254',
    '0.0.0.0',
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '192.0.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
  ]) {
    assert.equal(isPublicAddress(address), false, address);
  }
  for (const address of [
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b::8.8.8.8',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    '2001:db8::1',
    '2001::1',
    '2002:7f00:1::',
    '3fff::1',
    '100::1',
    'fec0::1',
    '[::1]',
  ]) {
    assert.equal(isPublicAddress(address), false, address);
  }
  for (const address of [
    '',
    'localhost',
    '1.2.3',
    '256.1.1.1',
    '1.2.3.4.5',
    ':::',
    '1::2::3',
    'g::1',
    '::ffff:1.2.3',
  ]) {
    assert.equal(isPublicAddress(address), false, address);
  }
});

test('the hosts of a server are its listening address, or all addresses of the machine', () => {
  assert.deepEqual(ownHosts('127.0.0.1'), []);
  assert.deepEqual(ownHosts('192.168.1.2'), ['192.168.1.2']);
  assert.deepEqual(ownHosts('fe80::1%eth0'), ['[fe80::1]']);
  assert.ok(ownHosts('0.0.0.0').includes('127.0.0.1'));
});
