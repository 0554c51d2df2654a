import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { Rounds } from './rounds.ts';
import type { Round } from './statistics.ts';

export interface Side {
  /** URL of an HTTP server, `redis://…` (SET a value of `bodyBytes`) or `nats://…` (see raw-nats.ts). */
  readonly url: string;
  /** POST this many bytes; GET if absent. */
  readonly bodyBytes?: number;
  /** Send the bytes as `data` of a JSON envelope. */
  readonly asJson?: true;
  /** Expected size of the answer. Another size makes the comparison invalid and fails. */
  readonly answerBytes?: number;
  /** API key to send. */
  readonly key?: string;
  /** Process id of the server. If both sides have one, CPU time per request is measured too. */
  readonly pid?: number;
}

export interface Job extends Rounds {
  readonly ours: Side;
  readonly baseline: Side;
  /** Requests per round and side. */
  readonly requests: number;
  /** 1 measures latency in ms; more measures requests per second with this many in flight. */
  readonly atOnce: number;
}

/** Sends one request to a side over a kept-alive connection. */
export interface Asker extends Disposable {
  ask(): Promise<void>;
}

/** Warm-up, so that compiled code is measured. Large bodies need many rounds. */
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
