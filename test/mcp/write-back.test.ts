import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { relay as run, temporaryHome } from '../cli/program.ts';
import { countTokens } from '../token-count.ts';
import { overStdio } from './clients.ts';

const home = temporaryHome();
after(() => home[Symbol.dispose]());
const cwd = join(home.home, 'work');
mkdirSync(cwd);
const options = { home: home.home, cwd };

test('a client without a shell can sync, add and change todos, and record decisions in a project', async () => {
  const writers = ['project_sync', 'project_todo', 'project_decide'];
  {
    await using mcp = await overStdio(home.home, '2025-11-25', { cwd });
    const { tools } = await mcp.client.listTools();
    assert.ok(
      !tools.some(({ name }) => writers.includes(name)),
      'without a project there is nothing to write',
    );
  }
  assert.equal((await run(['project', 'init'], options)).code, 0);
  await using mcp = await overStdio(home.home, '2026-07-28', { cwd });
  const { tools } = await mcp.client.listTools();
  const offered = tools.filter(({ name }) => writers.includes(name));
  assert.equal(offered.length, 3);
  assert.ok(offered.every(({ annotations }) => !annotations?.readOnlyHint));
  const { tokens } = countTokens(JSON.stringify(tools));
  assert.ok(tokens <= 2_000, `${tokens} tokens`);

  assert.equal(
    await mcp.call('project_todo', { title: 'Boil\nwater', priority: 'high' }),
    'Added TODO-001: Boil water',
  );
  assert.equal(await mcp.call('project_todo', { title: 'Pour' }), 'Added TODO-002: Pour');
  assert.match(await mcp.call('project_todo', { id: '2', status: 'blocked' }), /^Error .*needs "reason"/);
  const blocked = { id: '2', status: 'blocked', reason: 'no cup' };
  assert.equal(await mcp.call('project_todo', blocked), 'TODO-002 is blocked: Pour');
  assert.match(await mcp.call('project_todo', {}), /^Error .*needs "title"/);
  const choice = { title: 'Green tea', context: 'two kinds', decision: 'green', consequences: 'less milk' };
  assert.equal(await mcp.call('project_decide', choice), 'Added ADR-001.');
  const sync = { task: 'Tea', done: ['TODO-001'], next: ['drink'], note: 'it is hot' };
  assert.equal(await mcp.call('project_sync', sync), 'Written to state.json.');
  const leak = { note: `log in with ghp_${'a1B2c3D4'.repeat(5)}` };
  const warned = /^Written to state\.json\.\nWarning: this text may contain a secret \(GitHub token\)/;
  assert.match(await mcp.call('project_sync', leak), warned);
  assert.match(await mcp.call('project_brief'), /Notes: log in with \[redacted\]/);
  assert.equal(await mcp.call('project_sync', sync), 'Written to state.json.');
  assert.match(await mcp.call('project_sync', {}), /^Error writing the state: All fields are empty/);
  assert.match(
    await mcp.call('project_sync', { note: 'x'.repeat(10_001) }),
    /^Error .* the limit in project files is 10000/,
  );

  const state = JSON.parse(readFileSync(join(cwd, 'state.json'), 'utf8'));
  assert.deepEqual(
    [state.current_task, state.progress.completed, state.notes],
    ['Tea', ['Boil water'], 'it is hot'],
  );
  const brief = await mcp.call('project_brief');
  for (const line of ['- Next: drink', /TODO-002 \(blocked.*no cup/, /ADR-001 .*Green tea: green/])
    assert.match(brief, new RegExp(line), brief);
});

test('an agent reads its inbox and marks it as read by tool', async () => {
  await run(['follow', 'desk', '--as', 'ann'], options);
  await run(['publish', 'desk', 'the kettle is on'], options);
  await using mcp = await overStdio(home.home, '2025-11-25', { cwd });
  const unread = await mcp.call('inbox_read', { agent: 'ann' });
  const [message = '', how = ''] = unread.split('\n');
  assert.deepEqual([JSON.parse(message).channel, JSON.parse(message).msg], ['desk', 'the kettle is on']);
  const cursors = JSON.parse(/cursors (\{.*\})\./.exec(how)![1]!);
  assert.equal(await mcp.call('inbox_mark_read', { agent: 'ann', cursors }), 'Marked as read.');
  assert.equal(await mcp.call('inbox_read', { agent: 'ann' }), '(no new messages)');
});
