import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextTime } from '../../src/client/pipelines/cron.ts';
import { readPipeline } from '../../src/client/pipelines/read-pipeline.ts';
import { Mask } from '../../src/client/pipelines/secrets.ts';
import { StepFailure } from '../../src/client/pipelines/step-runner.ts';
import type { RunQuestion } from '../../src/client/pipelines/step-work.ts';
import { type ServeOptions, TriggerServer } from '../../src/client/pipelines/triggers.ts';
import type { AskedQuestion } from '../../src/contract/questions.ts';
import { openPipelines } from './open-pipelines.ts';

const answers =
  (questions: RunQuestion[], answer: (question: RunQuestion) => string) => async (q: RunQuestion) => {
    questions.push(q);
    q.onAsked({ id: 'q_1', question: q.question } as AskedQuestion, null);
    return { answer: answer(q), answered_by: 'ann', comment: null } as AskedQuestion;
  };

const APPROVED = `
agents: { sh: { shell: "true" } }
steps:
  - { id: work, agent: sh }
  - { id: ok, approve: { question: "Post {{ steps.work.output }}?", who: [ann], timeout: 1h }, needs: [work] }
  - { id: post, agent: sh, needs: [ok] }
`;

test('an approval asks with its question and lets the run go on, and a rejection stops what depends on it', async () => {
  const questions: RunQuestion[] = [];
  const { start, calls, progressEvents, text } = openPipelines(() => 'it', {
    ask: answers(questions, () => 'approve'),
  });
  const done = await start(APPROVED);
  assert.equal(done.status, 'done');
  assert.equal(await text(done.run, 'ok'), 'approve');
  assert.deepEqual(
    [questions[0]!.question, questions[0]!.who, questions[0]!.timeoutMs],
    ['Post it?', ['ann'], 3_600_000],
  );
  assert.ok(progressEvents.some(({ status, text }) => status === 'waiting' && text === 'q_1'));
  assert.deepEqual(
    calls.map(({ step }) => step),
    ['work', 'post'],
  );
  const no = openPipelines(() => 'it', { ask: answers([], () => 'reject') });
  const rejected = await no.start(APPROVED);
  assert.deepEqual(
    rejected.steps.map(({ step, status, why }) => [step, status, why]),
    [
      ['work', 'done', undefined],
      ['ok', 'failed', 'ann rejected it'],
      ['post', 'blocked', 'ok failed'],
    ],
  );
});

test('until repeats a step with the previous round as context, at most N times', async () => {
  const yaml = `
agents: { sh: { shell: "true" } }
steps:
  - { id: fix, agent: sh, until: { condition: "output contains 'green'", max: 3 } }
`;
  const words = ['red', 'blue', 'green'];
  const { start, calls, text } = openPipelines(({ attempt }) => words[attempt - 1]!);
  const done = await start(yaml);
  assert.equal(await text(done.run, 'fix'), 'green');
  assert.deepEqual(
    calls.map(({ context }) => context.map(({ name }) => name)),
    [[], ['fix, attempt 1'], ['fix, attempt 2']],
  );
  assert.equal(done.steps[0]!.failures!.length, 2);
  const never = openPipelines(() => 'red');
  const failed = await never.start(yaml);
  assert.match(failed.steps[0]!.why!, /still false after 3 rounds/);
  assert.equal(failed.steps[0]!.attempt_refs!.length, 3);
});

