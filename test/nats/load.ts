import assert from 'node:assert/strict';
import { pause } from '../../src/base/pause.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { until } from '../until.ts';

/**
 * Background load on two servers, and the check of its acknowledged writes. Each call is repeated with its idempotency
 * key until it is acknowledged.
 */
export class Load {
  readonly #urls: readonly string[];
  readonly #stop = new AbortController();
  readonly #work: Promise<unknown>[] = [];
  readonly #members: Promise<unknown>[] = [];
  readonly #receivedIds: string[] = [];
  readonly #acks = new Map<string, number>();
  readonly #jobs = new Set<string>();
  readonly pushed = new Map<string, string>();
  readonly patched = new Map<string, number>();
  readonly done = new Set<string>();
  longestGapMs = 0;
  #lastPush = performance.now();
  #thread = '';

  constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  async begin(): Promise<void> {
    this.#thread = (
      await this.#call<{ thread_id: string }>(0, '/threads', { name: 'chaos' }, 'thread')
    ).thread_id;
    const { signal } = this.#stop;
    for (const [at, baseUrl] of this.#urls.entries()) {
      const client = new ContextRelay({ baseUrl });
      if (at === 0)
        client.subscribe('c', ({ url }) => void this.#receivedIds.push(idOf(url!)), { since: 'all', signal });
      this.#members.push(this.#member(client));
    }
    for (let worker = 0; worker < 3; worker++)
      this.#work.push(this.#loop(worker, (n) => this.#push(worker, n)));
    this.#work.push(
      this.#loop(3, (n) => this.#patch(3, n)),
      this.#loop(4, (n) => this.#patch(4, n)),
    );
    this.#work.push(this.#loop(5, (n) => this.#job(n)));
  }

  /** Stops the load and waits up to 60 s until all messages are received and all jobs are done. */
  async end(): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#work);
    const allReceived = () => [...this.pushed.values()].every((id) => this.#receivedIds.includes(id));
    const late = performance.now() + 60_000;
    const over = () => performance.now() > late;
    await until(() => (allReceived() && this.done.size >= this.#jobs.size) || over(), {
      everyMs: 200,
      timeoutMs: 300_000,
    });
    this.#stop.abort();
    await Promise.all(this.#members);
  }

  #ended = false;

  /** Compares the acknowledged writes with the store. Throws if the versions of the thread are inconsistent. */
  async count(
    url: string,
  ): Promise<{ acknowledged: number; found: number; doubled: number; missing: string[] }> {
    const missing: string[] = [];
    for (const [data, id] of this.pushed) {
      const answer = await fetch(`${url}/pull/${id}?raw=1`);
      if (!answer.ok || (await answer.text()) !== data) missing.push(`pointer ${id}`);
      if (!this.#receivedIds.includes(id)) missing.push(`message about ${id}`);
    }
    const state = (await (await fetch(`${url}/threads/${this.#thread}/state`)).json()) as {
      version: number;
      facts: { id: string }[];
    };
    const facts = state.facts.map(({ id }) => id);
    for (const id of this.patched.keys()) if (!facts.includes(id)) missing.push(`fact ${id}`);
    for (const job of this.#jobs) if (!this.done.has(job)) missing.push(job);
    const doubled = (items: readonly string[]) => items.filter((item, i) => items.indexOf(item) !== i);
    const twice = [...this.#acks].filter(([, count]) => count !== 1);
    const versions = [...this.patched.values()].sort((a, b) => a - b);
    assert.equal(new Set(versions).size, versions.length, 'each patch made a version of its own');
    assert.equal(state.version, facts.length + 1, 'versions without a gap');
    const acknowledged = 2 * this.pushed.size + this.patched.size + this.#jobs.size;
    return {
      acknowledged,
      found: acknowledged - missing.length,
      missing,
      doubled: doubled(this.#receivedIds).length + doubled(facts).length + twice.length,
    };
  }

  /** Asserts that every acknowledged write exists once. If NATS itself lost writes, only prints what is missing. */
  async check(url: string, lostByNats: number): Promise<void> {
    const { missing, doubled } = await this.count(url);
    assert.equal(doubled, 0, 'nothing twice');
    if (lostByNats === 0) assert.deepEqual(missing, []);
    else console.log(`missing, where NATS lost ${lostByNats} of its own: ${missing.join(', ') || 'nothing'}`);
  }

  /** Works on jobs until the end. Subscribes again after an error, for example if its server was killed. */
  async #member(client: ContextRelay): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        for await (const { msg, ack } of client.subscribe('jobs', { group: 'g', signal })) {
          const job = String(msg);
          this.done.add(job);
          await ack();
          this.#acks.set(job, (this.#acks.get(job) ?? 0) + 1);
        }
      } catch {
        await pause(200);
      }
    }
  }

  async #loop(worker: number, step: (n: number) => Promise<void>): Promise<void> {
    for (let n = 0; !this.#ended; n++) {
      await step(n);
      await pause(20 + worker * 5);
    }
  }

  async #push(worker: number, n: number): Promise<void> {
    const data = `payload ${worker}-${n}`;
    const { id } = await this.#call<{ id: string }>(worker + n, '/push', { data, channel: 'c' }, data);
    this.pushed.set(data, id);
    const now = performance.now();
    this.longestGapMs = Math.max(this.longestGapMs, now - this.#lastPush);
    this.#lastPush = now;
  }

  async #patch(worker: number, n: number): Promise<void> {
    const id = `f${worker}-${n}`;
    const ops = [{ op: 'add', path: '/facts/-', value: { id, key: id, value: 'x' } }];
    const path = `/threads/${this.#thread}/state/patch`;
    const { version } = await this.#call<{ version: number }>(worker + n, path, ops, id);
    this.patched.set(id, version);
    await pause(100);
  }

  async #job(n: number): Promise<void> {
    const job = `job ${n}`;
    await this.#call(n, '/channels/jobs', { msg: job }, job);
    this.#jobs.add(job);
    await pause(100);
  }

  /** Sends a call to both servers in turn, with the same key, until one acknowledges it. */
  async #call<T>(first: number, path: string, body: unknown, key: string): Promise<T> {
    for (let attempt = first; ; attempt++) {
      const url = this.#urls[attempt % this.#urls.length]!;
      const answer = await fetch(url + path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(30_000),
      }).catch(() => null);
      if (answer?.ok) return (await answer.json()) as T;
      if (answer && answer.status < 500 && answer.status !== 409)
        throw new Error(`${path}: ${await answer.text()}`);
      await answer?.body?.cancel();
      await pause(200);
    }
  }
}

function idOf(url: string): string {
  return url.split('/').at(-1)!;
}
