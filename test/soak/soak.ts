import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type AttackCounts, Attacks } from './attacks.ts';
import { Client } from './client.ts';
import { type Figures, Gauges } from './gauges.ts';
import { SoakHome } from './home.ts';
import { Ledger } from './ledger.ts';
import { Supervisor } from './supervisor.ts';
import { type Counts, trouble } from './trouble.ts';

const PROGRESS_MS = 60_000;

export interface Outcome extends Counts, Figures {
  readonly seconds: number;
  readonly acknowledged: number;
  readonly imported: number;
  readonly checked: number;
  readonly doubled: number;
  readonly kills: number;
  readonly failedStarts: number;
  /** Number of answers to the writers by status; `none` counts broken connections. */
  readonly statuses: Record<string, number>;
  readonly attacks: AttackCounts;
  /** The reason why no disk was filled, or null. */
  readonly noDisk: string | null;
  /** Descriptions of lost, wrong or leftover data; empty if the run succeeded. */
  readonly losses: readonly string[];
}

/**
 * Runs a real server on a real home under kills, full disks, slow readers, hostile payloads and attacks by other
 * tenants, all at once. Writers record what was acknowledged. In the first half the server is killed repeatedly. In the
 * second half one server stays alive, so that its memory can be measured. At the end, or when the run is interrupted,
 * all acknowledged data must exist.
 */
export async function soak(
  ms: number,
  o: { readonly interrupted?: AbortSignal; readonly onProgress?: (line: string) => void } = {},
): Promise<Outcome> {
  using place = new SoakHome();
  const supervisor = new Supervisor(place);
  const counts: Counts = { fullDisks: 0, slowReaders: 0, hostile: 0 };
  const losses: string[] = [];
  const shared = { url: () => supervisor.url, losses, calmSince: Number.POSITIVE_INFINITY };
  const client = async (tenant: string) => new Client(shared, await place.makeKey(tenant));
  const [writer, stranger] = [await client('acme'), await client('stranger')];
  try {
    await supervisor.start();
    const attacks = new Attacks({
      imports: await client('imports'),
      folds: await client('folds'),
      accomplice: await client('accomplice'),
      greps: await client('greps'),
    });
    await attacks.prepare();
    const began = performance.now();
    await using gauges = await Gauges.start(supervisor.url, () => supervisor.pids.at(-1)!);
    const progress = setInterval(() => {
      const seconds = Math.round((performance.now() - began) / 1000);
      const soFar = `${ledger.acknowledged} acknowledged, ${supervisor.kills} kills, ${losses.length} losses${losses.length > 0 ? ` (${losses.at(-1)})` : ''}`;
      o.onProgress?.(`${seconds} s: ${soFar}; ${gauges.line()}; attacks ${JSON.stringify(attacks.counts)}`);
    }, PROGRESS_MS);
    using _ = { [Symbol.dispose]: () => clearInterval(progress) };
    const ends = [...(o.interrupted ? [o.interrupted] : [])];
    const over = AbortSignal.any([AbortSignal.timeout(ms), ...ends]);
    const killsOver = AbortSignal.any([AbortSignal.timeout(ms / 2), ...ends]);
    const ledger = new Ledger(writer, over);
    const thread = await writer.insistJson<{ thread_id: string }>(
      'POST',
      '/threads',
      { 'Content-Type': 'application/json' },
      JSON.stringify({ name: 'soak' }),
    );
    const writers = [
      ledger.push(),
      ledger.push(),
      ledger.push(),
      ledger.publish(),
      ledger.publish(),
      ledger.keepArtifacts(thread.thread_id),
      ledger.importThreads((bundle, id) => attacks.import(bundle, id)),
    ].map((each) => each.catch((error: Error) => void losses.push(error.message)));
    const troubles = {
      place,
      supervisor,
      ledger,
      reader: writer,
      stranger,
      counts,
      onSteady: () => gauges.beginSteady(),
    };
    await Promise.all([trouble(troubles, killsOver, over), attacks.run(over)]);
    const figures = gauges.figures();
    place.free();
    shared.calmSince = performance.now();
    await Promise.all(writers);
    await supervisor.kill();
    await supervisor.start();
    await ledger.check(thread.thread_id);
    const code = await supervisor.stop();
    if (code !== 0) losses.push(`the server ended with ${code}`);
    losses.push(...supervisor.ownEnds, ...damage(place.home), ...leftOver(supervisor.pids, place.home));
    const { acknowledged, imported, checked, doubled } = ledger;
    const { kills, failedStarts } = supervisor;
    const seconds = Math.round((performance.now() - began) / 1000);
    return {
      seconds,
      acknowledged,
      imported,
      checked,
      doubled,
      kills,
      failedStarts,
      ...counts,
      ...figures,
      statuses: writer.statuses,
      attacks: attacks.counts,
      noDisk: place.noDisk,
      losses,
    };
  } finally {
    await supervisor.end();
  }
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

/**
 * Finds leftover processes: servers that still run, and any process with the home in its command line or
 * environment.
 */
function leftOver(pids: readonly number[], home: string): string[] {
  // Check pids only where /proc is missing, because a pid can be reused within an hour. Linux has the exact check
  // below.
  const candidates = process.platform === 'linux' ? [] : pids;
  const alive = candidates.filter((pid) => {
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
