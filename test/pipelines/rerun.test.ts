import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPipelines } from './open-pipelines.ts';

const YAML = `
name: review
inputs:
  topic: { default: tea }
agents:
  sh: { shell: cat }
steps:
  - { id: read, agent: sh, prompt: "read \${{ inputs.topic }}" }
  - { id: draft, agent: sh, prompt: "draft", needs: [read] }
  - { id: check, agent: sh, prompt: "check", needs: [draft] }
  - { id: aside, agent: sh, prompt: "aside" }
`;

test('a rerun from a step reuses results that do not depend on it, and runs the other steps again', async () => {
  const { start, calls, pipelines, threads, text } = openPipelines(({ step, run }) => `${step} of ${run}`);
  const first = await start(YAML);
  assert.equal(first.status, 'done');
  calls.length = 0;
  const signal = new AbortController().signal;
  const second = await pipelines.rerun(first.run, 'draft', null, { signal });
  assert.equal(second.status, 'done');
  assert.notEqual(second.run, first.run);
  assert.deepEqual(calls.map(({ step }) => step).sort(), ['check', 'draft']);
  assert.equal(await text(second.run, 'read'), `read of ${first.run}`);
  assert.equal(await text(second.run, 'draft'), `draft of ${second.run}`);
  assert.deepEqual(second.inputs, first.inputs);
  const run = await threads.api.run(second.run);
  assert.deepEqual(run.of, { run: first.run, from: 'draft' });
  await assert.rejects(pipelines.rerun(first.run, 'nothing', null, { signal }), /no step "nothing"/);
});

test('a run is shown with its steps, their dependencies and their outcomes', async () => {
  let fails = 1;
  const { start, resume, threads } = openPipelines(({ step }) => {
    if (step === 'draft' && fails-- > 0) throw new Error('not today');
    return step;
  });
  const failed = await start(YAML);
  assert.equal(failed.status, 'failed');
  const before = await threads.api.run(failed.run);
  assert.deepEqual(
    before.steps.map(({ id, agent, needs }) => [id, agent, needs]),
    [
      ['read', 'sh', []],
      ['draft', 'sh', ['read']],
      ['check', 'sh', ['draft']],
      ['aside', 'sh', []],
    ],
  );
  const status = (run: typeof before) =>
    Object.fromEntries(run.instances.map((instance) => [instance.step, instance.status]));
  assert.deepEqual(status(before), { read: 'done', aside: 'done', draft: 'failed', check: 'blocked' });
  const draft = before.instances.find(({ step }) => step === 'draft')!;
  assert.match(draft.why!, /not today/);
  const { events } = await threads.api.events(failed.run, {
    after: String(Number(draft.prompt_event) - 1),
    limit: 1,
  });
  assert.equal(events[0]!.payload.step, 'draft');
  assert.equal(events[0]!.payload.prompt, 'draft', 'what the step was asked is kept');
  assert.ok(draft.started_at !== null && draft.finished_at !== null && draft.ref === null);
  await resume(failed.run);
  const after = await threads.api.run(failed.run);
  assert.equal(after.status, 'done');
  assert.deepEqual(status(after), { read: 'done', aside: 'done', draft: 'done', check: 'done' });
  assert.ok(after.instances.every(({ ref, duration_ms }) => ref !== null && duration_ms !== null));
  assert.equal(after.held_by, null);
  const other = await threads.api.create();
  await assert.rejects(threads.api.run(other.thread_id), /is not a pipeline run/);
});

test('runs are listed newest first, without deleted runs', async () => {
  const { start, threads } = openPipelines(({ step }) => step);
  const runs: string[] = [];
  for (const name of ['review', 'other', 'review']) {
    runs.unshift((await start(YAML.replace('name: review', `name: ${name}`))).run);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await threads.core.log.settle();
  const list = async (o = {}) => (await threads.api.runs(o)).runs.map(({ run }) => run);
  assert.deepEqual(await list(), runs);
  assert.deepEqual(await list({ pipeline: 'other' }), [runs[1]]);
  const page = await threads.api.runs({ limit: 1 });
  assert.deepEqual(await list({ after: page.next }), runs.slice(1));
  assert.equal(page.runs[0]!.status, 'done');
  await threads.api.delete(runs[0]!);
  assert.deepEqual(await list(), runs.slice(1));
});
