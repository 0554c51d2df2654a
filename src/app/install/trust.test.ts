import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codexDigest, codexFolderTrust, codexHookTrust, geminiFolderTrust } from './trust.ts';

const HANDLER = { type: 'command', command: '/opt/relay hook codex session-start', timeout: 10 };
const HOOKS = {
  hooks: { SessionStart: [{ hooks: [{ type: 'command', command: 'other' }] }, { hooks: [HANDLER] }] },
};
const KEY = '/h/.codex/hooks.json:session_start:1:0';
const trust = (state: object) => codexHookTrust('/h/.codex/hooks.json', HOOKS, { hooks: { state } } as never);

test('Codex trusts a hook by its location and the digest of its command', () => {
  // The digest that Codex 0.166 itself computes for this hook.
  assert.equal(
    codexDigest('session_start', { ...HANDLER, command: 'relay hook codex session-start' }),
    'sha256:38e1c138a5bd52882dea27cd08530875ed4a83022b322b7cc5ddf181fd9e3f67',
  );
  assert.deepEqual(trust({}), [{ event: 'SessionStart', trust: 'untrusted' }]);
  const trusted_hash = codexDigest('session_start', HANDLER);
  assert.deepEqual(trust({ [KEY]: { trusted_hash } }), [{ event: 'SessionStart', trust: 'trusted' }]);
  assert.deepEqual(trust({ [KEY]: { trusted_hash: 'sha256:0' } }), [
    { event: 'SessionStart', trust: 'changed' },
  ]);
  assert.deepEqual(trust({ [KEY]: { trusted_hash, enabled: false } }), [
    { event: 'SessionStart', trust: 'refused' },
  ]);
  assert.deepEqual(codexHookTrust('/h/.codex/hooks.json', {}, {}), []);
});

test('a folder has its own trust setting, else that of the nearest parent folder', () => {
  assert.equal(codexFolderTrust('/a/b', { projects: { '/a': { trust_level: 'trusted' } } }), 'trusted');
  assert.equal(
    codexFolderTrust('/a/b', {
      projects: { '/a/b': { trust_level: 'untrusted' }, '/a': { trust_level: 'trusted' } },
    }),
    'refused',
  );
  assert.equal(codexFolderTrust('/a/b', {}), 'untrusted');
  assert.equal(geminiFolderTrust('/a/b', { '/a': 'TRUST_FOLDER' }), 'trusted');
  assert.equal(geminiFolderTrust('/a/b', { '/a/c': 'TRUST_PARENT' }), 'trusted');
  assert.equal(geminiFolderTrust('/a/b', { '/a/b': 'DO_NOT_TRUST', '/a': 'TRUST_FOLDER' }), 'refused');
  assert.equal(geminiFolderTrust('/a/b', {}), 'untrusted');
});
