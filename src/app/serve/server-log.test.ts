import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logLine } from './server-log.ts';

const at = new Date('2026-11-15T12:00:00Z');
const line = (fields: Record<string, unknown>) => logLine({ level: 'info', event: 'e', ...fields }, at);

test('an event is one line of JSON with its time', () => {
  assert.equal(line({ n: 1 }), '{"at":"2026-11-15T12:00:00.000Z","level":"info","event":"e","n":1}\n');
});

test('no value can start a new line or send escape codes to a terminal', () => {
  const hostile = 'a\r\n{"level":"error"}\u001b[31m\u009b31m\u2028\u2029\u202eb\u007f';
  const logged = line({ name: hostile });
  assert.equal(logged.split('\n').length, 2);
  assert.doesNotMatch(logged.slice(0, -1), /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202e]/);
  assert.equal(JSON.parse(logged).name, hostile);
});

test('keys, fragments, tickets and passwords are removed from every field', () => {
  const secrets = [
    `cr_live_${'a1B2'.repeat(10)}`,
    `https://h/pull/x#key=${'k'.repeat(43)}=`,
    'Authorization: Bearer sometoken12345',
    'ws://h/ws/c?ticket=0123456789abcdef',
    'https://me:hunter22@h/',
  ];
  const logged = line({ error: secrets.join(' ; '), nested: { headers: secrets } });
  for (const secret of ['a1B2a1B2', 'kkkk', 'sometoken', '0123456789abcdef', 'hunter22']) {
    assert.ok(!logged.includes(secret), secret);
  }
  assert.doesNotThrow(() => JSON.parse(logged));
});

test('a line of any size is cleaned in linear time', () => {
  for (const hostile of [
    'eyJ'.repeat(50_000),
    'https://a:'.repeat(30_000),
    'authorization:'.repeat(20_000),
  ]) {
    assert.ok(line({ hostile }).endsWith('\n'));
  }
});
