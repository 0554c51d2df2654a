import assert from 'node:assert/strict';
import { test } from 'node:test';
import { relay, temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';
import { start } from './programs.ts';

test('a member whose process was killed leaves its group within seconds', async () => {
  using place = temporaryHome();
  const { home } = place;
  const members = async () => {
    const { stdout, stderr } = await relay(['channel', 'inspect', 'c', '--json'], { home });
    assert.notEqual(stdout, '', stderr);
    return JSON.parse(stdout).groups.flatMap((group: { members: unknown[] }) => group.members).length;
  };
  await relay(['publish', 'c', 'x'], { home });
  await using staying = start(['watch', 'c', '--group', 'g'], { home });
  await using killed = start(['watch', 'c', '--group', 'g'], { home });
  await until(async () => (await members()) === 2);
  killed.child.kill('SIGKILL');
  await until(async () => (await members()) === 1);
  assert.equal(staying.child.exitCode, null);
});
