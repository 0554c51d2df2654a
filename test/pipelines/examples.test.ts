import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startFakeModel } from '../../examples/fake-model.ts';
import { atTerminal, cleanEnv, ENTRY, NODE, relay, temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';

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
    const task = user.slice(user.indexOf('Your task:\n') + 11);
    return `[${task.split(' ').slice(0, 2).join(' ')}]`;
  });
  const { stdout, stderr, code } = await relay(
    ['pipeline', 'run', join(EXAMPLES, 'researchers/pipeline.yaml'), '-i', 'topic=tea'],
    { home: at.home, env: model.env },
  );
  assert.equal(code, 0, stderr);
  assert.equal(stdout, '[Write the]');
  const last = model.asked.at(-1)!.user;
  for (const answer of ['[Write an]', '[Analyse the]', '[Summarise the]'])
    assert.ok(last.includes(answer), answer);
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
  const child = spawn('sh', ['-c', repo], { cwd: at.home, stdio: 'ignore' });
  assert.equal(await new Promise((resolve) => child.once('close', resolve)), 0);
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

test('examples/approved-review: three reviewers, and the review is posted after a person approved it', async () => {
  using at = temporaryHome();
  await using model = await startFakeModel(({ user }) =>
    user.includes('Merge the three') ? 'One comment.' : 'Looks fine.',
  );
  const repo = `git init -q . && git config user.email a@b.c && git config user.name a &&
    echo one > f && git add f && git commit -qm one`;
  const child = spawn('sh', ['-c', repo], { cwd: at.home, stdio: 'ignore' });
  assert.equal(await new Promise((resolve) => child.once('close', resolve)), 0);
  const o = { home: at.home, env: { ...model.env, RELAY_PORT: '1' } };
  const file = join(EXAMPLES, 'approved-review/pipeline.yaml');
  const running = relay(['pipeline', 'run', file, '-i', 'post=cat > posted'], o);
  let id = '';
  await until(async () => {
    const { questions } = JSON.parse((await relay(['approve', '--list', '--json'], o)).stdout);
    id = questions[0]?.id ?? '';
    return id !== '';
  });
  assert.ok(!existsSync(join(at.home, 'posted')));
  await atTerminal(`${NODE} ${ENTRY} approve ${id} approve`, o);
  const { code, stderr } = await running;
  assert.equal(code, 0, stderr);
  assert.equal(readFileSync(join(at.home, 'posted'), 'utf8'), 'One comment.\n');
  assert.equal(model.asked.filter(({ user }) => user.includes('Review the change for')).length, 3);
});

test('examples/budgeted-research: the run stops at its budget and says so', async () => {
  using at = temporaryHome();
  const questions = Array.from({ length: 40 }, (_, n) => `Question ${n}?`);
  await using model = await startFakeModel(({ user }) =>
    user.includes('Which questions') ? JSON.stringify(questions) : 'word '.repeat(2_000),
  );
  const o = { home: at.home, env: model.env };
  const file = join(EXAMPLES, 'budgeted-research/pipeline.yaml');
  const dry = await relay(['pipeline', 'run', file, '--dry-run'], o);
  assert.match(dry.stdout, /at most [\d,]+ tokens/);
  assert.equal(model.asked.length, 0);
  const ran = await relay(['pipeline', 'run', file, '--json'], o);
  const { run, spent } = JSON.parse(ran.stdout);
  assert.ok(spent.tokens >= 20_000 && spent.tokens < 30_000, String(spent.tokens));
  const why = await relay(['pipeline', 'why', run], o);
  assert.match(why.stdout, /budget of the run is used up/);
  assert.match(why.stdout, /Try it alone: .*--only answer/);
});

test('examples/fix-until-green: a coding agent changes the code until its test passes', async () => {
  using at = temporaryHome();
  await using model = await startFakeModel(
    ({ user }) => `export const sum = (a, b) => a ${user.includes('was not enough') ? '+' : '-'} b;`,
  );
  // A program that replaces the coding agent: it asks the model and writes the file.
  const agent = `#!${process.execPath}
import { readFileSync, writeFileSync } from 'node:fs';
const messages = [{ role: 'user', content: readFileSync(0, 'utf8') }];
const answer = await fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages', {
  method: 'POST', headers: { 'content-type': 'application/json', 'x-api-key': 'x' },
  body: JSON.stringify({ model: 'm', max_tokens: 100, messages }),
});
const pieces = [...(await answer.text()).matchAll(/"text": ?("[^"]*")/g)].map(([, piece]) => JSON.parse(piece));
writeFileSync('sum.mjs', pieces.join(''));
console.log('changed sum.mjs');
`;
  mkdirSync(join(at.home, 'bin'));
  writeFileSync(join(at.home, 'bin/claude'), agent, { mode: 0o755 });
  writeFileSync(join(at.home, 'bin/package.json'), '{"type":"module"}');
  writeFileSync(join(at.home, 'sum.mjs'), 'export const sum = () => 0;');
  const check =
    "import { sum } from './sum.mjs'; if (sum(2, 3) !== 5) { console.error('2 + 3 is', sum(2, 3)); process.exit(1); }";
  writeFileSync(join(at.home, 'check.mjs'), check);
  const env = { ...model.env, PATH: `${join(at.home, 'bin')}:${process.env.PATH}` };
  const file = join(EXAMPLES, 'fix-until-green/pipeline.yaml');
  const args = [
    'pipeline',
    'run',
    file,
    '-i',
    `test=${process.execPath} check.mjs`,
    '--only',
    'fix',
    '--json',
  ];
  const ran = await relay(args, { home: at.home, env });
  const { steps, run } = JSON.parse(ran.stdout);
  assert.deepEqual([steps[0].status, steps[0].attempts], ['done', 2], ran.stdout);
  const first = await relay(['pipeline', 'show', run, '--step', 'fix', '--attempt', '1'], {
    home: at.home,
    env,
  });
  assert.match(first.stdout, /2 \+ 3 is -1/);
});
