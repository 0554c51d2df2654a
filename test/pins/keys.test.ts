import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SCOPES } from '../../src/contract/caller.ts';
import { BUILT_IN_PLANS } from '../../src/domain/usage/plans.ts';
import { commandTree } from '../../src/interfaces/cli/commands/completion.ts';
import { ROOT } from '../../src/interfaces/cli/commands.ts';
import { OPERATIONS } from '../../src/interfaces/http/operations.ts';

/** Users depend on the values below. They are literals on purpose: a change here is a change for users. */

test('plans keep their promised limits', () => {
  const hosted = { payloadBytes: 26_214_400, ttlMs: 86_400_000 };
  const { free, pro, team } = BUILT_IN_PLANS;
  assert.deepEqual(
    { free, pro, team },
    {
      free: { pushes: 1_000, pulls: 10_000, keys: 2, storageBytes: 268_435_456, ...hosted },
      pro: { pushes: 100_000, pulls: 1_000_000, keys: 10, storageBytes: 10_737_418_240, ...hosted },
      team: { pushes: 1_000_000, pulls: 10_000_000, keys: 100, storageBytes: 107_374_182_400, ...hosted },
    },
  );
});

test('scopes, routes and commands keep their names', async () => {
  assert.deepEqual(SCOPES, ['push', 'pull', 'subscribe', 'threads', 'files', 'tasks', 'answer', 'admin']);
  const routes = OPERATIONS.filter(({ verb }) => /^(keys|usage)\./.test(verb.name)).map(
    ({ verb }) => `${verb.route} ${verb.scope}`,
  );
  assert.deepEqual(routes, [
    'POST /keys admin',
    'GET /keys/self null',
    'GET /keys admin',
    'DELETE /keys/:id admin',
    'POST /keys/:id/rotate admin',
    'GET /usage push',
  ]);
  const tree = new Map((await commandTree(ROOT)).map((node) => [node.path, Object.keys(node.flags)]));
  for (const path of ['keys create', 'keys list', 'keys revoke', 'keys rotate', 'usage'])
    assert.ok(tree.has(path), path);
  for (const flag of ['auth', 'open', 'public-url', 'tls-cert', 'tls-key', 'trust-proxy']) {
    assert.ok(tree.get('up')!.includes(flag), flag);
  }
});
