import assert from 'node:assert/strict';
import { ContextRelay } from '../../src/public/index.ts';
import { temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';
import { type Running, serve } from './programs.ts';

/**
 * Pushes continuously while the server is killed and restarted, with subscribers that reconnect. Every acknowledged
 * push must reach every subscriber, once and in order.
 */
export async function killAndResume(o: {
  kills: number;
  between: number;
  subscribers: number;
}): Promise<void> {
  using place = temporaryHome();
  let server: Running & { url: string } = await serve(place.home);
  const { url } = server;
  const port = Number(new URL(url).port);
  const received = Array.from({ length: o.subscribers }, () => [] as { url: string; seq: number }[]);
  const client = new ContextRelay({ baseUrl: url });
  const subscriptions = received.map((list) =>
    client.subscribe('c', ({ url, seq }) => {
      list.push({ url: url!, seq });
    }),
  );
  await Promise.all(subscriptions.map(({ ready }) => ready));

  const acknowledged: string[] = [];
  let stop = false;
  const pushing = Promise.all(
    [0, 1, 2].map(async (writer) => {
      for (let i = 0; !stop; i++) acknowledged.push(await push(url, `${writer}-${i}`, () => stop));
    }),
  );
  for (let kill = 0; kill < o.kills; kill++) {
    const before = acknowledged.length;
    await until(() => acknowledged.length >= before + o.between);
    server.child.kill('SIGKILL');
    await server.ended;
    server = await serve(place.home, { port });
  }
  const before = acknowledged.length;
  await until(() => acknowledged.length >= before + o.between);
  stop = true;
  await pushing;
  const sent = acknowledged.filter((each) => each !== '');
  for (const list of received) {
    const has = () => new Set(list.map(({ url }) => url));
    await until(() => sent.every((each) => has().has(each)));
    assert.equal(has().size, list.length, 'none twice');
    assert.deepEqual(
      list.map(({ seq }) => seq),
      list.map(({ seq }) => seq).toSorted((a, b) => a - b),
      'in order',
    );
  }
  assert.deepEqual(new Set(received.map((list) => list.length)).size, 1, 'all have the same');
  for (const subscription of subscriptions) await subscription.close();
  await server[Symbol.asyncDispose]();
}

/** Pushes, and retries with the same idempotency key until there is an answer. */
async function push(base: string, data: string, stopped: () => boolean): Promise<string> {
  for (;;) {
    try {
      const response = await fetch(`${base}/push`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': data },
        body: JSON.stringify({ data, channel: 'c' }),
      });
      if (response.ok) return ((await response.json()) as { url: string }).url;
    } catch {
      // Try again: the server is down for the moment.
    }
    if (stopped()) return '';
    await pause(20);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
