import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { temporaryHome } from '../cli/program.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { ERAS, type Era, overHttp, overStdio, type TestClient } from './clients.ts';

const home = temporaryHome();
after(() => home[Symbol.dispose]());
let relay: RelayUnderTest;
before(async () => {
  relay = await startRelay();
});
after(() => relay[Symbol.asyncDispose]());

const ways: [string, Era, () => Promise<TestClient>][] = ERAS.flatMap((era) => [
  [`stdio, ${era}`, era, () => overStdio(home.home, era, { args: ['--tools', 'resources'] })],
  [`HTTP, ${era}`, era, () => overHttp(relay.url, era)],
]);
for (const [way, era, connect] of ways) {
  describe(`channels over ${way}`, () => {
    let mcp: TestClient;
    const channel = `news of ${way}`;
    const uri = `relay://channel/${encodeURIComponent(channel)}`;
    before(async () => {
      mcp = await connect();
    });
    after(() => mcp[Symbol.asyncDispose]());
    const read = async (o: Record<string, unknown> = {}) => {
      const text = await mcp.call('channel_read', { channel, ...o });
      return text.split('\n').map((line) => JSON.parse(line) as { seq: number; msg?: string; url?: string });
    };

    test('published messages can be read, the newest ones or those after a seq', async () => {
      assert.equal(await mcp.call('channel_read', { channel }), '(no messages)');
      for (const message of ['one', 'two', 'three']) await mcp.call('channel_publish', { channel, message });
      const all = await read();
      assert.deepEqual(
        all.map(({ msg }) => msg),
        ['one', 'two', 'three'],
      );
      assert.deepEqual(
        (await read({ limit: 1 })).map(({ msg }) => msg),
        ['three'],
      );
      const behind = await read({ since: all[0]!.seq });
      assert.deepEqual(
        behind.map(({ msg }) => msg),
        ['two', 'three'],
      );
      assert.equal(await mcp.call('channel_read', { channel, since: all[2]!.seq }), '(no new messages)');
    });

    test('a push is announced', async () => {
      const url = await mcp.call('push_context', { data: 'news', channel });
      assert.equal((await read()).at(-1)!.url, url);
    });

    test('a channel is a resource that is listed and read', async () => {
      const { resources } = await mcp.client.listResources();
      assert.ok(resources.some((resource) => resource.uri === uri));
      const { contents } = await mcp.client.readResource({ uri });
      assert.match((contents[0] as { text: string }).text, /"msg":"one"/);
    });

    if (way.startsWith('stdio') || era === '2026-07-28') {
      test('a subscriber is notified of every message until it unsubscribes', async () => {
        const updatedUris: string[] = [];
        let resolveUpdate = () => {};
        mcp.client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
          updatedUris.push(params.uri);
          resolveUpdate();
        });
        const modern = era === '2026-07-28';
        const listening = modern ? await mcp.client.listen({ resourceSubscriptions: [uri] }) : null;
        if (!modern) await mcp.client.subscribeResource({ uri });
        // The server begins to watch the channel only after it has confirmed the subscription. So publish until the first
        // notification arrives.
        const first = new Promise<void>((done) => {
          resolveUpdate = done;
        });
        while (updatedUris.length === 0) {
          await mcp.call('channel_publish', { channel, message: 'now' });
          await Promise.race([first, new Promise((resolve) => setTimeout(resolve, 100))]);
        }
        assert.equal(updatedUris[0], uri);
        if (modern) await listening!.close();
        else await mcp.client.unsubscribeResource({ uri });
      });
    } else {
      test('subscribing is not offered if the server cannot send notifications', () => {
        assert.equal(mcp.client.getServerCapabilities()?.resources?.subscribe, undefined);
      });
    }
  });
}
