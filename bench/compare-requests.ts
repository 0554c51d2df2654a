import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { Rounds } from './rounds.ts';
import type { Round } from './statistics.ts';

export interface Side {
  /** URL of an HTTP server, `redis://…` (SET a value of `bodyBytes`) or `nats://…` (see raw-nats.ts). */
  readonly url: string;
  /** If set, the request is a POST with this many bytes; otherwise a GET. */
  readonly bodyBytes?: number;
  /** True to send the bytes in the field `data` of a JSON body. */
  readonly asJson?: true;
  /** Expected size of the answer in bytes. With another size the benchmark fails, because the comparison is invalid. */
  readonly answerBytes?: number;
  /** API key to send. */
  readonly key?: string;
  /** Process id of the server. If both sides have one, CPU time per request is measured too. */
  readonly pid?: number;
}

export interface Job extends Rounds {
  readonly ours: Side;
  readonly baseline: Side;
  /** Number of requests per round and side. */
  readonly requests: number;
  /** Number of concurrent requests. 1 measures the latency in ms, more measures requests per second. */
  readonly atOnce: number;
}

/** Sends requests to one side over kept-alive connections. Calls of `ask` may run concurrently. */
export interface Asker extends Disposable {
  ask(): Promise<void>;
}

/**
 * The warm-up ends after this many rounds or this many ms. Its results are discarded, because the JIT still compiles the
 * code.
 */
const WARMUP_ROUNDS = 25;
const WARMUP_MS = 5_000;

export async function compareRequests(
  job: Omit<Job, 'warmups' | 'warmupMs'> & Partial<Pick<Job, 'warmups'>>,
): Promise<Round[]> {
  const client = fork(join(import.meta.dirname, 'http-client.ts'));
  return new Promise((resolve, reject) => {
    client.once('message', (answer: { rounds: Round[] } | { error: string }) => {
      if ('rounds' in answer) resolve(answer.rounds);
      else reject(new Error(answer.error));
    });
    client.once('error', reject);
    client.once('exit', (code) => reject(new Error(`The client ended with exit code ${code}.`)));
    client.send({ warmups: WARMUP_ROUNDS, warmupMs: WARMUP_MS, ...job } satisfies Job);
  });
}
