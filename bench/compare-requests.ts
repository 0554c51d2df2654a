import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { Rounds } from './rounds.ts';
import type { Round } from './statistics.ts';

export interface Side {
  /** Of an HTTP server; `redis://…`: there `bodyBytes` are the value of a SET; or `nats://…`, see raw-nats.ts. */
  readonly url: string;
  /** POST so many bytes; GET where absent. */
  readonly bodyBytes?: number;
  /** As the `data` of a JSON envelope. */
  readonly asJson?: true;
  /** The answer must have exactly so many, or the comparison is off. */
  readonly answerBytes?: number;
  /** The API key that is sent along. */
  readonly key?: string;
  /** Of the server; where both sides have it, the processor time that they take for a request is looked at too. */
  readonly pid?: number;
}

export interface Job extends Rounds {
  readonly ours: Side;
  readonly baseline: Side;
  /** Per round and side. */
  readonly requests: number;
  /** 1: latency in ms. More: requests a second with so many under way. */
  readonly atOnce: number;
}

/** Asks one side once, over a connection that it keeps. */
export interface Asker extends Disposable {
  ask(): Promise<void>;
}

/** A server that has run for a while is measured, not one whose code is still being compiled; large bodies take their time. */
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
