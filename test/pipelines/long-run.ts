import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnv, ENTRY, NODE, relay } from '../cli/program.ts';

/** Returns a generator of random numbers from 0 to 1 that depend only on the seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * Returns a pipeline of shell steps. Each step appends its key to a file when it starts, and prints a unique text. Some
 * fail at the first attempt.
 */
export function randomPipeline(count: number, seed: number, sleep: string): string {
  const roll = seededRandom(seed);
  const lines = ['name: chancy', 'agents: { sh: { shell: true } }', 'max_parallel: 6', 'steps:'];
  for (let i = 0; i < count; i++) {
    const needs = [...Array(i).keys()].filter(() => roll() < 2 / Math.max(i, 4)).map((n) => `s${n}`);
    const fails = roll() < 0.3;
    lines.push(`  - id: s${i}`, '    agent: sh', `    needs: [${needs.join(', ')}]`);
    if (fails && roll() < 0.5) lines.push('    retry: { max: 1, backoff: 10ms }');
    lines.push('    prompt: |');
    lines.push(`      echo "$RELAY_STEP_KEY" >> "$NOTES/s${i}.began"`);
    lines.push(`      sleep ${sleep}`);
    if (fails) lines.push(`      [ -e "$NOTES/s${i}.failed" ] || { touch "$NOTES/s${i}.failed"; exit 1; }`);
    lines.push(`      echo "s${i} $$ $(date +%N)"`);
  }
  return lines.join('\n');
}

export interface LongRun {
  readonly home: string;
  readonly notes: string;
  readonly file: string;
}

export function prepareRun(home: string, yaml: string): LongRun {
  const notes = join(home, 'notes');
  mkdirSync(notes);
  const file = join(home, 'chancy.yaml');
  writeFileSync(file, yaml);
  return { home, notes, file };
}

/** Starts or resumes the run, and kills it after this many steps have started. */
export async function killAfter(
  { home, notes, file }: LongRun,
  args: string[],
  begun: number,
): Promise<void> {
  const child: ChildProcess = spawn(NODE, [ENTRY, 'pipeline', 'run', file, ...args], {
    env: cleanEnv({ home, env: { NOTES: notes } }),
    cwd: home,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let running = 0;
  child.stderr!.on('data', (chunk: Buffer) => {
    running += String(chunk).match(/ running$/gm)?.length ?? 0;
    if (running >= begun) child.kill('SIGKILL');
  });
  await new Promise((resolve) => child.once('close', resolve));
}

export interface RunDetail {
  readonly run: string;
  readonly status: string;
  readonly steps: readonly { readonly step: string; readonly status: string; readonly ref?: string }[];
}

export async function json<T>(
  args: readonly string[],
  { home, notes }: LongRun,
): Promise<{ code: number; value: T }> {
  const { code, stdout, stderr } = await relay([...args, '--json'], { home, env: { NOTES: notes } });
  assert.notEqual(stdout, '', stderr);
  return { code, value: JSON.parse(stdout) as T };
}

/** Returns the keys under which a step started, in order. */
export function readStarts(notes: string, step: string): string[] {
  const file = join(notes, `${step}.began`);
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

interface Event {
  readonly type: string;
  readonly payload: {
    readonly step?: string;
    readonly ref?: string;
    readonly source_refs?: string[];
  };
}

/**
 * Asserts that each step has one result and was not started again after it. Log, graph, state and report must agree.
 */
export async function assertWhole(run: LongRun, id: string, count: number): Promise<void> {
  const { value: detail } = await json<RunDetail>(['pipeline', 'show', id], run);
  assert.equal(detail.status, 'done');
  assert.equal(detail.steps.length, count);
  assert.ok(detail.steps.every(({ status, ref }) => status === 'done' && ref !== undefined));
  const { stdout } = await relay(['tail', id, '--all', '--json'], { home: run.home });
  const recorded = new Map<string, string>();
  for (const line of stdout.trim().split('\n')) {
    const { type, payload } = JSON.parse(line) as Event;
    const source = payload.source_refs?.find((ref) => ref.startsWith('step:'))?.slice('step:'.length);
    if (type === 'artifact.created' && source) {
      assert.ok(!recorded.has(source), `${source} was recorded twice`);
      recorded.set(source, payload.ref!);
    }
    if (type === 'step.started')
      assert.ok(!recorded.has(payload.step!), `${payload.step} began again after it was recorded`);
  }
  const refs = Object.fromEntries(detail.steps.map(({ step, ref }) => [step, ref]));
  assert.deepEqual(Object.fromEntries(recorded), refs);
  for (const { step } of detail.steps) assert.equal(new Set(readStarts(run.notes, step)).size, 1, step);
  const { value: replay } = await json<{ matches: boolean }>(['replay', id], run);
  assert.equal(replay.matches, true);
  const { value: graph } = await json<{ steps: { id: string; status: string }[] }>(
    ['pipeline', 'graph', '--run', id],
    run,
  );
  const statuses = detail.steps.map(({ step, status }) => [step, status]);
  assert.deepEqual(
    graph.steps.map((step) => [step.id, step.status]),
    statuses,
  );
  const state = await json<{ plan: { id: string; status: string }[] }>(['state', 'get', '--thread', id], run);
  assert.deepEqual(
    state.value.plan.map((item) => [item.id, item.status]),
    statuses,
  );
  const { stdout: report } = await relay(['report', id, '--format', 'json'], { home: run.home });
  for (const [step, ref] of recorded) assert.ok(report.includes(ref), `the report does not know ${step}`);
}
