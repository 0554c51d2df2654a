import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mock, test } from 'node:test';
import { cleanEnv, ENTRY, NODE, relay, temporaryHome } from '../cli/program.ts';
import { stoppedClock } from '../threads/open-threads.ts';
import { until } from '../until.ts';
import { dag, type OpenPipelines, openPipelines } from './open-pipelines.ts';

/** Starts a run whose only step waits until the test calls `say` with its answer. */
async function startWaitingRun(o: Parameters<typeof openPipelines>[1] = {}) {
  const answer = Promise.withResolvers<string>();
  const working = Promise.withResolvers<void>();
  const first = openPipelines(
    () => {
      working.resolve();
      return answer.promise;
    },
    { name: 'ann', ...o },
  );
  const begun = Promise.withResolvers<string>();
  const ended = first.start(dag([{ id: 'a' }]), {}, { onStart: begun.resolve });
  ended.catch(() => {});
  await working.promise;
  return { first, ended, run: await begun.promise, say: answer.resolve };
}

function openSecond(
  first: OpenPipelines,
  o: Omit<NonNullable<Parameters<typeof openPipelines>[1]>, 'engine'>,
): OpenPipelines {
  return openPipelines(() => 'second', { name: 'bob', ...o, engine: first.threads.engine });
}

test('a second process cannot run a run that is in progress, and learns who holds it and since when', async () => {
  const { first, ended, run, say } = await startWaitingRun();
  const second = openSecond(first, { lives: () => true });
  await assert.rejects(second.resume(run), {
    code: 'run_held',
    message: /already running: ann has held it since 20\d\d-.*Z\.$/,
    hint: new RegExp(`--run ${run} --take-over$`),
  });
  assert.equal(second.calls.length, 0);
  say('first');
  assert.equal((await ended).status, 'done');
  assert.equal(await first.text(run, 'a'), 'first');
  assert.equal((await second.resume(run)).status, 'done', 'it was let go');
});

test('a hold that is renewed while another process waits stays with its holder', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  try {
    const env = stoppedClock();
    const { first, ended, run, say } = await startWaitingRun({ env });
    t.after(() => say('at the end'));
    const holders: string[] = [];
    const pause = (ms: number) => {
      env.advance(ms);
      mock.timers.tick(ms);
    };
    const second = openSecond(first, { env, pause });
    await assert.rejects(second.resume(run, undefined, { waiting: ({ holder }) => holders.push(holder) }), {
      code: 'run_held',
    });
    assert.deepEqual([holders, second.calls.length], [['ann'], 0]);
    say('first');
    await ended;
  } finally {
    mock.timers.reset();
  }
});

test('a hold that is not renewed expires, and its old holder records nothing more', async (t) => {
  const env = stoppedClock();
  const { first, ended, run, say } = await startWaitingRun({ env });
  t.after(() => say('at the end'));
  const second = openSecond(first, { env, pause: (ms) => env.advance(ms) });
  assert.equal((await second.resume(run)).status, 'done');
  say('first');
  await assert.rejects(ended, { code: 'run_taken' });
  const { events } = await first.threads.api.events(run, { limit: 100 });
  assert.equal(await second.text(run, 'a'), 'second');
  assert.equal(events.at(-1)?.type, 'pipeline.finished');
  assert.equal(events.filter(({ type }) => type === 'pipeline.finished').length, 1);
});

test('a run is taken over at once on request; if two processes do so, one does the work', async () => {
  const { first, ended, run, say } = await startWaitingRun({ lives: () => true });
  const others = ['bob', 'cid'].map((name) => openSecond(first, { name, lives: () => true }));
  const ends = await Promise.allSettled(
    others.map((other) => other.resume(run, undefined, { takeOver: true })),
  );
  say('first');
  await assert.rejects(ended, { code: 'run_taken' });
  const finished = ends.filter(({ status }) => status === 'fulfilled').length;
  assert.ok(finished > 0);
  // A process fails only if another process took its run over, or held the run already.
  for (const end of ends) if (end.status === 'rejected') assert.match(end.reason.code, /^run_(held|taken)$/);
  const { events } = await first.threads.api.events(run, { limit: 100 });
  const recorded = (type: string) => events.filter((event) => event.type === type).length;
  assert.deepEqual([recorded('artifact.created'), recorded('pipeline.finished')], [1, finished]);
  assert.equal(await first.text(run, 'a'), 'second');
});

test('a second process is rejected while the first is alive, and resumes at once after it was killed', async () => {
  using at = temporaryHome();
  const yaml = `agents: {sh: {shell: true}}
steps: [{id: nap, agent: sh, prompt: 'echo x >> began; while [ ! -e go ]; do sleep 0.05; done'}]`;
  writeFileSync(join(at.home, 'nap.yaml'), yaml);
  const began = () =>
    existsSync(join(at.home, 'began')) ? readFileSync(join(at.home, 'began'), 'utf8') : '';
  const child = spawn(NODE, [ENTRY, 'pipeline', 'run', 'nap.yaml'], {
    env: cleanEnv({ home: at.home }),
    cwd: at.home,
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  await until(() => began() !== '');
  const refused = await relay(['pipeline', 'run', 'nap.yaml', '--resume'], { home: at.home });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, new RegExp(`is already running: .+, process ${child.pid} has held it since`));
  assert.equal(began(), 'x\n');
  child.kill('SIGKILL');
  await ended;
  writeFileSync(join(at.home, 'go'), '');
  const resumed = await relay(['pipeline', 'run', 'nap.yaml', '--resume'], { home: at.home });
  assert.equal(resumed.code, 0, resumed.stderr);
  assert.equal(began(), 'x\nx\n');
});
