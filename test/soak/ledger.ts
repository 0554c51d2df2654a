import { createHash, randomBytes, randomInt } from 'node:crypto';
import { pause } from '../../src/base/pause.ts';

export const CHANNEL = 'soak';
const TTL_S = 20 * 24 * 3600;
/** Pointers that one writer leaves in the store; older ones are checked and deleted, so that an hour fits on the disk. */
const LIVE = 60;

/** How long a request is repeated in the middle of it all, and when all is calm again. */
const PATIENCE_MS = 180_000;
const CALM_MS = 15_000;

/** What a writer was told is stored: where it can be read again, and what must be there. */
interface Kept {
  readonly path: string;
  readonly sha256: string;
}

/** What was acknowledged, and what turned out to be wrong. */
export class Ledger {
  readonly kept: Kept[] = [];
  /** Text of a message by its sequence. */
  readonly messages = new Map<number, string>();
  readonly statuses = new Map<string, number>();
  readonly losses: string[] = [];
  acknowledged = 0;
  checked = 0;
  /** Pointers that are there right now, for whoever wants to read something. */
  readonly live: string[] = [];
  readonly #url: () => string;
  readonly #over: AbortSignal;
  #calmSince = Number.POSITIVE_INFINITY;

  /** After `over` nothing new is begun; what is under way still gets its answer. */
  constructor(url: () => string, over: AbortSignal) {
    this.#url = url;
    this.#over = over;
  }

  /** To be called when nothing disturbs the server any more: from now on every request gets its answer soon. */
  calm(): void {
    this.#calmSince = performance.now();
  }

  /** Pushes bodies of all sizes under keys that are repeated until there is an answer; forgets the oldest by and by. */
  async push(): Promise<void> {
    const mine: Kept[] = [];
    while (!this.#over.aborted) {
      const size = randomInt(10) < 8 ? randomInt(1, 8_000) : randomInt(100_000, 600_000);
      const body = randomBytes(size);
      const headers = { 'Content-Type': 'application/octet-stream', 'Idempotency-Key': key() };
      const answer = await this.insist('POST', `/push?ttl=${TTL_S}`, headers, body);
      const { id } = (await answer.json()) as { id: string };
      this.acknowledged++;
      mine.push({ path: `/pull/${id}?raw=1`, sha256: sha256(body) });
      this.live.push(id);
      if (mine.length > LIVE) await this.#retire(mine.shift()!);
      await pause(randomInt(5, 40));
    }
    this.kept.push(...mine);
  }

  async publish(): Promise<void> {
    while (!this.#over.aborted) {
      const msg = randomBytes(randomInt(10, 500)).toString('hex');
      const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': key() };
      const answer = await this.insist('POST', `/channels/${CHANNEL}`, headers, JSON.stringify({ msg }));
      const { seq } = (await answer.json()) as { seq: number };
      this.acknowledged++;
      if (this.messages.has(seq)) this.losses.push(`message ${seq} was acknowledged for two texts`);
      this.messages.set(seq, msg);
      await pause(randomInt(10, 80));
    }
  }

  async keepArtifacts(thread: string): Promise<void> {
    while (!this.#over.aborted) {
      const body = randomBytes(randomInt(10, 3_000));
      const headers = { 'Content-Type': 'application/octet-stream', 'Idempotency-Key': key() };
      const answer = await this.insist('POST', `/threads/${thread}/artifacts`, headers, body);
      const { ref } = (await answer.json()) as { ref: string };
      this.acknowledged++;
      this.kept.push({ path: `/threads/${thread}/artifacts/${ref}/content`, sha256: sha256(body) });
      await pause(randomInt(100, 600));
    }
  }

  /** Reads everything again. */
  async check(): Promise<void> {
    for (const each of this.kept) await this.#checkOne(each);
    await this.#checkMessages();
  }

  /** Sends the very same request until it is answered with success; throws where that takes too long. */
  async insist(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: BodyInit,
  ): Promise<Response> {
    const began = performance.now();
    for (;;) {
      const answer = await this.ask(method, path, { headers, body });
      if (answer?.ok) return answer;
      if (performance.now() > Math.min(began + PATIENCE_MS, Math.max(began, this.#calmSince) + CALM_MS)) {
        const last = answer ? `${answer.status} ${await answer.text()}` : 'nothing';
        throw new Error(`${method} ${path}: no good answer in all that time, in the end ${last}`);
      }
      if (answer?.status === 404 && method !== 'POST') return answer;
      if (answer && [404, 409, 413].includes(answer.status)) {
        this.losses.push(`${method} ${path} was answered with ${answer.status}: ${await answer.text()}`);
      }
      await answer?.body?.cancel();
      await pause(randomInt(20, 150));
    }
  }

  /** One request; null where nobody answers. */
  async ask(method: string, path: string, o: RequestInit = {}): Promise<Response | null> {
    try {
      const answer = await fetch(this.#url() + path, {
        signal: AbortSignal.timeout(30_000),
        ...o,
        method,
      });
      const status = String(answer.status);
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      if (answer.status === 500) this.losses.push(`${method} ${path}: ${await answer.clone().text()}`);
      return answer;
    } catch {
      this.statuses.set('none', (this.statuses.get('none') ?? 0) + 1);
      return null;
    }
  }

  async #retire(old: Kept): Promise<void> {
    await this.#checkOne(old);
    const id = old.path.slice('/pull/'.length, -'?raw=1'.length);
    this.live.splice(this.live.indexOf(id), 1);
    await this.insist('DELETE', `/pull/${id}`);
  }

  async #checkOne({ path, sha256: expected }: Kept): Promise<void> {
    for (;;) {
      const answer = await this.insist('GET', path).catch((error: Error) => error);
      if (answer instanceof Error) return void this.losses.push(answer.message);
      try {
        const found = answer.ok ? sha256(new Uint8Array(await answer.arrayBuffer())) : answer.status;
        if (found !== expected) this.losses.push(`${path}: ${found} instead of ${expected}`);
        this.checked++;
        return;
      } catch {
        // The server was killed while it sent.
      }
    }
  }

  async #checkMessages(): Promise<void> {
    const wanted = new Map(this.messages);
    const newest = Math.max(0, ...wanted.keys());
    let last = 0;
    for await (const { seq, msg } of this.#read(newest)) {
      if (seq <= last) this.losses.push(`message ${seq} came after ${last}`);
      last = seq;
      const text = wanted.get(seq);
      if (text !== undefined && text !== msg) this.losses.push(`message ${seq} has another text`);
      if (wanted.delete(seq)) this.checked++;
    }
    for (const seq of wanted.keys()) this.losses.push(`message ${seq} is missing`);
  }

  /** All messages of the channel, up to that one. */
  async *#read(newest: number): AsyncGenerator<{ seq: number; msg: string }> {
    if (newest === 0) return;
    const over = AbortSignal.timeout(120_000);
    const answer = await fetch(`${this.#url()}/channels/${CHANNEL}/events?since=all`, { signal: over });
    if (!answer.ok) throw new Error(`The channel was not read: ${answer.status} ${await answer.text()}`);
    let text = '';
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      const events = (text + chunk).split('\n\n');
      text = events.pop()!;
      for (const event of events) {
        const data = /^data: (.*)$/m.exec(event)?.[1];
        if (!data || /^event: gap/m.test(event)) continue;
        const message = JSON.parse(data) as { seq: number; msg: string };
        yield message;
        if (message.seq >= newest) return;
      }
    }
  }
}

function key(): string {
  return randomBytes(12).toString('hex');
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
