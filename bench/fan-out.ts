import type { Audience } from './audience.ts';
import { blockOf, inTurn } from './rounds.ts';
import { median, summarise } from './statistics.ts';

const WARMUPS = 30;

export interface FanOut {
  readonly subscribers: number;
  readonly rounds: number;
  readonly detail: string;
  /** Number of pushes per round, one after another; 1 by default. */
  readonly pushes?: number;
  /** Process ids of both servers, to measure their CPU time. */
  readonly pids?: readonly [ours: number, theirs: number];
}

/** Measures the time from a push until the last socket has the message, on two servers in turn. */
export async function compareAudiences(
  ours: Audience,
  theirs: Audience,
  { subscribers, rounds, detail, pushes = 1, pids }: FanOut,
): Promise<ReturnType<typeof summarise>> {
  await ours.grow(subscribers);
  await theirs.grow(subscribers);
  const blocks = (audience: Audience, pid: number | undefined) => () =>
    blockOf(pushes, pid, async () => {
      const times: number[] = [];
      for (let i = 0; i < pushes; i++) times.push(await audience.push());
      return median(times);
    });
  const measured = await inTurn(blocks(ours, pids?.[0]), blocks(theirs, pids?.[1]), {
    rounds,
    warmups: WARMUPS,
  });
  return summarise(measured, 'ms', detail);
}
