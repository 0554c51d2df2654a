import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sdk from '../../src/public/index.ts';

test('the SDK exports exactly this', () => {
  assert.deepEqual(Object.keys(sdk).sort(), ['AgentBridge', 'ContextRelay', 'RelayError']);
});

test('a client has exactly these methods and groups of methods', () => {
  const client = new sdk.ContextRelay({ baseUrl: 'http://127.0.0.1:9' });
  const names = [sdk.ContextRelay.prototype, client].flatMap((from) => Object.getOwnPropertyNames(from));
  assert.deepEqual(names.sort(), [
    'agents',
    'ask',
    'asksForKeys',
    'channels',
    'constructor',
    'cost',
    'delete',
    'files',
    'hasChannelKey',
    'inbox',
    'inspect',
    'peek',
    'publish',
    'pull',
    'pullBytes',
    'pullPart',
    'pullStream',
    'push',
    'pushDetailed',
    'questions',
    'receipts',
    'renew',
    'subscribe',
    'tasks',
    'threads',
    'unseal',
  ]);
});

test('an error has exactly these public fields', () => {
  const error = new sdk.RelayError('not_found', { what: 'that pointer' });
  assert.equal(error.name, 'RelayError');
  assert.equal(error.code, 'not_found');
  assert.equal(error.status, 404);
  assert.equal(error.exit, 3);
  assert.deepEqual(Object.keys(error.toJSON()), ['error', 'code', 'hint']);
});
