import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { temporaryHome } from '../cli/program.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { ERAS, overHttp, overStdio, type TestClient } from './clients.ts';

const home = temporaryHome();
after(() => home[Symbol.dispose]());
let relay: RelayUnderTest;
before(async () => {
  relay = await startRelay();
});
after(() => relay[Symbol.asyncDispose]());

const ways: [string, () => Promise<TestClient>][] = [
  ['stdio on the local store', () => overStdio(home.home, '2026-07-28', { args: ['--tools', 'resources'] })],
  [
    'stdio on a server',
    () =>
      overStdio(home.home, '2025-11-25', {
        args: ['--tools', 'resources'],
        env: { CONTEXTRELAY_URL: relay.url },
      }),
  ],
  ...ERAS.map((era): [string, () => Promise<TestClient>] => [`HTTP, ${era}`, () => overHttp(relay.url, era)]),
];
for (const [way, connect] of ways) {
  describe(`threads over ${way}`, () => {
    let mcp: TestClient;
    let thread_id = '';
    before(async () => {
      mcp = await connect();
      const ops = [{ op: 'add', path: '/facts/-', value: { id: 'f1', key: 'port', value: 7474 } }];
      thread_id = JSON.parse(await mcp.call('thread_patch', { ops })).thread_id;
    });
    after(() => mcp[Symbol.asyncDispose]());

    test('a patch is visible in the header, and a stale version is refused', async () => {
      const header = await mcp.call('thread_header', { thread_id });
      assert.equal(header, 'v2\n/facts:\nport: 7474');
      const hits = await mcp.call('artifact_search', { thread_id, query: 'Which port?' });
      assert.equal(hits, '{"path":"/facts/0","text":"port: 7474"}');
      const ops = [{ op: 'add', path: '/plan/-', value: { id: 'p1', step: 'test it' } }];
      assert.match(
        await mcp.call('thread_patch', { thread_id, ops, version: 'v1' }),
        /^Error changing the thread: /,
      );
      const patched = JSON.parse(await mcp.call('thread_patch', { thread_id, ops, version: 'v2' }));
      assert.equal(patched.version, 3);
      const broken = [{ op: 'replace', path: '/facts', value: 'nonsense' }];
      assert.match(
        await mcp.call('thread_patch', { thread_id, ops: broken }),
        /^Error changing the thread: .*facts/,
      );
    });

    test('the header shows whole items, counts the others, and shows one list in full', async () => {
      const rules = Array.from({ length: 5 }, (_, i) => `Rule ${i}: never deploy service ${i} on a Friday.`);
      const values = Array.from(
        { length: 80 },
        (_, i) => `Checkout latency at p99 is 2.${i} s in region ${i}.`,
      );
      const ops = [
        ...rules.map((description, i) => ({
          op: 'add',
          path: '/constraints/-',
          value: { id: `c${i}`, description },
        })),
        ...values.map((value, i) => ({
          op: 'add',
          path: '/facts/-',
          value: { id: `f${i}`, key: `k${i}`, value },
        })),
      ];
      const id = JSON.parse(await mcp.call('thread_patch', { ops })).thread_id;
      const text = await mcp.call('thread_header', { thread_id: id });
      for (const rule of rules) assert.ok(text.includes(rule), text);
      assert.match(text, /\nNot shown: \d+ facts\. Read them with thread_header and list="facts"\.$/);
      const facts = await mcp.call('thread_header', { thread_id: id, list: 'facts' });
      for (const value of values) assert.ok(facts.includes(value), facts);
    });

    test('an artifact is stored, read in part and found, and a large one returns its cost', async () => {
      const content = Array.from({ length: 30_000 }, (_, at) => `row ${at + 1} of the inventory`).join('\n');
      const { ref } = JSON.parse(
        await mcp.call('artifact_put', { thread_id, name: 'inventory.txt', content }),
      );
      const priced = await mcp.call('artifact_get', { thread_id, ref });
      assert.match(
        priced,
        /^Not read: [\d,]+ bytes, (about )?[\d,]+ tokens .*\n>>> relay data [0-9a-f]{16}: artifact/,
      );
      assert.equal(
        await mcp.call('artifact_get', { thread_id, ref, part: 'lines=29999' }),
        'row 29999 of the inventory',
      );
      assert.equal(await mcp.call('artifact_get', { thread_id, ref, part: 'all' }), content);
      const hits = await mcp.call('artifact_search', { thread_id, query: 'inventory' });
      assert.equal(JSON.parse(hits.split('\n')[0]!).ref, ref);
      const small = JSON.parse(
        await mcp.call('artifact_put', { thread_id, name: 'a.md', content: '# Title\n' }),
      );
      assert.equal(await mcp.call('artifact_get', { thread_id, ref: small.ref }), '# Title\n');
    });

    test('the state is a resource: linked, listed and read', async () => {
      const result = await mcp.client.callTool({ name: 'thread_header', arguments: { thread_id } });
      const link = (result.content as { type: string; uri?: string }[]).find(
        ({ type }) => type === 'resource_link',
      );
      assert.equal(link!.uri, `relay://thread/${thread_id}/state`);
      const { contents } = await mcp.client.readResource({ uri: link!.uri! });
      assert.equal(JSON.parse((contents[0] as { text: string }).text).facts[0].key, 'port');
      const { resources } = await mcp.client.listResources();
      assert.ok(resources.some(({ uri }) => uri === link!.uri));
    });

    if (way !== 'HTTP, 2025-11-25') {
      test('a subscriber to the state is notified when it changes', async () => {
        const uri = `relay://thread/${thread_id}/state`;
        let resolveUpdate = () => {};
        const updated = new Promise<void>((done) => {
          resolveUpdate = done;
        });
        mcp.client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
          if (params.uri === uri) resolveUpdate();
        });
        const modern = way.includes('2026') || way.includes('local');
        if (modern) await mcp.client.listen({ resourceSubscriptions: [uri] });
        else await mcp.client.subscribeResource({ uri });
        let isTold = false;
        void updated.then(() => {
          isTold = true;
        });
        for (let id = 1; !isTold; id++) {
          const value = { id: `t${id}`, key: 'tick', value: id };
          await mcp.call('thread_patch', { thread_id, ops: [{ op: 'add', path: '/facts/-', value }] });
          await Promise.race([updated, new Promise((resolve) => setTimeout(resolve, 100))]);
        }
      });
    }
  });
}
