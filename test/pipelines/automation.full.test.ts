import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startFakeModel } from '../../examples/fake-model.ts';
import { cleanEnv, ENTRY, NODE, relay, temporaryHome } from '../cli/program.ts';
import { seededRandom } from './long-run.ts';

const PARALLEL = 3;
const BUDGET = 1_500;
const YAML = `name: walk
agents: { sh: { shell: true }, m: { provider: anthropic, max_tokens: 200 } }
budget: { tokens: ${BUDGET} }
max_parallel: ${PARALLEL}
steps:
  - { id: list, agent: sh, prompt: 'echo "one\\ntwo\\nthree\\nfour\\nfive"' }
  - { id: ask, agent: m, for_each: steps.list.output, prompt: "{{ item }}" }
  - id: loop
    agent: sh
    needs: [list]
    prompt: 'echo "round $RELAY_STEP_ATTEMPT"; sleep 0.2'
    until: { condition: "output contains 'round 3'", max: 4 }
  - { id: flaky, agent: sh, needs: [list], retry: { max: 2, backoff: 50ms }, prompt: 'echo "try $RELAY_STEP_ATTEMPT"; [ "$RELAY_STEP_ATTEMPT" -gt 1 ]' }
`;

interface Event {
  readonly type: string;
  readonly payload: { readonly [field: string]: unknown };
}

/** Number of runs. */
const RUNS = Number(process.env.RELAY_TEST_WALKS ?? 50);

test(`${RUNS} runs with random kills, budgets and cancellations record each step once and stay near their budget`, async () => {
  using at = temporaryHome();
  const { home } = at;
  writeFileSync(join(home, 'walk.yaml'), YAML);
  let callTokens = 0;
  await using model = await startFakeModel(async ({ user }) => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    callTokens = Math.max(callTokens, Math.ceil(JSON.stringify(user).length / 4) + 400);
    return 'word '.repeat(100);
  });
  const env = { ...model.env };
  const roll = seededRandom(49);
  const ends = new Map<string, number>();
  for (let n = 0; n < RUNS; n++) {
    let run = '';
    for (let go = 0; go < 6; go++) {
      const args = run === '' ? ['walk.yaml'] : ['--run', run];
      const child = spawn(NODE, [ENTRY, 'pipeline', 'run', ...args], {
        env: cleanEnv({ home, env }),
        cwd: home,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let out = '';
      const after = 1 + Math.floor(roll() * 12);
      child.stderr.on('data', (chunk) => {
        out += chunk;
        if (go < 3 && (out.match(/\n/g)?.length ?? 0) >= after) child.kill('SIGKILL');
      });
      const code = await new Promise((resolve) => child.once('close', resolve));
      run = /^run ([0-9a-f-]{36})$/m.exec(out)?.[1] ?? run;
      if (code === 0 || code === 1) break;
      if (run !== '' && roll() < 0.15) {
        assert.equal((await relay(['pipeline', 'cancel', run], { home, env })).code, 0);
        break;
      }
    }
    if (run === '') continue;
    const { stdout } = await relay(['tail', run, '-n', '1000', '--json'], { home, env });
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Event);
    const results = events
      .filter(({ type }) => type === 'artifact.created')
      .flatMap(({ payload }) => (payload.source_refs as string[]).filter((ref) => ref.startsWith('step:')));
    assert.equal(new Set(results).size, results.length, `a step has two results in ${run}`);
    const lost = events.filter(
      ({ type, payload }) => type === 'step.retried' && payload.output_ref === undefined,
    );
    assert.deepEqual(lost, [], `the output of an attempt is lost in ${run}`);
    const spent = events
      .filter(({ type }) => type === 'budget.spent')
      .reduce((sum, { payload }) => sum + Number(payload.tokens), 0);
    assert.ok(spent <= BUDGET + PARALLEL * callTokens, `${spent} tokens in ${run}`);
    const status = String(
      events.findLast(({ type }) => type === 'pipeline.finished')?.payload.status ?? 'open',
    );
    ends.set(status, (ends.get(status) ?? 0) + 1);
  }
  console.log(Object.fromEntries(ends), { callTokens });
});
