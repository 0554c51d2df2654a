import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { pause } from '../../src/base/pause.ts';
import type { Client } from './client.ts';
import type { SoakHome } from './home.ts';
import { CHANNEL, type Ledger } from './ledger.ts';
import type { Supervisor } from './supervisor.ts';

/** Size of a hostile payload. It is so large that quadratic work on it would slow down all other clients. */
const HOSTILE_BYTES = 24 * 1024 * 1024;
/**
 * TTL of hostile payloads in seconds. If the answer with the id of a payload is lost, the payload cannot be deleted and
 * must expire.
 */
const HOSTILE_TTL_S = 60;

/** Number of disturbances of each kind in a run. */
export interface Counts {
  fullDisks: number;
  slowReaders: number;
  hostile: number;
}

/** Repeats the work until the signal fires, with a random pause of `least` to `most` ms before each round. */
export async function again(
  [least, most]: readonly [least: number, most: number],
  over: AbortSignal,
  work: () => Promise<unknown>,
): Promise<void> {
  for (;;) {
    await pause(randomInt(least, most), over);
    if (over.aborted) return;
    await work();
  }
}

/**
 * Runs all disturbances of the server concurrently. They end when `over` fires. The kills end earlier, when
 * `killsOver` fires.
 */
export function trouble(
  o: {
    readonly place: SoakHome;
    readonly supervisor: Supervisor;
    readonly ledger: Ledger;
    readonly reader: Client;
    readonly stranger: Client;
    readonly counts: Counts;
    /** Called when the kills have ended. */
    readonly onSteady: () => void;
  },
  killsOver: AbortSignal,
  over: AbortSignal,
): Promise<unknown> {
  const { place, supervisor, ledger, counts } = o;
  const kills = again([2_000, 7_000], killsOver, async () => {
    await supervisor.kill();
    await supervisor.start();
  }).then(o.onSteady);
  const disks = again([4_000, 12_000], over, async () => {
    place.fill();
    counts.fullDisks++;
    await pause(randomInt(500, 3_000), over);
    place.free();
  });
  const readers = again([50, 400], over, async () => {
    const id = ledger.live[randomInt(Math.max(ledger.live.length, 1))];
    const path = randomInt(2) === 0 && id ? `/pull/${id}?raw=1` : `/channels/${CHANNEL}/events?since=all`;
    void readSlowly(o.reader, path, over);
    counts.slowReaders++;
  });
  const hostile = again([500, 2_500], over, async () => {
    await askForParts(o.stranger, over);
    counts.hostile++;
  });
  return Promise.all([kills, place.noDisk === null ? disks : undefined, readers, hostile]);
}

/** Requests a payload, reads a few bytes, and then stops reading for a while. */
async function readSlowly(client: Client, path: string, over: AbortSignal): Promise<void> {
  const { hostname, port } = new URL(client.shared.url());
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.once('data', () => socket.pause());
  socket.write(`${client.requestHead(path)}\r\n`);
  await pause(randomInt(500, 6_000), over);
  socket.destroy();
}

const HOSTILE = {
  nested: () => '['.repeat(HOSTILE_BYTES / 2) + ']'.repeat(HOSTILE_BYTES / 2),
  newlines: () => '\n'.repeat(HOSTILE_BYTES),
  line: () => 'a'.repeat(HOSTILE_BYTES),
  keys: () => `{${Array.from({ length: HOSTILE_BYTES / 24 }, (_, i) => `"__proto__${i}":[${i}]`).join(',')}}`,
};
const PARTS = ['json=/0', 'outline=1', 'lines=-20', 'lines=1-5', 'grep=(a%2B)%2B$', 'cost=1'];

/**
 * Stores a hostile payload and requests it in many ways at once. Some requests do not wait for their answer.
 */
async function askForParts(client: Client, over: AbortSignal): Promise<void> {
  const kinds = Object.values(HOSTILE);
  const body = kinds[randomInt(kinds.length)]!();
  const pushed = await client.ask('POST', `/push?ttl=${HOSTILE_TTL_S}`, {
    headers: { 'Content-Type': 'text/plain' },
    body,
  });
  if (!pushed?.ok) return void (await pushed?.body?.cancel());
  const { id } = (await pushed.json().catch(() => ({ id: null }))) as { id: string | null };
  if (id === null) return;
  await Promise.all(
    PARTS.map(async (part) => {
      const patience = AbortSignal.timeout(randomInt(3) === 0 ? randomInt(1, 50) : 30_000);
      const signal = AbortSignal.any([patience, over]);
      const answer = await client.ask('GET', `/pull/${id}?${part}`, { signal });
      await answer?.arrayBuffer().catch(() => {});
    }),
  );
  const response = await client.insist('DELETE', `/pull/${id}`);
  await response.body?.cancel();
}
