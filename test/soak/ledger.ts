import { createHash, randomBytes, randomInt } from 'node:crypto';
import { pause } from '../../src/base/pause.ts';
import { exported } from '../threads/bundles.ts';
import { openThreads, text } from '../threads/open-threads.ts';
import type { Client } from './client.ts';

export const CHANNEL = 'soak';
const TTL_S = 20 * 24 * 3600;
/**
 * Number of pointers that one writer keeps in the store. The writer checks and deletes older pointers, so that an hour
 * of writes fits on the disk.
 */
const LIVE = 60;

/** An acknowledged write: the path where it can be read, and the expected content. */
interface Kept {
  readonly path: string;
  readonly sha256: string;
}

interface Listed {
  readonly id: string;
  readonly ref: string;
}
type Page = { readonly pointers?: Listed[]; readonly artifacts?: Listed[]; readonly next?: string };

/** Runs the writers of one tenant, records their acknowledged writes, and compares them with the store in the end. */
export class Ledger {
  readonly storedItems: Kept[] = [];
  /** Message texts by sequence number. */
  readonly messages = new Map<number, string>();
  acknowledged = 0;
  checked = 0;
  /** Number of imported threads. */
  imported = 0;
  /** Number of items that exist twice although they were written with one idempotency key. */
  doubled = 0;
  /** Paths of pointers that exist now. The slow readers read them. */
  readonly live: string[] = [];
  readonly #client: Client;
  readonly #losses: string[];
  readonly #over: AbortSignal;

  /** After `over` fires, no new write starts, but running writes finish. */
  constructor(client: Client, over: AbortSignal) {
    this.#client = client;
    this.#losses = client.shared.losses;
    this.#over = over;
  }

