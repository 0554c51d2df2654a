import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

const EVERY_MS = 2_000;
const MiB = 1024 * 1024;
const BARE_SERVER = `const server = require('node:http').createServer((_, answer) => answer.end('ok'));
server.listen(0, '127.0.0.1', () => process.stdout.write(String(server.address().port)));`;

export interface Figures {
  /** Number of answers of /health during the whole run, and number of requests without an answer in time. */
  readonly healthAnswers: number;
  readonly healthNone: number;
  readonly healthP50Ms: number;
  readonly healthP99Ms: number;
  /** 99th percentile of the response time of a trivial server in its own process. It shows how busy the machine is. */
  readonly bareP99Ms: number;
  /** Number of answers of /health in the second half, in which the server is not killed. */
  readonly steadyHealthAnswers: number;
  readonly steadyHealthNone: number;
  readonly steadyHealthP50Ms: number;
  readonly steadyHealthP99Ms: number;
  readonly steadyHealthMaxMs: number;
  /**
   * Duration of the second half, and the memory of its server in MiB: medians of the first and last quarter, and the
   * maximum.
   */
  readonly steadySeconds: number;
  readonly rssFirstQuarter: number;
  readonly rssLastQuarter: number;
  readonly rssMost: number;
}

export interface HealthSample {
  readonly at: number;
  readonly of: 'relay' | 'bare';
  /** Response time in ms, or null if no answer came. */
  readonly ms: number | null;
}

/** Measures the response times of /health and of a trivial server in a worker thread, and the memory of the server. */
export class Gauges implements AsyncDisposable {
  readonly #health: HealthSample[] = [];
  readonly #rss: { readonly at: number; readonly pid: number; readonly bytes: number }[] = [];
  readonly #probe: Worker;
  readonly #bare: ChildProcess;
  readonly #timer: NodeJS.Timeout;
  #steadySince = Number.POSITIVE_INFINITY;

  private constructor(url: string, bare: ChildProcess, bareUrl: string, pid: () => number) {
    this.#bare = bare;
    const workerData = { relay: url, bare: bareUrl };
    this.#probe = new Worker(new URL('./health-probe.ts', import.meta.url), { workerData });
    this.#probe.on('message', (sample: HealthSample) => this.#health.push(sample));
    this.#timer = setInterval(() => {
      const bytes = rssOf(pid());
      if (bytes !== null) this.#rss.push({ at: Date.now(), pid: pid(), bytes });
    }, EVERY_MS);
  }

  static async start(url: string, pid: () => number): Promise<Gauges> {
    const bare = spawn(process.execPath, ['-e', BARE_SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [port] = (await once(bare.stdout!, 'data')) as [Buffer];
    return new Gauges(url, bare, `http://127.0.0.1:${port}`, pid);
  }

  /** Marks the start of the second half, in which the server is not killed. */
  beginSteady(): void {
    this.#steadySince = Date.now();
  }

  /** Returns the measurements so far. */
  figures(): Figures {
    const begin = this.#steadySince;
    const steady = this.#rss.filter(({ at }) => at >= begin);
    const end = steady.at(-1)?.at ?? begin;
    const quarter = (end - begin) / 4;
    const median = (from: number, to: number) => {
      const within = steady.filter(({ at }) => at >= from && at <= to).map(({ bytes }) => bytes);
      return Math.round(quantile(within, 0.5) / MiB);
    };
    const relay = this.#health.filter(({ of }) => of === 'relay');
    const bare = latencies(this.#health.filter(({ of }) => of === 'bare'));
    const all = latencies(relay);
    const late = latencies(relay.filter(({ at }) => at >= begin));
    return {
      healthAnswers: all.times.length,
      healthNone: all.none,
      healthP50Ms: quantile(all.times, 0.5),
      healthP99Ms: quantile(all.times, 0.99),
      bareP99Ms: quantile(bare.times, 0.99),
      steadyHealthAnswers: late.times.length,
      steadyHealthNone: late.none,
      steadyHealthP50Ms: quantile(late.times, 0.5),
      steadyHealthP99Ms: quantile(late.times, 0.99),
      steadyHealthMaxMs: quantile(late.times, 1),
      steadySeconds: Math.round((end - begin) / 1000),
      rssFirstQuarter: median(begin, begin + quarter),
      rssLastQuarter: median(end - quarter, end),
      rssMost: Math.round(Math.max(0, ...this.#rss.map(({ bytes }) => bytes)) / MiB),
    };
  }

  /** Returns the current memory of the server and the latest response times, for the progress output. */
  line(): string {
    const { bytes = 0, pid = 0 } = this.#rss.at(-1) ?? {};
    const p99 = (of: 'relay' | 'bare') => {
      const lately = this.#health.slice(-500).filter((sample) => sample.of === of);
      return `p99 ${quantile(latencies(lately).times, 0.99)} ms, ${latencies(lately).none} none`;
    };
    const health = `/health ${p99('relay')}, a bare server ${p99('bare')}`;
    return `pid ${pid} rss ${Math.round(bytes / MiB)} MiB, ${health}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#bare.kill();
    await this.#probe.terminate();
  }
}

function latencies(samples: readonly HealthSample[]): { times: number[]; none: number } {
  const times = samples.flatMap(({ ms }) => (ms === null ? [] : [ms]));
  return { times, none: samples.length - times.length };
}

function quantile(values: readonly number[], which: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * which))] ?? 0);
}

/** Reads the memory of a process; null if the process has ended or the system does not report it. */
function rssOf(pid: number): number | null {
  try {
    const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kib === undefined ? null : Number(kib) * 1024;
  } catch {
    return null;
  }
}
