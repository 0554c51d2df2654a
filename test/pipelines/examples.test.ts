import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { startFakeModel } from '../../examples/fake-model.ts';
import { cleanEnv, relay, temporaryHome } from '../cli/program.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples');

for (const [name, checked] of [
  ['code-review', /the bill: \d+ tokens without the relay, \d+ with it[\s\S]*checked: /],
  ['checkpoint', /the bill: \d+ tokens without the relay, \d+ with it[\s\S]*checked: /],
] as const) {
  test(`examples/${name} runs and checks its own output`, async () => {
    using at = temporaryHome();
    const child = spawn(process.execPath, [join(EXAMPLES, name, 'run.ts'), '--fake'], {
      env: cleanEnv({ home: at.home }),
      cwd: at.home,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (out += chunk));
    const code = await new Promise((resolve) => child.once('close', resolve));
    assert.equal(code, 0, out);
    assert.match(out, checked);
  });
}

test('examples/researchers/pipeline.yaml: three researchers run at once, and the synthesiser sees all three results', async () => {
  using at = temporaryHome();
  await using model = await startFakeModel(({ user }) => {
    const asked = user.slice(user.indexOf('Your task:\n') + 11);
    return `[${asked.split(' ').slice(0, 2).join(' ')}]`;
  });
  const { stdout, stderr, code } = await relay(
    ['pipeline', 'run', join(EXAMPLES, 'researchers/pipeline.yaml'), '-i', 'topic=tea'],
    { home: at.home, env: model.env },
  );
  assert.equal(code, 0, stderr);
  assert.equal(stdout, '[Write the]');
  const last = model.asked.at(-1)!.user;
  for (const said of ['[Write an]', '[Analyse the]', '[Summarise the]']) assert.ok(last.includes(said), said);
  assert.ok(last.endsWith('Write the report on tea.'));
});

test('examples/code-review/pipeline.yaml: each finding gets a fix, and one summary covers all', async () => {
  using at = temporaryHome();
  await using model = await startFakeModel(({ user }) => {
    if (user.includes('JSON array of findings'))
      return '```json\n[{"title":"loose comparison","line":2},{"title":"token in the log","line":3}]\n```';
    return user.includes('Write it up') ? 'The write-up.' : 'Use ===.';
  });
  const repo = `git init -q . && git config user.email a@b.c && git config user.name a &&
    echo one > f && git add f && git commit -qm one && echo two > f && git commit -qam two`;
  const made = spawn('sh', ['-c', repo], { cwd: at.home, stdio: 'ignore' });
  assert.equal(await new Promise((resolve) => made.once('close', resolve)), 0);
  const ran = await relay(['pipeline', 'run', join(EXAMPLES, 'code-review/pipeline.yaml'), '--json'], {
    home: at.home,
    env: model.env,
  });
  const summary = JSON.parse(ran.stdout);
  assert.deepEqual(
    summary.steps.map(({ step, status }: { step: string; status: string }) => [step, status]),
    [
      ['diff', 'done'],
      ['review', 'done'],
      ['fix[0]', 'done'],
      ['fix[1]', 'done'],
      ['write_up', 'done'],
    ],
  );
  const fixes = model.asked.filter(({ user }) => user.includes('Propose a fix'));
  assert.deepEqual(fixes.map(({ user }) => /finding: (.+)$/.exec(user)?.[1]).sort(), [
    'loose comparison (line 2)',
    'token in the log (line 3)',
  ]);
  assert.match(fixes[0]!.user, /-one\n\+two/);
});