test('until on the exit code counts failures of the command as rounds, and check runs a command', async () => {
  const code = openPipelines(({ attempt }) => {
    if (attempt < 3) throw new StepFailure('exit code 1', 'no', 1);
    return 'ok';
  });
  const done = await code.start(
    'agents: { sh: { shell: "true" } }\nsteps: [{ id: s, agent: sh, until: exit_code == 0 }]',
  );
  assert.equal(done.status, 'done');
  const prompts: string[] = [];
  const checked = openPipelines(({ agent, prompt, attempt }) => {
    if (agent.kind === 'provider') return `change ${attempt}`;
    prompts.push(prompt);
    if (prompts.length < 2) throw new StepFailure('exit code 1', 'the test fails', 1);
    return 'pass';
  });
  const yaml = `
agents: { m: { provider: anthropic } }
steps: [{ id: fix, agent: m, prompt: Fix it., until: { check: npm test } }]`;
  const fixed = await checked.start(yaml);
  assert.equal(await checked.text(fixed.run, 'fix'), 'change 2');
  assert.deepEqual(prompts, ['npm test', 'npm test']);
  assert.match(checked.calls[2]!.prompt, /Attempt 1 was not enough/);
  const content = await checked.threads.api.content(fixed.run, fixed.steps[0]!.attempt_refs![0]!);
  assert.match(
    await new Response(content.body as Uint8Array<ArrayBuffer>).text(),
    /change 1[\s\S]*the test fails/,
  );
});

const SPENDING = (limit: string) => `
agents: { m: { provider: anthropic } }
budget: ${limit}
max_parallel: 2
steps: [{ id: each, agent: m, for_each: [1, 2, 3, 4, 5, 6], prompt: "{{ item }}" }]`;
const BILLED = { content: 'x', by: 'big-model', billed: { input_tokens: 90, output_tokens: 10 } };

test('a budget in tokens or money stops a run after at most one call more per parallel step', async () => {
  for (const limit of ['{ tokens: 200 }', '{ money: 0.0002 }']) {
    const prices = { currency: 'USD', models: { 'big-model': { input: 1, output: 1 } } };
    const { start, calls } = openPipelines(() => BILLED, { prices });
    const ran = await start(SPENDING(limit));
    assert.equal(ran.status, 'failed');
    assert.ok(calls.length >= 2 && calls.length <= 3, `${calls.length} calls`);
    assert.match(ran.steps.at(-1)!.why!, /budget of the run is used up: .* of /);
    assert.equal(ran.spent.tokens, calls.length * 100);
  }
  const unknown = openPipelines(() => BILLED);
  assert.match(
    (await unknown.start(SPENDING('{ money: 1 }'))).steps[0]!.why!,
    /price of big-model is unknown/,
  );
});

test('with on_limit: ask a person extends the budget once for all steps, also after a resume', async () => {
  const questions: RunQuestion[] = [];
  const ask = answers(questions, () => (questions.length < 2 ? 'continue' : 'stop'));
  const { start, resume, calls } = openPipelines(() => BILLED, { ask });
  const yaml = SPENDING('{ tokens: 200, on_limit: ask }');
  const ran = await start(yaml);
  assert.equal(ran.status, 'failed');
  assert.ok(calls.length >= 4 && calls.length <= 5, `${calls.length} calls`);
  assert.match(questions[0]!.question, /used up: 200 of 200 tokens. Continue/);
  const before = calls.length;
  const again = await resume(ran.run, yaml);
  assert.equal(again.status, 'failed');
  assert.equal(calls.length, before);
});

test('a run that cannot be read does not stop a trigger server', async () => {
  const { pipelines, threads } = openPipelines(() => 'done');
  const { thread_id } = await threads.api.create({ name: 'pipeline hook' });
  const forged = { pipeline: 'hook', hash: 'x', text: 'steps: 7', inputs: {}, steps: [], trigger: {} };
  await threads.api.record(thread_id, 'pipeline.started', forged);
  const text = `name: hook
secrets: { HOOK: HOOK }
agents: { sh: { shell: true } }
triggers: [{ webhook: deploy, secret: HOOK }]
steps: [{ id: say, agent: sh, prompt: echo }]
`;
  const stop = new AbortController();
  const lines: string[] = [];
  let looks = 0;
  const runs = async () => {
    if (++looks === 3) stop.abort();
    return { runs: [{ run: thread_id, status: 'running' }] };
  };
  const relay = { threads: { ...threads.api, runs } } as unknown as ServeOptions['relay'];
  const o = { signal: stop.signal, pipelines, relay, now: Date.now, pause: async () => {} };
  await new TriggerServer(
    { text, file: 'hook.yaml', name: 'hook' },
    { ...o, log: (line) => lines.push(line) },
  ).serve();
  assert.deepEqual(lines, ['hook: this server watches its triggers']);
});

