import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dag, memoryCache, openPipelines } from '../../../test/pipelines/open-pipelines.ts';
import { isRelayError } from '../../base/errors.ts';
import { StepFailure } from './step-runner.ts';

const status = (summary: { steps: readonly { step: string; status: string }[] }) =>
  Object.fromEntries(summary.steps.map((step) => [step.step, step.status]));

test('a step runs only after all its dependencies are done', async () => {
  const done = new Set<string>();
  const needs: { [id: string]: string[] } = { a: [], b: ['a'], c: ['a'], d: ['b', 'c'] };
  const { start } = openPipelines(async ({ step }) => {
    for (const need of needs[step]!) assert.ok(done.has(need), `${step} began before ${need} was done`);
    await new Promise((resolve) => setTimeout(resolve, 2));
    done.add(step);
    return step;
  });
  const summary = await start(dag(Object.entries(needs).map(([id, on]) => ({ id, needs: on }))));
  assert.equal(summary.status, 'done');
  assert.deepEqual(status(summary), { a: 'done', b: 'done', c: 'done', d: 'done' });
});

test('as many steps run at once as the limit allows, and never more', async () => {
  let now = 0;
  let most = 0;
  const { start } = openPipelines(async () => {
    most = Math.max(most, ++now);
    await new Promise((resolve) => setTimeout(resolve, 5));
    now--;
    return 'x';
  });
  await start(dag(Array.from({ length: 12 }, (_, i) => ({ id: `s${i}` }))), {}, { maxParallel: 3 });
  assert.equal(most, 3);
});

test('a failing step stops only the steps that depend on it', async () => {
  const { start, threads } = openPipelines(({ step }) => {
    if (step === 'b') throw new Error('no luck');
    return step;
  });
  const yaml = dag([
    { id: 'a' },
    { id: 'b', needs: ['a'] },
    { id: 'c', needs: ['b'] },
    { id: 'd', needs: ['c'] },
    { id: 'e', needs: ['a'] },
  ]);
  const summary = await start(yaml);
  assert.equal(summary.status, 'failed');
  assert.deepEqual(status(summary), { a: 'done', b: 'failed', c: 'blocked', d: 'blocked', e: 'done' });
  assert.equal(summary.steps.find(({ step }) => step === 'b')?.why, 'no luck');
  const { plan } = await threads.api.state(summary.run);
  assert.deepEqual(
    plan.map((item) => item.status),
    ['done', 'failed', 'blocked', 'blocked', 'done'],
  );
});

test('a step is retried as often as configured, with the same key', async () => {
  const { start, calls } = openPipelines(({ attempt }) => {
    if (attempt < 3) throw new Error(`attempt ${attempt}`);
    return 'at last';
  });
  const summary = await start(dag([{ id: 'a', retry: 2 }]));
  assert.equal(summary.status, 'done');
  assert.equal(summary.steps[0]?.attempts, 3);
  assert.equal(new Set(calls.map(({ key }) => key)).size, 1);
  const failing = openPipelines(() => {
    throw new Error('never');
  });
  assert.equal((await failing.start(dag([{ id: 'a', retry: 2 }]))).status, 'failed');
  assert.equal(failing.calls.length, 3);
});

