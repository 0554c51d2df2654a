import { pause } from '../src/base/pause.ts';
import { percentile } from './statistics.ts';

/** Duration in ms of the measurement, in which requests of all kinds run concurrently. */
const RUN_MS = 20_000;
/** Time in ms between two requests of a kind. Kinds that are not listed use `SHORT_PAUSE_MS`. */
const PAUSE_MS: { readonly [kind: string]: number } = { stats: 1_000, metrics: 500, usage: 1_000 };
const SHORT_PAUSE_MS = 20;

export interface RequestTimes {
  readonly kind: string;
  readonly requests: number;
  readonly first: number;
  readonly p50: number;
  readonly most: number;
}

/** Sends requests of every kind concurrently. Returns the latencies per kind. */
export async function askEverything(url: string): Promise<RequestTimes[]> {
  const push = { method: 'POST', body: 'one more', headers: { 'content-type': 'text/plain' } };
  const pushed = await fetch(`${url}/push`, push);
  const { id } = (await pushed.json()) as { id: string };
  const kinds: [string, string, RequestInit?][] = [
    ['push', '/push', push],
    ['peek', `/peek/${id}`],
    ['pull', `/pull/${id}`],
    ['list', '/pointers?limit=50'],
    ['stats', '/stats'],
    ['usage', '/usage'],
    ['metrics', '/metrics'],
  ];
  const until = performance.now() + RUN_MS;
  return Promise.all(
    kinds.map(async ([kind, path, init]) => {
      const times: number[] = [];
      while (performance.now() < until) {
        const began = performance.now();
        const answer = await fetch(url + path, init);
        await answer.arrayBuffer();
        if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
        times.push(performance.now() - began);
        await pause(PAUSE_MS[kind] ?? SHORT_PAUSE_MS);
      }
      const [p50, most] = [percentile(times, 0.5), Math.max(...times)];
      return { kind, requests: times.length, first: times[0]!, p50, most };
    }),
  );
}