test('missed times of a schedule start no run, one run or all runs, however many there are', async () => {
  for (const [missed, hours, runs] of [
    ['skip', 5, 0],
    ['last', 1_100, 1],
    ['last', 1_000, 1],
    ['all', 5, 5],
  ] as const) {
    const { pipelines, threads } = openPipelines(() => 'x');
    let started = 0;
    const log = (line: string) => {
      if (/: run \S+$/.test(line)) started++;
    };
    const text = `name: nightly
agents: { sh: { shell: true } }
triggers: [{ schedule: "0 * * * *", missed: ${missed} }]
steps: [{ id: say, agent: sh, prompt: "{{ trigger.at }}" }]
`;
    let at = Date.parse('2026-01-01T00:30:00Z');
    const serve = async () => {
      const stop = new AbortController();
      const pause = async (ms: number) => {
        // The server pauses for 5 s between two searches for dead runs. With any other pause it waits for the next
        // scheduled time. Then stop it.
        await new Promise((resolve) => setTimeout(resolve, ms === 5_000 ? 50 : 0));
        if (ms !== 5_000) stop.abort();
      };
      const relay = { threads: { ...threads.api, runs: async () => ({ runs: [] }) } };
      const o = { pipelines, relay: relay as unknown as ServeOptions['relay'], now: () => at, pause };
      const file = { text, file: 'nightly.yaml', name: 'nightly' };
      await new TriggerServer(file, { ...o, signal: stop.signal, log }).serve();
    };
    await serve();
    at += hours * 3_600_000;
    await serve();
    assert.equal(started, runs, `${missed} of ${hours}`);
  }
});

test('a secret is masked in the names of fields too', () => {
  const masked = new Mask({ TOKEN: 'canary-4711' }).json({ 'x canary-4711': ['canary-4711'] });
  assert.deepEqual(masked, { 'x [secret TOKEN]': ['[secret TOKEN]'] });
});

test('secrets reach the environment of a step and are masked everywhere else', async () => {
  const canary = 'canary "4711"/x';
  const yaml = `
agents: { sh: { shell: "true" } }
secrets: { TOKEN: THE_TOKEN }
env: { AUTH: "Bearer \${TOKEN}", FOLDER: "\${PLACE}/x" }
steps:
  - { id: leak, agent: sh, env: { MORE: "\${TOKEN}" } }
  - { id: fail, agent: sh, needs: [leak], retry: { max: 1, backoff: 1ms } }
`;
  const opened = openPipelines(
    ({ step, env }) => {
      assert.equal(env.AUTH, `Bearer ${canary}`);
      assert.equal(env.FOLDER, '/folder/x');
      const forms = [canary, JSON.stringify(canary), encodeURIComponent(canary), btoa(canary)];
      if (step === 'fail') throw new StepFailure(`exit code 1: ${canary}`, `output ${canary}`);
      return `${env.MORE} ${forms.join(' ')}`;
    },
    { variables: { THE_TOKEN: canary, PLACE: '/folder' } },
  );
  const { run } = await opened.start(yaml);
  const { events } = await opened.threads.api.events(run);
  let everything = JSON.stringify([events, opened.progressEvents, await opened.threads.api.state(run)]);
  for (const { ref, preview } of (await opened.threads.api.artifacts(run)).artifacts) {
    const { body } = await opened.threads.api.content(run, ref);
    everything += preview.text + (await new Response(body as Uint8Array<ArrayBuffer>).text());
  }
  for (const form of ['4711', btoa(canary).slice(0, 12)]) assert.ok(!everything.includes(form), form);
  assert.match(everything, /\[secret TOKEN\]/);
});

