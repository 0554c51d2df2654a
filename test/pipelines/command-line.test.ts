import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Reply, startFakeModel } from '../../examples/fake-model.ts';
import { atTerminal, cleanEnv, ENTRY, NODE, relay, temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';
import { assertWhole, json, killAfter, prepareRun, type RunDetail, randomPipeline } from './long-run.ts';

test('a run that was killed resumes where it was and records every step once', async () => {
  using at = temporaryHome();
  const run = prepareRun(at.home, randomPipeline(8, 3, '0.2'));
  await killAfter(run, [], 3);
  let last: { code: number; value: RunDetail };
  let goes = 0;
  do last = await json<RunDetail>(['pipeline', 'run', run.file, '--resume'], run);
  while (last.code !== 0 && ++goes < 5);
  await assertWhole(run, last.value.run, 8);
});

const TWO = `name: two
agents: { sh: { shell: true }, up: { shell: "tr a-z A-Z" }, m: { provider: anthropic, system: You are a poet. } }
inputs: { word: tea }
steps:
  - { id: first, agent: sh, prompt: 'echo "{{ inputs.word }} of $(whoami >/dev/null; echo "$RELAY_STEP_ID")"' }
  - { id: second, agent: up, prompt: "{{ steps.first.output }}!" }
`;

test('results go to stdout, progress of steps to stderr, and details are shown by other commands', async () => {
  using at = temporaryHome();
  writeFileSync(join(at.home, 'two.yaml'), TWO);
  const o = { home: at.home };
  const ran = await relay(['pipeline', 'run', 'two.yaml', '-i', 'word=milk'], o);
  assert.equal(ran.code, 0, ran.stderr);
  assert.equal(ran.stdout, 'MILK OF FIRST!');
  assert.match(
    ran.stderr,
    /^first running\nfirst done [\d.]+ s · [0-9a-f]{26}\nsecond running\nsecond done/m,
  );
  const { run } = JSON.parse((await relay(['pipeline', 'list', '--json'], o)).stdout).runs[0];
  const result = await relay(['pipeline', 'show', run.slice(0, 8)], o);
  assert.match(result.stdout, /input word +"milk"/);
  assert.match(result.stdout, /second +done/);
  assert.equal((await relay(['pipeline', 'run', 'two.yaml', '--resume'], o)).code, 3);
});

test('steps that saw only a part of their context, or got an incomplete answer, are warnings', async () => {
  using at = temporaryHome();
  const replies: Reply[] = [
    { calls: [{ name: 'pull', arguments: { ref: 'app.diff', lines: '1-3' } }] },
    { text: 'looks fi', cut: true },
  ];
  await using model = await startFakeModel(() => replies[model.asked.length - 1]!);
  const yaml = `agents: { sh: { shell: true }, count: { shell: "wc -c" }, m: { provider: anthropic } }
steps:
  - { id: diff, agent: sh, prompt: 'seq -f "+ changed line number %g of the importer" 5000', output: { name: app.diff } }
  - { id: size, agent: count, context: [diff], prompt: count it }
  - { id: review, agent: m, context: [diff], needs: [size], prompt: Review the diff. }
  - { id: end, agent: sh, needs: [review], prompt: echo done }
`;
  writeFileSync(join(at.home, 'review.yaml'), yaml);
  const o = { home: at.home, env: model.env };
  const ran = await relay(['pipeline', 'run', 'review.yaml'], o);
  assert.equal(ran.code, 6, ran.stderr);
  assert.equal(ran.stdout, 'done\n');
  assert.match(ran.stderr, /warning size saw only [\d.]+ (?:KiB|bytes) of 208\.9 KiB of app\.diff\.\n/);
  assert.match(
    ran.stderr,
    /review saw only [\d.]+ (?:KiB|bytes) of 208\.9 KiB of app\.diff, and pulled \d+ tokens\.\n/,
  );
  assert.match(ran.stderr, /The answer of review was cut off at the token limit/);
  const { run } = JSON.parse((await relay(['pipeline', 'list', '--json'], o)).stdout).runs[0];
  const { stdout } = await relay(['tail', run, '--all', '--json'], o);
  const events: { type: string; payload: { step?: string; incomplete?: string; partial?: string[] } }[] =
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  const done = events.find(({ type, payload }) => type === 'step.done' && payload.step === 'review')!;
  assert.equal(done.payload.incomplete, 'cut');
  assert.match(done.payload.partial![0]!, /of app\.diff$/);
  const result = await relay(['pipeline', 'show', run], o);
  assert.match(result.stdout, /review +done +.*it saw only/);
});

test('stdout and stderr of a failed step can be read later', async () => {
  using at = temporaryHome();
  const o = { home: at.home };
  const yaml = `agents: {sh: {shell: true}}
steps:
  - id: tests
    agent: sh
    retry: {max: 1, backoff: 1ms}
    prompt: 'for i in $(seq 300); do echo "line $i"; done; echo "attempt $RELAY_STEP_ATTEMPT failed" >&2; exit 3'`;
  writeFileSync(join(at.home, 'failing.yaml'), yaml);
  const ran = await relay(['pipeline', 'run', 'failing.yaml', '--json'], o);
  assert.equal(ran.code, 1, ran.stderr);
  const { run } = JSON.parse((await relay(['pipeline', 'list', '--json'], o)).stdout).runs[0];
  const [step] = JSON.parse((await relay(['pipeline', 'show', run, '--json'], o)).stdout).steps;
  assert.deepEqual([step.status, step.attempts, step.attempt_refs.length], ['failed', 2, 2]);
  for (const [i, ref] of step.attempt_refs.entries()) {
    const { stdout } = await relay(['artifact', 'get', ref, '--thread', run], o);
    const lines = stdout.trimEnd().split('\n');
    const complaint = `attempt ${i + 1} failed`;
    assert.ok(lines.includes(complaint), stdout);
    const otherLines = lines.filter((line) => line !== complaint);
    assert.deepEqual(
      otherLines,
      Array.from({ length: 300 }, (_, n) => `line ${n + 1}`),
    );
  }
  assert.ok((await relay(['pipeline', 'show', run], o)).stdout.includes(step.attempt_refs[1]));
});

test('outputs of several last steps are joined with newlines, and --run excludes --resume', async () => {
  using at = temporaryHome();
  const steps = ['a', 'b', 'c'].map((id) => `  - {id: ${id}, agent: ${id === 'b' ? 'line' : 'sh'}}`);
  const yaml = `agents: {sh: {shell: printf "$RELAY_STEP_ID"}, line: {shell: echo "$RELAY_STEP_ID"}}\nsteps:\n${steps.join('\n')}`;
  writeFileSync(join(at.home, 'three.yaml'), yaml);
  const ran = await relay(['pipeline', 'run', 'three.yaml'], { home: at.home });
  assert.equal(ran.stdout, 'a\nb\nc', ran.stderr);
  const both = await relay(['pipeline', 'run', 'three.yaml', '--resume', '--run', 'x'], { home: at.home });
  assert.deepEqual([both.code, /Use one of them/.test(both.stderr)], [2, true]);
});

test('a terminal shows a line for the running steps, and removes it when they are done', async () => {
  using at = temporaryHome();
  writeFileSync(
    join(at.home, 'slow.yaml'),
    'agents: {sh: {shell: sleep 0.5}}\nsteps: [{id: nap, agent: sh}]',
  );
  const { stdout } = await atTerminal('$relay pipeline run slow.yaml', { home: at.home });
  assert.match(stdout, /[⠋⠙⠹⠸] nap [\d.]+ s/);
  assert.match(stdout, /0 of 1 done/);
  assert.match(stdout, /nap done [\d.]+ s/);
});

test('the items of a for_each count as one step in the progress', async () => {
  using at = temporaryHome();
  const yaml = `agents: {sh: {shell: true}}
steps:
  - {id: each, agent: sh, for_each: [a, b, c], prompt: 'sleep 0.2'}
  - {id: nap, agent: sh, needs: each, prompt: sleep 0.5}`;
  writeFileSync(join(at.home, 'items.yaml'), yaml);
  const { stdout } = await atTerminal('$relay pipeline run items.yaml', { home: at.home });
  assert.match(stdout, /1 of 2 done/);
  assert.doesNotMatch(stdout, /[3-9] of 2 done/);
});

test('--dry-run aligns the steps of models with steps that need no model', async () => {
  using at = temporaryHome();
  const yaml = `agents: {m: {provider: anthropic, model: tiny}, sh: {shell: true}}
steps:
  - {id: review, agent: m, prompt: Review the change.}
  - {id: test, agent: sh, prompt: 'true', retry: 1}`;
  writeFileSync(join(at.home, 'mixed.yaml'), yaml);
  const o = { home: at.home, env: { ANTHROPIC_API_KEY: 'x' } };
  const { stdout, stderr } = await relay(['pipeline', 'run', 'mixed.yaml', '--dry-run'], o);
  assert.match(
    stdout,
    /^review {2}anthropic\/tiny {2}1 × {7}at most .* price unknown\ntest {4}shell {11}1 to 2 ×\nat most [\d,]+ tokens\n$/,
    stderr,
  );
});

test('Ctrl-C ends the running steps, stops cleanly, and prints how to resume', async () => {
  using at = temporaryHome();
  const started = join(at.home, 'started');
  const yaml = `agents: {sh: {shell: true}}
steps:
  - {id: nap, agent: sh, prompt: 'trap "touch ended; exit 1" TERM; touch started; while :; do sleep 0.05; done'}`;
  writeFileSync(join(at.home, 'nap.yaml'), yaml);
  const child = spawn(NODE, [ENTRY, 'pipeline', 'run', 'nap.yaml'], {
    env: cleanEnv({ home: at.home }),
    cwd: at.home,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  await until(() => existsSync(started));
  child.kill('SIGINT');
  const code = await ended;
  assert.equal(code, 130, stderr);
  assert.match(stderr, /continue with: relay pipeline run --run [0-9a-f-]{36}/);
  assert.ok(existsSync(join(at.home, 'ended')));
});

test('a model in a pipeline gets its system text and previews, and its tokens are in the ledger', async () => {
  using at = temporaryHome();
  await using model = await startFakeModel(() =>
    model.asked.length === 1
      ? {
          text: 'Let me see.',
          calls: ['second', 'first'].map((ref) => ({ name: 'pull', arguments: { ref, lines: '1' } })),
        }
      : 'Roses are red.',
  );
  const yaml = `${TWO}  - { id: poem, agent: m, context: [second], prompt: Write it. }\n`;
  writeFileSync(join(at.home, 'poem.yaml'), yaml);
  const { stdout, code, stderr } = await relay(['pipeline', 'run', 'poem.yaml', '--json'], {
    home: at.home,
    env: model.env,
  });
  assert.equal(code, 0, stderr);
  const [request] = model.asked;
  assert.match(request!.system, /^You are a poet\./);
  assert.match(request!.user, /artifact [0-9a-f]{26} "second"[\s\S]*TEA OF FIRST!/);
  assert.doesNotMatch(request!.user, /"first" \(tool_output\)/);
  const stats = await relay(['stats', JSON.parse(stdout).run, '--json'], { home: at.home });
  const { billed, prompts, recent_prompts } = JSON.parse(stats.stdout);
  assert.ok(billed.input_tokens > 0);
  const [step] = recent_prompts;
  assert.deepEqual(
    [prompts.prompts, recent_prompts.length, step.kind],
    [1, 1, 'answered'],
    'shells are no models',
  );
  assert.ok(step.shown_tokens > 50 && step.pasted_tokens > 50);
  const [, again] = model.asked;
  assert.match(again!.results[0]!, /TEA OF FIRST!/, 'it may pull of what it is shown');
  assert.match(again!.results[1]!, /^Not done: this artifact does not exist/, 'and of nothing else');
  assert.equal(prompts.tool_calls, 2);
  assert.equal(prompts.prompt_tokens + prompts.tool_call_tokens, step.shown_tokens);
  assert.equal(prompts.read_tokens, 0);
});

test('an invalid file is rejected with its line numbers before anything runs', async () => {
  using at = temporaryHome();
  writeFileSync(
    join(at.home, 'bad.yaml'),
    'agents: {sh: {shell: x}}\nsteps:\n  - {id: a, agent: shh, needs: [b]}\n',
  );
  const checked = await relay(['pipeline', 'validate', 'bad.yaml'], { home: at.home });
  assert.equal(checked.code, 2);
  assert.match(checked.stdout, /^bad\.yaml:3: there is no agent "shh"; did you mean "sh"\?$/m);
  assert.match(checked.stdout, /^bad\.yaml:3: the step "a" needs "b", which does not exist$/m);
  const ran = await relay(['pipeline', 'run', 'bad.yaml'], { home: at.home });
  assert.equal(ran.code, 2);
  assert.match(ran.stderr, /bad\.yaml:3: there is no agent "shh"/);
});

test('validate and --dry-run read the files that a pipeline uses, and look at this machine', async () => {
  using at = temporaryHome();
  const o = { home: at.home, env: { ANTHROPIC_API_KEY: 'x' } };
  const write = (name: string, text: string) => writeFileSync(join(at.home, name), text);
  write('a.yaml', 'agents: { sh: { shell: x } }\nsteps: [{ id: b, uses: ./b.yaml }]');
  write('b.yaml', 'agents: { sh: { shell: x } }\nsteps: [{ id: a, uses: ./a.yaml }]');
  const circle = await relay(['pipeline', 'validate', 'a.yaml'], o);
  assert.deepEqual([circle.code, /in a circle: a\.yaml → b\.yaml → a\.yaml/.test(circle.stderr)], [2, true]);
  const prices = { date: '2026-11-01', currency: 'EUR', models: { 'big-model': { input: 1, output: 2 } } };
  write('config.json', JSON.stringify({ prices }));
  write(
    'inner.yaml',
    `inputs: { word: { required: true } }
agents: { m: { provider: anthropic, model: big-model, max_tokens: 100 } }
steps: [{ id: say, agent: m, for_each: [1, 2], prompt: "{{ inputs.word }}" }]`,
  );
  write(
    'outer.yaml',
    `agents:
  missing: { cli: program-that-nobody-has }
  odd: { provider: nobodys }
  m: { provider: anthropic, model: bug-model }
steps:
  - { id: sub, uses: ./inner.yaml, for_each: [a, b, c], with: { word: "{{ item }}" } }
  - { id: bad, uses: ./inner.yaml, with: { wrod: x } }
  - { id: one, agent: missing, prompt: x }
  - { id: two, agent: m, prompt: x }
  - { id: three, agent: odd, prompt: x }`,
  );
  const checked = await relay(['pipeline', 'validate', 'outer.yaml'], o);
  assert.equal(checked.code, 2);
  for (const line of [
    /^outer\.yaml:2: .*the program "program-that-nobody-has" is not installed$/m,
    /^outer\.yaml:3: .*nobodys/m,
    /^outer\.yaml:4: .*does not have the model "bug-model"$/m,
    /^outer\.yaml:7: inner\.yaml has no input "wrod"$/m,
    /^outer\.yaml:7: the step "bad" does not set the input "word" of inner\.yaml$/m,
  ])
    assert.match(checked.stdout, line);
  write(
    'outer.yaml',
    'agents: {}\nsteps: [{ id: sub, uses: ./inner.yaml, for_each: [a, b, c], with: { word: x } }]',
  );
  const dry = await relay(['pipeline', 'run', 'outer.yaml', '--dry-run', '--json'], o);
  const { steps, money, prices_date } = JSON.parse(dry.stdout);
  assert.deepEqual(
    steps.map(({ step, calls }: { step: string; calls: { most: number } }) => [step, calls.most]),
    [
      ['sub', 3],
      ['sub/say', 6],
    ],
  );
  assert.equal(steps[1].most.output, 600);
  assert.ok(money > 0);
  assert.equal(prices_date, '2026-11-01');
});
