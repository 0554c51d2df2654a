import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { pause } from '../../src/base/pause.ts';
import { forged, unpacked } from '../threads/bundles.ts';
import type { Client } from './client.ts';
import { again } from './trouble.ts';

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Number of facts in the thread of the attack `folds`. The thread is within all limits. Its state is slow to compute. */
const FACTS = 4_900;
const PATCHES = 20;
const MOVES = 2_000;
/** Number and size of the files that the search attack scans. */
const SEARCHED_FILES = 24;
const SEARCHED_CHARS = 1_000_000;
const SEARCHED_WORDS = ['relay', 'pointer', 'payload', 'agent', 'thread', 'context', 'hand', 'over'];
const GREP_LINES = 100_000;
const GREPS = 80;
const PING_BYTES = 40 * 1024 * 1024;

/** Number of answers to each attack, by status. */
export interface AttackCounts {
  readonly imports: Record<string, number>;
  readonly folds: Record<string, number>;
  readonly greps: Record<string, number>;
  readonly pings: Record<string, number>;
}

export interface AttackClients {
  readonly imports: Client;
  readonly folds: Client;
  /** Client that imports the bundle that `folds` exported. */
  readonly accomplice: Client;
  readonly greps: Client;
}

/** Attacks by other tenants on the server that the writers use. The writers must not lose data or wait long. */
export class Attacks {
  readonly #imports: Client;
  readonly #folds: Client;
  readonly #greps: Client;
  readonly #accomplice: Client;
  readonly #pings: Record<string, number> = { cut: 0, sent: 0 };
  /** Ids of foreign threads whose import got no answer. The attacker may own a thread with such an id. */
  readonly #unsure = new Set<string>();
  #costly = '';
  #searched = '';
  #grepped = '';
  #bundle = new Uint8Array();

  /** Each attack has its own tenant, so that the attacks do not slow down each other. */
  constructor(clients: AttackClients) {
    this.#imports = clients.imports;
    this.#folds = clients.folds;
    this.#accomplice = clients.accomplice;
    this.#greps = clients.greps;
  }