  /**
   * Pushes bodies of all sizes, each with an idempotency key that is reused until there is an answer. Deletes
   * old pointers gradually.
   */
  async push(): Promise<void> {
    const livePointers: Kept[] = [];
    while (!this.#over.aborted) {
      const size = randomInt(10) < 8 ? randomInt(1, 8_000) : randomInt(100_000, 600_000);
      const body = randomBytes(size);
      const headers = { 'Content-Type': 'application/octet-stream', 'Idempotency-Key': key() };
      const { id } = await this.#client.insistJson<{ id: string }>(
        'POST',
        `/push?ttl=${TTL_S}`,
        headers,
        body,
      );
      this.acknowledged++;
      livePointers.push({ path: `/pull/${id}?raw=1`, sha256: sha256(body) });
      this.live.push(id);
      if (livePointers.length > LIVE) await this.#retire(livePointers.shift()!);
      await pause(randomInt(5, 40));
    }
    this.storedItems.push(...livePointers);
  }

  async publish(): Promise<void> {
    while (!this.#over.aborted) {
      const msg = randomBytes(randomInt(10, 500)).toString('hex');
      const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': key() };
      const { seq } = await this.#client.insistJson<{ seq: number }>(
        'POST',
        `/channels/${CHANNEL}`,
        headers,
        JSON.stringify({ msg }),
      );
      this.acknowledged++;
      if (this.messages.has(seq)) this.#losses.push(`message ${seq} was acknowledged for two texts`);
      this.messages.set(seq, msg);
      await pause(randomInt(10, 80));
    }
  }

  async keepArtifacts(thread: string): Promise<void> {
    while (!this.#over.aborted) {
      const body = randomBytes(randomInt(10, 3_000));
      const headers = { 'Content-Type': 'application/octet-stream', 'Idempotency-Key': key() };
      const { ref } = await this.#client.insistJson<{ ref: string }>(
        'POST',
        `/threads/${thread}/artifacts`,
        headers,
        body,
      );
      this.acknowledged++;
      this.storedItems.push({ path: `/threads/${thread}/artifacts/${ref}/content`, sha256: sha256(body) });
      await pause(randomInt(100, 600));
    }
  }

  /** Imports threads. `attack` lets another tenant import and delete the same thread during and after each import. */
  async importThreads(attack: (bundle: Uint8Array, id: string) => Promise<void>): Promise<void> {
    const source = openThreads();
    while (!this.#over.aborted) {
      const { thread_id: id } = await source.api.create({ name: 'import' });
      const body = text(randomBytes(randomInt(10, 20_000)).toString('hex'));
      const { ref } = await source.api.putArtifact(id, { body, name: 'content.txt' });
      const bundle = await exported(source, id);
      const attacked = attack(bundle, id);
      const isAcknowledged = await this.#import(bundle);
      await attacked;
      if (isAcknowledged) {
        this.acknowledged++;
        this.imported++;
        this.storedItems.push({ path: `/threads/${id}/artifacts/${ref}/content`, sha256: sha256(body) });
        await attack(bundle, id);
      }
      await source.api.delete(id);
      await pause(randomInt(200, 1_000));
    }
  }

  /** Reads all acknowledged data again and compares it. */
  async check(thread: string): Promise<void> {
    for (const each of this.storedItems) await this.#checkOne(each);
    await this.#checkMessages();
    await this.#checkList('/pointers', 'pointers', ({ id }) => `/pull/${id}?raw=1`);
    const artifacts = `/threads/${thread}/artifacts`;
    await this.#checkList(artifacts, 'artifacts', ({ ref }) => `${artifacts}/${ref}/content`);
  }

  /**
   * Imports a bundle. Returns false in two cases. If there was no answer, the thread may exist or not. If the server
   * rejected the bundle, that counts as a loss.
   */
  async #import(bundle: Uint8Array): Promise<boolean> {
    const began = performance.now();
    for (;;) {
      const answer = await this.#client.ask('POST', '/threads/import', { body: bundle as BodyInit });
      if (!answer) return false;
      const answerText = await answer.text().catch(() => '');
      if (answer.ok) return true;
      if (answer.status < 500 || this.#client.hasWaitedLong(began)) {
        this.#losses.push(`an import was answered with ${answer.status}: ${answerText}`);
        return false;
      }
      await pause(randomInt(20, 150));
    }
  }

  /** Checks that every listed item was acknowledged and exists once. */
  async #checkList(
    path: string,
    name: 'pointers' | 'artifacts',
    pathOf: (item: Listed) => string,
  ): Promise<void> {
    const unseenPaths = new Set(this.storedItems.map((each) => each.path));
    for (let after = ''; ; ) {
      const page = await this.#client.insistJson<Page>('GET', `${path}?limit=200${after}`);
      for (const item of page[name] ?? []) {
        if (unseenPaths.delete(pathOf(item))) continue;
        this.doubled++;
        this.#losses.push(`${pathOf(item)} is there, and nobody was told of it`);
      }
      if (!page.next) return;
      after = `&after=${encodeURIComponent(page.next)}`;
    }
  }

  async #retire(old: Kept): Promise<void> {
    await this.#checkOne(old);
    const id = old.path.slice('/pull/'.length, -'?raw=1'.length);
    this.live.splice(this.live.indexOf(id), 1);
    await this.#client.insist('DELETE', `/pull/${id}`);
  }

  async #checkOne({ path, sha256: expected }: Kept): Promise<void> {
    for (;;) {
      const answer = await this.#client.insist('GET', path).catch((error: Error) => error);
      if (answer instanceof Error) return void this.#losses.push(answer.message);
      try {
        const actual = answer.ok ? sha256(new Uint8Array(await answer.arrayBuffer())) : answer.status;
        if (actual !== expected) this.#losses.push(`${path}: ${actual} instead of ${expected}`);
        this.checked++;
        return;
      } catch {
        // Read the payload again: the server was killed while it sent the answer.
      }
    }
  }

  async #checkMessages(): Promise<void> {
    const unseenMessages = new Map(this.messages);
    const newest = Math.max(0, ...unseenMessages.keys());
    const seenMessages = new Set<string>();
    let last = 0;
    for await (const { seq, msg } of this.#read(newest)) {
      if (seq <= last) this.#losses.push(`message ${seq} came after ${last}`);
      last = seq;
      if (seenMessages.has(msg)) {
        this.doubled++;
        this.#losses.push(`message ${seq} is there twice`);
      }
      seenMessages.add(msg);
      const expected = unseenMessages.get(seq);
      if (expected !== undefined && expected !== msg) this.#losses.push(`message ${seq} has another text`);
      if (unseenMessages.delete(seq)) this.checked++;
    }
    for (const seq of unseenMessages.keys()) this.#losses.push(`message ${seq} is missing`);
  }

  /** Yields the messages of the channel up to this sequence number. */
  async *#read(newest: number): AsyncGenerator<{ seq: number; msg: string }> {
    if (newest === 0) return;
    const over = AbortSignal.timeout(120_000);
    const answer = await this.#client.ask('GET', `/channels/${CHANNEL}/events?since=all`, { signal: over });
    if (!answer?.ok) throw new Error(`The channel was not read: ${answer?.status} ${await answer?.text()}`);
    let rest = '';
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      const events = (rest + chunk).split('\n\n');
      rest = events.pop()!;
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