test('a step that times out is stopped and has failed', async () => {
  const { start } = openPipelines(
    (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
  );
  const summary = await start('agents: {a: {shell: x}}\nsteps: [{id: s, agent: a, timeout: 20ms}]');
  assert.equal(summary.steps[0]?.status, 'failed');
  assert.match(summary.steps[0]?.why ?? '', /longer than 0.02 s/);
});

test('the output of a failed attempt is stored as an artifact', async () => {
  const { start, threads, progressEvents } = openPipelines(({ attempt }) => {
    if (attempt === 1) throw new StepFailure('exit code 1', 'one\ntwo\n');
    return attempt === 2 ? '{ no JSON' : '{"three": 3}';
  });
  const { run, steps } = await start(
    'agents: {a: {shell: x}}\nsteps: [{id: s, agent: a, output: json, retry: {max: 2, backoff: 1ms}}]',
  );
  const [step] = steps;
  assert.deepEqual([step?.status, step?.attempts, step?.attempt_refs?.length], ['done', 3, 2]);
  const text = async (ref: string) =>
    new Response((await threads.api.content(run, ref)).body as Uint8Array<ArrayBuffer>).text();
  assert.deepEqual(await Promise.all(step!.attempt_refs!.map(text)), ['one\ntwo\n', '{ no JSON']);
  assert.equal(await text(step!.ref!), '{"three": 3}', 'the result is the attempt that succeeded');
  const retried = progressEvents.flatMap(({ status, ref }) => (status === 'retrying' ? [ref] : []));
  assert.deepEqual(retried, step!.attempt_refs);
  const [instance] = (await threads.api.run(run)).instances;
  assert.deepEqual(
    instance!.retries.map(({ output_ref }) => output_ref),
    step!.attempt_refs,
  );
});

test('the output of a step before its timeout is stored', async () => {
  const { start, threads } = openPipelines(
    (_, { signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(new StepFailure('stopped', 'half of it'))),
      ),
  );
  const { run, steps } = await start('agents: {a: {shell: x}}\nsteps: [{id: s, agent: a, timeout: 20ms}]');
  assert.match(steps[0]?.why ?? '', /longer than 0.02 s/);
  const { body } = await threads.api.content(run, steps[0]!.attempt_refs![0]!);
  assert.equal(await new Response(body as Uint8Array<ArrayBuffer>).text(), 'half of it');
  const { instances } = await threads.api.run(run);
  assert.equal(instances[0]?.output_ref, steps[0]!.attempt_refs![0]);
});

test('a stopped run resumes where it was, and no recorded step runs again', async () => {
  const stop = new AbortController();
  const first = openPipelines(({ step }, { signal }) => {
    if (step !== 'b') return step;
    stop.abort();
    return new Promise((_, reject) => {
      if (signal.aborted) reject(new Error('stopped'));
    });
  });
  const yaml = dag([{ id: 'a' }, { id: 'b', needs: ['a'] }, { id: 'c', needs: ['b'] }]);
  const stopped = await first.start(yaml, {}, { signal: stop.signal });
  assert.equal(stopped.status, 'interrupted');
  const again = openPipelines(({ step }) => step, { engine: first.threads.engine });
  const summary = await again.resume(stopped.run);
  assert.equal(summary.status, 'done');
  assert.deepEqual(
    again.calls.map(({ step }) => step),
    ['b', 'c'],
  );
  assert.equal(again.calls[0]!.key, first.calls.find(({ step }) => step === 'b')!.key);
});

test('several processes on the same run do each step once, and record one result', async () => {
  const first = openPipelines(() => {
    throw new Error('not yet');
  });
  const { run } = await first.start(dag([{ id: 'a' }, { id: 'b' }, { id: 'c', needs: ['a', 'b'] }]));
  const processes = [1, 2, 3].map((n) =>
    openPipelines(({ step }) => `${step} by ${n}`, { engine: first.threads.engine }),
  );
  const ends = await Promise.allSettled(processes.map((process) => process.resume(run)));
  assert.ok(ends.some((end) => end.status === 'fulfilled' && end.value.status === 'done'));
  for (const end of ends) if (end.status === 'rejected') assert.equal(end.reason.code, 'run_held');
  const calls = processes.flatMap((process) => process.calls.map(({ step }) => step));
  assert.deepEqual(calls.sort(), ['a', 'b', 'c']);
  const { artifacts } = await first.threads.api.artifacts(run);
  const results = artifacts.flatMap(({ provenance }) =>
    provenance.source_refs.filter((ref) => ref.startsWith('step:')),
  );
  assert.deepEqual(results.sort(), ['step:a', 'step:b', 'step:c']);
});

test('a result that was recorded just before a crash is completed and not produced again', async () => {
  const yaml = 'agents: {m: {provider: ollama}}\nsteps: [{id: s, agent: m, prompt: go}]';
  const first = openPipelines(() => {
    throw new Error('not yet');
  });
  const { run } = await first.start(yaml);
  const patch = '[{"op":"add","path":"/facts/-","value":{"key":"k","value":1}}]';
  await first.threads.as('m').putArtifact(run, {
    body: new TextEncoder().encode(`done\n\`\`\`relay-patch\n${patch}\n\`\`\`\n`),
    type: 'markdown',
    source_refs: ['step:s'],
  });
  const again = openPipelines(() => 'another', { engine: first.threads.engine });
  const summary = await again.resume(run);
  assert.equal(again.calls.length, 0);
  assert.equal(summary.status, 'done');
  assert.equal(summary.steps[0]?.settled, true);
  const { facts } = await again.threads.api.state(run);
  assert.deepEqual(
    facts.map(({ key, by }) => [key, by]),
    [['k', 'm']],
  );
});

test('only the requested steps and their dependencies run', async () => {
  const { start, resume, calls } = openPipelines(({ step }) => step);
  const yaml = dag([{ id: 'a' }, { id: 'b', needs: ['a'] }, { id: 'c' }]);
  const summary = await start(yaml, {}, { only: ['b'] });
  assert.equal(summary.status, 'partial');
  assert.deepEqual(calls.map(({ step }) => step).sort(), ['a', 'b']);
  assert.equal((await resume(summary.run)).status, 'done');
  assert.deepEqual(calls.map(({ step }) => step).sort(), ['a', 'b', 'c']);
  await assert.rejects(start(yaml, {}, { only: ['x'] }), (error) => isRelayError(error, 'bad_usage'));
});

test('an unchanged step is answered from the cache, and a changed step is not', async () => {
  const cache = memoryCache();
  const yaml = `inputs: {topic: tea}
agents: {sh: {shell: x}}
steps:
  - {id: a, agent: sh, prompt: "about {{ inputs.topic }}", cache: true}
  - {id: b, agent: sh, prompt: "{{ steps.a.output }}!", cache: 1h}
  - {id: c, agent: sh, prompt: fresh}`;
  const one = openPipelines(({ prompt }) => prompt.toUpperCase(), { cache });
  await one.start(yaml);
  const engine = one.threads.engine;
  const two = openPipelines(({ prompt }) => prompt.toUpperCase(), { cache, engine });
  const second = await two.start(yaml);
  assert.deepEqual(
    two.calls.map(({ step }) => step),
    ['c'],
  );
  assert.deepEqual(
    second.steps.map(({ cached }) => cached ?? false),
    [true, true, false],
  );
  assert.equal(await two.text(second.run, 'b'), 'ABOUT TEA!');
  const third = openPipelines(({ prompt }) => prompt, { cache, engine });
  await third.start(yaml, { topic: 'milk' });
  assert.deepEqual(third.calls.map(({ step }) => step).sort(), ['a', 'b', 'c']);
});

test('a run can be resumed with a corrected file', async () => {
  const before = openPipelines(({ step }) => {
    if (step === 'b') throw new Error('broken');
    return 'first';
  });
  const { run } = await before.start(dag([{ id: 'a' }, { id: 'b', needs: ['a'] }]));
  const after = openPipelines(({ step }) => step, { engine: before.threads.engine });
  const summary = await after.resume(run, dag([{ id: 'a' }, { id: 'b2', needs: ['a'] }]));
  assert.deepEqual(
    after.calls.map(({ step }) => step),
    ['b2'],
  );
  assert.equal(summary.status, 'done');
  assert.equal(await after.text(run, 'a'), 'first');
});

test('a failure because of a too large value says what to do instead', async () => {
  const { start } = openPipelines(({ step }) => (step === 'big' ? 'x'.repeat(200_000) : 'ok'));
  const yaml = `agents: { sh: { shell: true } }
steps:
  - { id: big, agent: sh, prompt: make }
  - { id: use, agent: sh, prompt: "echo {{ steps.big.output }}" }
`;
  const { steps } = await start(yaml);
  assert.match(steps.find(({ step }) => step === 'use')!.why!, /Name the step in "context" instead/);
});