  get counts(): AttackCounts {
    const folds = { ...this.#folds.statuses };
    for (const [status, count] of Object.entries(this.#accomplice.statuses))
      folds[status] = (folds[status] ?? 0) + count;
    return { imports: this.#imports.statuses, folds, greps: this.#greps.statuses, pings: this.#pings };
  }

  /** Stores the data that the attacks use. */
  async prepare(): Promise<void> {
    const client = this.#folds;
    const thread = async () =>
      (await client.insistJson<{ thread_id: string }>('POST', '/threads', JSON_TYPE, '{}')).thread_id;
    this.#costly = await thread();
    const patch = async (ops: unknown[]) => {
      const body = JSON.stringify(ops);
      await client.insistJson('POST', `/threads/${this.#costly}/state/patch`, JSON_TYPE, body);
    };
    const value = Array.from({ length: FACTS }, (_, i) => ({ id: `f${i}`, key: 'k', value: i }));
    await patch([{ op: 'replace', path: '/facts', value }]);
    for (let round = 0; round < PATCHES; round++) await patch(Array.from({ length: MOVES }, moveIn(round)));
    const exported = await client.insist('GET', `/threads/${this.#costly}/export`);
    this.#bundle = new Uint8Array(await exported.arrayBuffer());
    this.#searched = await thread();
    for (let file = 0; file < SEARCHED_FILES; file++) {
      const headers = { 'Content-Type': 'text/plain' };
      await client.insist('POST', `/threads/${this.#searched}/artifacts`, headers, randomText());
    }
    const body = `${'x'.repeat(79)}\n`.repeat(GREP_LINES);
    const type = { 'Content-Type': 'text/plain' };
    this.#grepped = (await this.#greps.insistJson<{ id: string }>('POST', '/push', type, body)).id;
  }

  async run(over: AbortSignal): Promise<void> {
    await Promise.all([
      again([200, 2_000], over, () => this.#fold()),
      again([2_000, 10_000], over, () => this.#importCostly()),
      again([1_000, 4_000], over, () => this.#grep()),
      again([500, 3_000], over, () => this.#ping(over)),
    ]);
  }

  /** Imports another tenant's bundle, intact or damaged. Deletes the imported thread, which has the original's id. */
  async import(bundle: Uint8Array, id: string): Promise<void> {
    const kind = (['whole', 'changed', 'cut'] as const)[randomInt(3)]!;
    const body = kind === 'whole' ? bundle : kind === 'cut' ? bundle.subarray(0, -40) : await changed(bundle);
    const status = await this.#imports.send('POST', '/threads/import', { body: body as BodyInit });
    if (status === null) this.#unsure.add(id);
    const isExpected = status === (kind === 'whole' ? 201 : 400) || (status === 409 && this.#unsure.has(id));
    if (status !== null && status < 500 && !isExpected)
      this.#imports.shared.losses.push(`a ${kind} bundle of a foreign thread was answered with ${status}`);
    await (await this.#imports.insist('DELETE', `/threads/${id}`)).body?.cancel();
  }

  async #fold(): Promise<void> {
    const [state, word] = [`/threads/${this.#costly}/state`, SEARCHED_WORDS[randomInt(8)]];
    await Promise.all([
      this.#folds.send('GET', `${state}/blame`),
      this.#folds.send('GET', `${state}/diff?from=v1`),
      this.#folds.send('GET', `${state}?at=v${randomInt(2, PATCHES)}`),
      this.#folds.send('POST', `/threads/${this.#costly}/replay`, { headers: JSON_TYPE, body: '{}' }),
      this.#folds.send('GET', `/threads/${this.#searched}/search?q=${word}%20payload`),
    ]);
  }

  async #importCostly(): Promise<void> {
    await this.#accomplice.send('POST', '/threads/import', { body: this.#bundle });
    await this.#accomplice.send('DELETE', `/threads/${this.#costly}`);
  }

  async #grep(): Promise<void> {
    const path = `/pull/${this.#grepped}?grep=(x%2Bx%2B)%2By`;
    await Promise.all(Array.from({ length: GREPS }, () => this.#greps.send('GET', path)));
  }

  /** Sends pings over a WebSocket and never reads the answers. */
  async #ping(over: AbortSignal): Promise<void> {
    const { hostname, port } = new URL(this.#greps.shared.url());
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.write(
      `${this.#greps.requestHead('/ws/pings')}Upgrade: websocket\r\nConnection: Upgrade\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    const closed = once(socket, 'close').catch(() => {});
    await Promise.race([once(socket, 'readable').catch(() => {}), closed]);
    // A masked ping with a payload of 125 bytes.
    const ping = Buffer.concat([Buffer.from([0x89, 0x80 | 125, 0, 0, 0, 0]), Buffer.alloc(125, 'x')]);
    const pings = Buffer.concat(Array.from({ length: 1_000 }, () => ping));
    let sentBytes = 0;
    for (; sentBytes < PING_BYTES && !socket.destroyed && !over.aborted; sentBytes += pings.length) {
      if (socket.write(pings)) continue;
      const drained = once(socket, 'drain').catch(() => {});
      await Promise.race([drained, closed, pause(10_000, over)]);
      if (socket.writableNeedDrain) break;
    }
    this.#pings[socket.destroyed ? 'cut' : 'sent']!++;
    // Keep the socket open, so that the server holds its buffers for a while.
    await pause(randomInt(500, 3_000), over);
    socket.destroy();
  }
}

const moveIn = (round: number) => (_: unknown, i: number) => ({
  op: 'move',
  from: `/facts/${(i * 7 + round) % FACTS}`,
  path: `/facts/${(i * 13 + round) % FACTS}`,
});

/** Builds a bundle whose damage is detected only when its contents are stored. */
async function changed(bundle: Uint8Array): Promise<Uint8Array> {
  const files = await unpacked(bundle);
  const path = [...files.keys()].find((name) => name.startsWith('artifacts/'))!;
  return forged(bundle, path, (content) => (content.startsWith('0') ? '1' : '0') + content.slice(1));
}

function randomText(): string {
  const some = Array.from({ length: SEARCHED_CHARS / 10 }, () => SEARCHED_WORDS[randomInt(8)]);
  const lines = some.map((word, i) => word + (i % 12 === 11 ? '\n' : ' '));
  return lines.join('');
}
