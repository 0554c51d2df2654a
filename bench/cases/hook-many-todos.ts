import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { plainEnv, RELAY, temporaryFolder } from '../servers.ts';
import { type Round, summarise } from '../statistics.ts';

/** Code that writes a process's CPU time to file descriptor 3 when it exits. */
const TELL =
  'data:text/javascript,import{writeSync}from"node:fs";process.on("exit",()=>{const{user,system}=process.cpuUsage();writeSync(3,String(user+system))})';

export default {
  name: 'hook-many-todos',
  claim: 'at most 2×',
  limit: 2,
  async run({ rounds }) {
    using temporary = temporaryFolder();
    const home = temporary.path;
    const [many, few] = [project(home, 10_000), project(home, 100)];
    const result: Round[] = [];
    for (let i = 0; i < rounds; i++) result.push({ ours: cpu(home, many), baseline: cpu(home, few) });
    return summarise(
      result,
      'ms',
      'processor time of relay hook claude session-start: 10 000 todos against 100',
    );
  },
} satisfies Bench;

function project(home: string, count: number): string {
  const folder = join(home, `todos-${count}`);
  mkdirSync(folder);
  const todos = Array.from({ length: count }, (_, i) => ({
    id: `TODO-${String(i + 1).padStart(3, '0')}`,
    title: `Make part ${i} work together with the others`,
    priority: ['high', 'medium', 'low'][i % 3],
    status: i % 5 === 0 ? 'completed' : 'pending',
    created: '2026-01-01T00:00:00Z',
    updated: null,
    notes: i % 7 === 0 ? 'see the design' : '',
  }));
  writeFileSync(join(folder, 'PROJECT.md'), '# Parts\n\nThey work together.\n');
  writeFileSync(join(folder, 'todos.json'), JSON.stringify({ todos, last_review: null }, null, 2));
  writeFileSync(join(folder, 'state.json'), JSON.stringify({ current_task: 'make the parts work together' }));
  return folder;
}

/** Runs the hook and returns its CPU time in ms. */
function cpu(home: string, folder: string): number {
  const env = { ...plainEnv(), RELAY_HOME: home };
  const { status, output, stderr } = spawnSync(
    process.execPath,
    ['--import', TELL, RELAY, 'hook', 'claude', 'session-start'],
    {
      cwd: folder,
      env,
      input: JSON.stringify({ cwd: folder }),
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    },
  );
  if (status !== 0) throw new Error(`the hook ended with exit code ${status}: ${stderr}`);
  return Number(output[3]) / 1000;
}
