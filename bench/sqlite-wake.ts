/**
 * Measures how soon a subscriber in one process gets entries that another process appends, and the CPU time of waiting.
 * Run as a program, it prints the results. `--follow <home>` runs the subscriber process.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openSqlite } from '../src/engines/sqlite/engine.ts';

export interface WakeFigures {
  /** Percentiles of the time in ms from the acknowledged append to the entry in the other process. */
  readonly p50: number;
  readonly p99: number;
  /** CPU time while nothing is appended, in percent of one core. */
  readonly idleCpu: number;
}

const STREAM = 'bench.wake';

export async function measureSqliteWake(o: { appends?: number; idleMs?: number } = {}): Promise<WakeFigures> {
  const home = mkdtempSync(join(tmpdir(), 'relay-wake-'));
  const engine = await openSqlite({ home });
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), '--follow', home], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value ?? 'null');
  try {
    await next();
    const waits: number[] = [];
    for (let i = 0; i < (o.appends ?? 300); i++) {
      await engine.logs.append(STREAM, i);
      const acknowledged = now();
      const { at } = (await next()) as { at: number };
      waits.push(Math.max(0, at - acknowledged));
      await pause(Math.random() * 4);
    }
    waits.sort((a, b) => a - b);
    const idleCpu = await idle(child, next, o.idleMs ?? 10_000);
    return { p50: waits[waits.length >> 1]!, p99: waits[Math.floor(waits.length * 0.99)]!, idleCpu };
  } finally {
    child.stdin.end();
    await once(child, 'exit');
    await engine[Symbol.asyncDispose]();
    rmSync(home, { recursive: true });
  }
}

async function idle(child: ChildProcess, next: () => Promise<{ cpu: number }>, ms: number): Promise<number> {
  child.stdin!.write('cpu\n');
  const before = (await next()).cpu;
  await pause(ms);
  child.stdin!.write('cpu\n');
  const after = (await next()).cpu;
  return ((after - before) / 1000 / ms) * 100;
}

/** Prints the time at which each entry arrives, and this process's CPU time on request. Ends when stdin closes. */
async function follow(home: string): Promise<void> {
  const engine = await openSqlite({ home });
  const abort = new AbortController();
  const say = (value: object) => process.stdout.write(`${JSON.stringify(value)}\n`);
  createInterface({ input: process.stdin })
    .on('line', () => {
      const { user, system } = process.cpuUsage();
      say({ cpu: user + system });
    })
    .on('close', () => abort.abort());
  say({});
  for await (const _ of engine.logs.subscribe(STREAM, { signal: abort.signal })) say({ at: now() });
  await engine[Symbol.asyncDispose]();
}

/** Returns the time in ms from a clock that both processes share and that has a finer resolution than Date.now(). */
function now(): number {
  return performance.timeOrigin + performance.now();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === '--follow') await follow(process.argv[3]!);
  else console.log(await measureSqliteWake());
}
