import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SoakHome } from './home.ts';
import { Ledger } from './ledger.ts';
import { Supervisor } from './supervisor.ts';
import { type Counts, trouble } from './trouble.ts';

export interface Outcome extends Counts {
  readonly seconds: number;
  readonly acknowledged: number;
  readonly checked: number;
  readonly kills: number;
  readonly failedStarts: number;
  /** Answers by status; `none` where the connection broke. */
  readonly statuses: Record<string, number>;
  /** Why no disk was filled; null where some were. */
  readonly noDisk: string | null;
  /** What was lost, wrong or left over; empty where all is well. */
  readonly losses: readonly string[];
}

/**
 * A real server on a real home, under kills, full disks, slow readers and hostile payloads at once, while
 * writers note what is acknowledged to them. In the end, or when it is interrupted, all of that must be in place.
 */
export async function soak(ms: number, interrupted?: AbortSignal): Promise<Outcome> {
  using place = new SoakHome();
  const supervisor = new Supervisor(place);
  const counts: Counts = { fullDisks: 0, slowReaders: 0, hostile: 0 };
  const over = AbortSignal.any([AbortSignal.timeout(ms), ...(interrupted ? [interrupted] : [])]);
  const ledger = new Ledger(() => supervisor.url, over);
  const began = performance.now();
  try {
    await supervisor.start();
    const made = await ledger.insist(
      'POST',
      '/threads',
      { 'Content-Type': 'application/json' },
      JSON.stringify({ name: 'soak' }),
    );
    const { thread_id } = (await made.json()) as { thread_id: string };
    const writers = [
      ledger.push(),
      ledger.push(),
      ledger.push(),
      ledger.publish(),
      ledger.publish(),
      ledger.keepArtifacts(thread_id),
    ].map((writer) => writer.catch((error: Error) => void ledger.losses.push(error.message)));
    await trouble({ place, supervisor, ledger, counts }, over);
    place.free();
    ledger.calm();
    await Promise.all(writers);
    await supervisor.kill();
    await supervisor.start();
    await ledger.check();
    const code = await supervisor.stop();
    if (code !== 0) ledger.losses.push(`the server ended with ${code}`);
    ledger.losses.push(...damage(place.home), ...leftOver(supervisor.pids, place.home));
  } finally {
    await supervisor.end();
  }
  const { acknowledged, checked, losses } = ledger;
  const { kills, failedStarts } = supervisor;
  const statuses = Object.fromEntries([...ledger.statuses].sort());
  const seconds = Math.round((performance.now() - began) / 1000);
  return {
    ...{ seconds, acknowledged, checked, kills, failedStarts, ...counts },
    ...{ statuses, noDisk: place.noDisk, losses },
  };
}

function damage(home: string): string[] {
  const db = new DatabaseSync(join(home, 'relay.db'));
  try {
    const rows = db.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[];
    return rows.flatMap(({ integrity_check: what }) => (what === 'ok' ? [] : [`the database: ${what}`]));
  } finally {
    db.close();
  }
}

/** Processes of the servers that are still there, and whatever else has the home in its command line or environment. */
function leftOver(pids: readonly number[], home: string): string[] {
  const alive = pids.filter((pid) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  });
  const others =
    process.platform === 'linux' ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
  const strangers = others.filter((pid) =>
    ['cmdline', 'environ'].some((file) => {
      try {
        return Number(pid) !== process.pid && readFileSync(`/proc/${pid}/${file}`, 'utf8').includes(home);
      } catch {
        return false;
      }
    }),
  );
  return [...new Set([...alive.map(String), ...strangers])].map((pid) => `process ${pid} is left over`);
}
