import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryHome } from '../cli/program.ts';
import {
  assertWhole,
  json,
  killAfter,
  prepareRun,
  type RunDetail,
  randomPipeline,
  readStarts,
} from './long-run.ts';

const STEPS = 40;

test('forty steps with random failures, killed three times, record one result each and rerun no finished step', async () => {
  using at = temporaryHome();
  const run = prepareRun(at.home, randomPipeline(STEPS, 7, '0.1'));
  await killAfter(run, [], 6);
  const { value: list } = await json<{ runs: RunDetail[] }>(['pipeline', 'list'], run);
  const id = list.runs[0]!.run;
  await killAfter(run, ['--resume'], 6);
  await killAfter(run, ['--resume'], 6);
  let last: { code: number; value: RunDetail };
  let goes = 0;
  do {
    last = await json<RunDetail>(['pipeline', 'run', run.file, '--resume'], run);
    assert.equal(last.value.run, id);
  } while (last.code !== 0 && ++goes < 10);
  assert.equal(last.value.status, 'done');
  await assertWhole(run, id, STEPS);
  const again = Array.from({ length: STEPS }, (_, i) => readStarts(run.notes, `s${i}`).length);
  assert.ok(
    again.some((count) => count > 1),
    'nothing was under way when it was killed',
  );
});