test('a step can use another file, with inputs and outputs, and its run is found again', async () => {
  const used = `
inputs: { word: { required: true } }
agents: { sh: { shell: "true" } }
outputs: { loud: "{{ steps.up.output }}!" }
steps: [{ id: up, agent: sh, env: { WORD: x }, prompt: "{{ inputs.word }}" }]`;
  const yaml = `
agents: { sh: { shell: "true" } }
steps:
  - { id: sub, uses: ./up.yaml, for_each: [tea, milk], with: { word: "{{ item }}" } }
  - { id: end, agent: sh, prompt: "{{ steps.sub.outputs }}" }`;
  const { pipelines, calls } = openPipelines(({ prompt }) => prompt.toUpperCase());
  const file = {
    text: yaml,
    file: 'x.yaml',
    name: 'x',
    uses: { './up.yaml': { text: used, file: 'up.yaml', name: 'up' } },
  };
  const ran = await pipelines.start(file, {}, { signal: new AbortController().signal });
  assert.equal(ran.status, 'done');
  assert.equal(calls.at(-1)!.prompt, '[{"loud":"TEA!"},{"loud":"MILK!"}]');
  const { pipeline } = await pipelines.show(ran.run);
  assert.equal(pipeline.steps[0]!.own?.kind, 'pipeline');
});

test('a used file without outputs gives the results of its last steps', async () => {
  const used = `
agents: { sh: { shell: "true" } }
steps:
  - { id: first, agent: sh, prompt: one }
  - { id: last, agent: sh, prompt: two, needs: [first] }`;
  const yaml = `
agents: { sh: { shell: "true" } }
steps:
  - { id: sub, uses: ./used.yaml }
  - { id: end, agent: sh, prompt: "{{ steps.sub.output }}" }`;
  const { pipelines, calls } = openPipelines(({ prompt }) => prompt.toUpperCase());
  const uses = { './used.yaml': { text: used, file: 'used.yaml', name: 'used' } };
  const { signal } = new AbortController();
  await pipelines.start({ text: yaml, file: 'x.yaml', name: 'x', uses }, {}, { signal });
  assert.equal(calls.at(-1)!.prompt, '{"last":"TWO"}');
});

test('a run that is done and is started again with its key gives its outputs and runs no step', async () => {
  const text = `
agents: { sh: { shell: "true" } }
outputs: { loud: "{{ steps.up.output }}!" }
steps: [{ id: up, agent: sh, prompt: tea }]`;
  const { pipelines, calls } = openPipelines(({ prompt }) => prompt.toUpperCase());
  const o = { signal: new AbortController().signal, again: true };
  for (let round = 0; round < 2; round++) {
    const ran = await pipelines.startOnce('key', { text, file: 'x.yaml', name: 'x' }, {}, o);
    assert.deepEqual(ran?.outputs, { loud: 'TEA!' });
  }
  assert.equal(calls.length, 1);
});

test('schedules follow the clock of their time zone when it changes', () => {
  const at = (cron: string, zone: string, after: string) =>
    new Date(nextTime(cron, zone, Date.parse(after))).toISOString();
  assert.equal(at('0 9 * * 1-5', 'Europe/Berlin', '2026-03-27T09:00:00Z'), '2026-03-30T07:00:00.000Z');
  // Clocks go forward at 02:00. 02:30 does not exist that day, so the run starts at 03:30.
  assert.equal(at('30 2 * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z'), '2026-03-29T01:30:00.000Z');
  assert.equal(at('30 2 * * *', 'Europe/Berlin', '2026-03-29T01:30:00Z'), '2026-03-30T00:30:00.000Z');
  // Clocks go back at 03:00, so 02:30 comes twice. A daily run starts only once, an hourly one twice.
  assert.equal(at('30 2 * * *', 'Europe/Berlin', '2026-10-25T00:30:00Z'), '2026-10-26T01:30:00.000Z');
  assert.equal(at('30 * * * *', 'Europe/Berlin', '2026-10-25T00:30:00Z'), '2026-10-25T01:30:00.000Z');
  assert.equal(at('0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z'), '2028-02-29T00:00:00.000Z');
  assert.equal(at('*/20 8-9 * jan mon', 'UTC', '2026-01-05T08:41:00Z'), '2026-01-05T09:00:00.000Z');
  assert.throws(() => nextTime('61 * * * *', 'UTC', 0), /"61" is not a valid minute/);
  assert.throws(() => nextTime('* * * * *', 'Mars/Base', 0), /no time zone/);
  assert.throws(() => nextTime('0 0 31 2 *', 'UTC', 0), /matches no date/);
});

