import type { Audience } from './audience.ts';
import { type Round, summarise } from './statistics.ts';

const WARMUPS = 30;

/** From a push to the last of so many sockets, on two servers in turn. */
export async function compareAudiences(
  ours: Audience,
  theirs: Audience,
  subscribers: number,
  rounds: number,
  detail: string,
): Promise<ReturnType<typeof summarise>> {
  await ours.grow(subscribers);
  await theirs.grow(subscribers);
  const measured: Round[] = [];
  for (let round = -WARMUPS; round < rounds; round++) {
    // First one, then the other, so that neither always comes second.
    const early = round % 2 === 0 ? await ours.push() : 0;
    const baseline = await theirs.push();
    const result = { ours: early || (await ours.push()), baseline };
    if (round >= 0) measured.push(result);
  }
  return summarise(measured, 'ms', detail);
}
