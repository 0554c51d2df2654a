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

const POINTER = /^http:\/\/127\.0\.0\.1:\d+\/pull\/[0-9a-f-]{36}$/;

for (const era of ERAS) {
  const ways: [string, () => Promise<TestClient>][] = [
    ['stdio on the local store', () => overStdio(home.home, era, { args: ['--tools', 'resources'] })],
    [
      'stdio on a server',
      () =>
        overStdio(home.home, era, { args: ['--tools', 'resources'], env: { CONTEXTRELAY_URL: relay.url } }),
    ],
    ['HTTP', () => overHttp(relay.url, era)],
  ];
  for (const [way, connect] of ways) {
    describe(`${era} over ${way}`, () => {
      let mcp: TestClient;
      before(async () => {
        mcp = await connect();
      });
      after(() => mcp[Symbol.asyncDispose]());

      test('a text is pushed, peeked and pulled', async () => {
        const url = await mcp.call('push_context', { data: 'héllo, agent', summary: 'a greeting' });
        assert.match(url, POINTER);
        const { expires_at, ...peeked } = JSON.parse(await mcp.call('peek_context', { url }));
        assert.ok(Date.parse(expires_at) > Date.now());
        assert.deepEqual(peeked.metadata, { summary: 'a greeting' });
        assert.equal(peeked.encrypted, false);
        assert.equal(peeked.type, 'text/plain; charset=utf-8');
        assert.ok(peeked.size > 0 && peeked.tokens > 0, JSON.stringify(peeked));
        assert.equal(await mcp.call('pull_context', { url }), 'héllo, agent');
      });

      test('a peek without metadata has none, and a missing pointer is an error', async () => {
        const url = await mcp.call('push_context', { data: 'x' });
        assert.deepEqual(JSON.parse(await mcp.call('peek_context', { url })).metadata, {});
        const missingUrl = url.replace(/[^/]+$/, '00000000-0000-4000-8000-000000000000');
        assert.match(await mcp.call('peek_context', { url: missingUrl }), /^Error peeking context: /);
        assert.match(await mcp.call('pull_context', { url: missingUrl }), /^Error pulling context: /);
        assert.match(await mcp.call('push_context', { data: '' }), /^Error pushing context: /);
        const { isError } = await mcp.client.callTool({
          name: 'pull_context',
          arguments: { url: missingUrl },
        });
        assert.equal(isError, true);
      });

      test('a push answers with a link that can be read', async () => {
        const result = await mcp.client.callTool({ name: 'push_context', arguments: { data: 'linked' } });
        const link = (result.content as { type: string; uri?: string }[]).find(
          ({ type }) => type === 'resource_link',
        );
        const { contents } = await mcp.client.readResource({ uri: link!.uri! });
        assert.equal((contents[0] as { text: string }).text, 'linked');
      });

      test('a part is pulled', async () => {
        const data = Array.from({ length: 50 }, (_, at) => `line ${at + 1}`).join('\n');
        const url = await mcp.call('push_context', { data });
        assert.equal(await mcp.call('pull_context', { url, part: 'lines=2-3' }), 'line 2\nline 3');
        assert.match(await mcp.call('pull_context', { url, part: 'grep=line 50' }), /line 50/);
        assert.match(await mcp.call('pull_context', { url, part: 'nonsense' }), /^Error pulling context: /);
      });
    });
  }
}
