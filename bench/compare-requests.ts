import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { Round } from './statistics.ts';

export interface Side {
  /** Of an HTTP server, or `redis://…`: there `bodyBytes` are the value of a SET. */
  readonly url: string;
  /** POST so many bytes; GET where absent. */
  readonly bodyBytes?: number;
  /** As the `data` of a JSON envelope. */
  readonly asJson?: true;
  /** The answer must have exactly so many, or the comparison is off. */
  readonly answerBytes?: number;
}

export interface Job {
  readonly ours: Side;
  readonly baseline: Side;
  readonly rounds: number;
  /** Per round and side. */
  readonly requests: number;
  /** 1: latency in ms. More: requests a second with so many under way. */
  readonly atOnce: number;
  readonly warmups: number;
}

/** Asks one side once, over a connection that it keeps. */
export interface Asker extends Disposable {
  ask(): Promise<void>;
}

/** A server that has run for a second is measured, not one whose code is still being compiled. */
const WARMUP_ROUNDS = 25;

export async function compareRequests(job: Omit<Job, 'warmups'>): Promise<Round[]> {
  const client = fork(join(import.meta.dirname, 'http-client.ts'));
  return new Promise((resolve, reject) => {
    client.once('message', (answer: { rounds: Round[] } | { error: string }) => {
      if ('rounds' in answer) resolve(answer.rounds);
      else reject(new Error(answer.error));
    });
    client.once('error', reject);
    client.once('exit', (code) => reject(new Error(`The client ended with exit code ${code}.`)));
    client.send({ ...job, warmups: WARMUP_ROUNDS } satisfies Job);
  });
}
