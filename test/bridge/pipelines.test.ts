import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { relay, temporaryHome } from '../cli/program.ts';
import { startProgram } from './processes.ts';

const YAML = `name: two
agents: { sh: { shell: true } }
steps:
  - { id: first, agent: sh, prompt: 'echo first >> done.txt; echo 1' }
  - { id: second, agent: sh, needs: [first], prompt: 'echo second >> done.txt; test -e ready && echo 2' }
`;

test('a pipeline runner resumes runs and reruns steps from its own files, and accepts no other commands', async () => {
  using at = temporaryHome();
  const o = { home: at.home };
  const place = (name: string) => join(at.home, name);
  writeFileSync(place('two.yaml'), YAML);
  const failed = await relay(['pipeline', 'run', 'two.yaml', '--json'], o);
  assert.equal(failed.code, 1, failed.stderr);
  const { run } = JSON.parse(failed.stdout) as { run: string };
  const foreign = JSON.parse(
    (await relay(['pipeline', 'run', place('two.yaml'), '--json'], { home: at.home })).stdout,
  ) as { run: string };
  writeFileSync(place('ready'), '');
  const nowhere = await relay(['bridge', 'start', '--pipelines', 'nowhere'], o);
  assert.match(nowhere.stderr, /folder nowhere/);
  mkdirSync(place('own'));
  // A task names only the run. The bridge takes the steps from its own file, and inputs and results from the run.
  writeFileSync(place('own/two.yaml'), YAML.replaceAll('done.txt', 'own.txt'));
  await using bridge = startProgram(['bridge', 'start', '--pipelines', 'own', '--name', 'builder'], o);
  await bridge.line(/tasks from pipeline-tasks/);
  const send = (text: string) =>
    relay(['bridge', 'send', '--wait', '--task-channel', 'pipeline-tasks', text], o);
  const lines = (file: string) => readFileSync(place(file), 'utf8').trim().split('\n');

  const resumed = await send(`relay pipeline run --run ${run}`);
  assert.equal(resumed.code, 0, resumed.stderr);
  assert.match(resumed.stdout, new RegExp(`run ${run} of two: done`));
  assert.deepEqual(lines('own.txt'), ['second'], 'what is recorded is not done again');

  const again = await send(`relay pipeline run --of ${run} --from second`);
  assert.match(again.stdout, /run [0-9a-f-]{36} of two: done/);
  assert.ok(!again.stdout.includes(run), 'it is a new run');
  assert.deepEqual(lines('own.txt'), ['second', 'second']);
  assert.deepEqual(lines('done.txt'), ['first', 'second', 'first', 'second']);

  for (const text of ['touch owned', `relay pipeline run --run ${run}; touch owned`]) {
    const refused = await send(text);
    assert.equal(refused.code, 1);
    assert.match(refused.stdout, /accepts only: relay pipeline run/);
  }
  writeFileSync(place('own/two.yaml'), YAML.replace('name: two', 'name: other'));
  const unknown = await send(`relay pipeline run --run ${foreign.run}`);
  assert.match(unknown.stdout, /own has no file for the pipeline two/);
});
