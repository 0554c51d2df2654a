import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OUTCOME_INSTRUCTION } from '../../src/client/bridge/outcome.ts';
import { DONE_CHANNEL, directChannel, TASK_CHANNEL, TASK_GROUP } from '../../src/contract/tasks.ts';
import { commandTree } from '../../src/interfaces/cli/commands/completion.ts';
import { ROOT } from '../../src/interfaces/cli/commands.ts';
import { OPERATIONS } from '../../src/interfaces/http/operations.ts';

/** Orchestrators, agents and scripts depend on these names. They are literals on purpose: a change here is a change for users. */

test('tasks and agents keep their routes', () => {
  const routes = OPERATIONS.filter(({ verb }) => /^(tasks|agents)\./.test(verb.name)).map(
    ({ verb }) => `${verb.name} ${verb.scope} ${verb.route}`,
  );
  assert.deepEqual(routes, [
    'tasks.list tasks GET /tasks',
    'tasks.get tasks GET /tasks/:id',
    'tasks.done tasks POST /tasks/:id/done',
    'tasks.fail tasks POST /tasks/:id/fail',
    'tasks.cancel tasks POST /tasks/:id/cancel',
    'agents.list tasks GET /agents',
    'agents.beat tasks POST /agents/:name',
    'agents.leave tasks DELETE /agents/:name/:instance',
    'agents.enter tasks POST /agents/:name/session',
    'agents.allow tasks POST /agents/:name/allow',
    'agents.send tasks POST /messages',
    'agents.messages tasks GET /agents/:name/messages',
    'agents.take tasks POST /agents/:name/take',
    'agents.mark tasks POST /agents/:name/messages',
    'agents.conversations tasks GET /conversations',
    'agents.conversation tasks GET /conversations/:id',
    'agents.proceed tasks POST /conversations/:id/proceed',
    'agents.claims tasks GET /claims',
    'agents.claim tasks POST /claims',
    'agents.release tasks POST /claims/release',
  ]);
});

test('channels, group and markers keep their names', () => {
  assert.deepEqual(
    [TASK_CHANNEL, DONE_CHANNEL, TASK_GROUP, directChannel('agent-tasks', 'anna')],
    ['agent-tasks', 'agent-done', 'bridges', 'agent-tasks@anna'],
  );
  for (const marker of [
    '=== CC_OUTCOME_START ===',
    'COMPLETED:',
    'NOT_DONE:',
    'NOTES:',
    '=== CC_OUTCOME_END ===',
  ]) {
    assert.ok(
      OUTCOME_INSTRUCTION.split('\n').some((line) => line.startsWith(marker)),
      marker,
    );
  }
});

test('the commands for tasks keep their names and flags', async () => {
  const tree = new Map((await commandTree(ROOT)).map((node) => [node.path, Object.keys(node.flags)]));
  const commands: { [path: string]: string[] } = {
    'bridge start': [
      'tmux',
      'exec',
      'acp',
      'a2a',
      'name',
      'task-channel',
      'done-channel',
      'concurrency',
      'from',
      'timeout',
      'pointer',
      'stuck-after',
    ],
    'bridge send': ['wait', 'timeout', 'to', 'file', 'encrypt', 'task-channel', 'done-channel'],
    'bridge list': [],
    'bridge status': [],
    'task list': ['channel', 'state', 'limit'],
    'task show': [],
    'task done': ['file', 'summary'],
    'task fail': ['file', 'summary'],
    'task cancel': [],
    'task wait': ['timeout'],
    agents: [],
  };
  for (const [path, flags] of Object.entries(commands)) {
    assert.ok(tree.has(path), `relay ${path}`);
    for (const flag of flags) assert.ok(tree.get(path)!.includes(flag), `relay ${path} --${flag}`);
  }
});