test('every new field is checked, and each problem has its line', () => {
  const problems = (text: string) =>
    readPipeline(text, 'x').problems.map(({ line, what }) => `${line}: ${what}`);
  const text = `agents: { sh: { shell: "true" } }
budget: { on_limit: cry }
secrets: { T: { env: A, file: b } }
triggers:
  - schedule: 0 25 * * *
  - { webhook: hook, secret: nope }
  - { channel: c, inputs: { no: "{{ trigger.x }}" } }
concurrency: { mode: queue }
steps:
  - { id: a, agent: sh, approve: ok? }
  - { id: b, approve: { question: ok?, default: maybe } }
  - { id: c, agent: sh, until: { max: 3 } }
  - { id: d, agent: sh, when: false }
  - { id: e, with: { x: 1 }, agent: sh }
  - { id: f, agent: sh, needs: [d] }
  - { id: g, agent: sh, needs: [f] }`;
  const problemText = problems(text).join('\n');
  for (const part of [
    '2: "budget" needs',
    '2: "on_limit" must be ask or fail',
    '3: the secret "T" needs exactly one',
    '5: "25" is not a valid hour',
    '6: "secret" must name a secret',
    '7: there is no input "no"',
    '8: "concurrency" needs a "key"',
    '10: the step "a" has agent and approve',
    '11: the default "maybe" is not one of the choices',
    '12: "until" needs a "condition" or a "check"',
    '13: the step "d" can never run',
    '14: "with" needs "uses"',
    '15: the step "f" can never run: it needs "d"',
    '16: the step "g" can never run: it needs "f"',
  ])
    assert.ok(problemText.includes(part), `${part}\n---\n${problemText}`);
});

test('runs with the same concurrency key work one after the other, or the newer one cancels the older', async () => {
  const yaml = (mode: string) => `
inputs: { branch: main }
agents: { sh: { shell: "true" } }
concurrency: { key: "on-{{ inputs.branch }}", mode: ${mode} }
steps: [{ id: s, agent: sh }]`;
  let working = 0;
  let most = 0;
  const queue = openPipelines(
    async () => {
      most = Math.max(most, ++working);
      await new Promise((resolve) => setTimeout(resolve, 50));
      working--;
      return 'x';
    },
    { lives: () => true },
  );
  const three = await Promise.all([1, 2, 3].map(() => queue.start(yaml('queue'))));
  assert.deepEqual([most, ...three.map(({ status }) => status)], [1, 'done', 'done', 'done']);
  await Promise.all([queue.start(yaml('queue')), queue.start(yaml('queue'), { branch: 'other' })]);
  assert.equal(most, 2, 'another key does not wait');
  const begun: string[] = [];
  const cancel = openPipelines(
    async ({ run }, { signal }) => {
      begun.push(run);
      if (begun.length > 1) return 'x';
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      throw new Error('stopped');
    },
    { lives: () => true },
  );
  const first = cancel.start(yaml('cancel'));
  while (begun.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal((await cancel.start(yaml('cancel'))).status, 'done');
  const { status, why } = await first;
  assert.deepEqual([status, why], ['cancelled', 'a newer run has the same concurrency key']);
});
