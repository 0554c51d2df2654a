import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { serve } from '../channels/programs.ts';
import { temporaryHome } from '../cli/program.ts';
import { a2aClient, request, resultOf, stateOf } from './agents.ts';

test('a result that was acknowledged is the task’s, also when the server is killed that very moment', async () => {
  using place = temporaryHome();
  const first = await serve(place.home);
  const client = await a2aClient(first.url, 'HTTP+JSON');
  const task = await client.sendMessage(request('quick', { immediately: true }));
  assert.ok('artifacts' in task);
  const bridge = new ContextRelay({ baseUrl: first.url });
  const metadata = { task_id: task.id, status: 'done', summary: 'did it' };
  await bridge.push('the result', { channel: 'agent-done', metadata });
  first.child.kill('SIGKILL');
  await first.ended;
  await using second = await serve(place.home);
  const again = await a2aClient(second.url, 'HTTP+JSON');
  const found = await again.getTask({ tenant: '', id: task.id, historyLength: 0 });
  assert.equal(stateOf(found), 'completed');
  assert.equal(resultOf(found), 'the result');
});
