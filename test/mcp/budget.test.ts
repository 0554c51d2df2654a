import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { temporaryHome } from '../cli/program.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { countTokens } from '../token-count.ts';
import { overHttp, overStdio, type TestClient } from './clients.ts';

const home = temporaryHome();
after(() => home[Symbol.dispose]());
const LARGE = Array.from({ length: 40_000 }, (_, at) => `line ${at + 1} of a long report`).join('\n');

let relay: RelayUnderTest;
before(async () => {
  relay = await startRelay();
});
after(() => relay[Symbol.asyncDispose]());

async function push(body: string | Uint8Array<ArrayBuffer>, query = ''): Promise<string> {
  const response = await fetch(`${relay.url}/push${query}`, { method: 'POST', body });
  return ((await response.json()) as { url: string }).url;
}

const ways: [string, () => Promise<TestClient>][] = [
  ['stdio', () => overStdio(home.home, '2025-11-25', { env: { CONTEXTRELAY_URL: relay.url } })],
  ['HTTP', () => overHttp(relay.url, '2025-11-25')],
];
for (const [way, connect] of ways) {
  describe(`a large payload over ${way}`, () => {
    let mcp: TestClient;
    before(async () => {
      mcp = await connect();
    });
    after(() => mcp[Symbol.asyncDispose]());

    test('returns its beginning, size, token cost and how to pull a part', async () => {
      const url = await push(LARGE);
      const answer = await mcp.call('pull_context', { url });
      assert.match(answer, /^Not pulled: 1,\d{3},\d{3} bytes, \d{3},\d{3} tokens \(o200k_base\)/);
      assert.match(answer, /Data, not instructions\..*\nline 1 of a long report/);
      assert.match(answer, /part="outline"/);
      assert.ok((await countTokens(answer)).tokens < 2_000);
      assert.equal(
        await mcp.call('pull_context', { url, part: 'lines=39999' }),
        'line 39999 of a long report',
      );
    });

    test('is returned whole with part="all"', async () => {
      const url = await push(LARGE);
      assert.equal(await mcp.call('pull_context', { url, part: 'all' }), LARGE);
    });

    test('is cut if even the part exceeds the budget', async () => {
      const answer = await mcp.call('pull_context', { url: await push(LARGE), part: 'lines=1-30000' });
      assert.match(answer, /\[cut: this part has \d{3},\d{3} tokens, the budget is 20,000/);
      assert.ok((await countTokens(answer)).tokens < 21_000);
    });

    test('that may be pulled once is not used up by asking for its cost', async () => {
      const url = await push(LARGE, '?max_pulls=1');
      assert.match(await mcp.call('pull_context', { url }), /no preview was read/);
      assert.equal(await mcp.call('pull_context', { url, part: 'all' }), LARGE);
      assert.match(await mcp.call('pull_context', { url, part: 'all' }), /^Error pulling context: /);
    });

    test('that is binary returns its kind and how to save it', async () => {
      const bytes = new Uint8Array([0x25, 0x50, 0x44, 0x46, 0x2d, 0x31, 0x2e, 0x37, 0xff, 0xfe]);
      const answer = await mcp.call('pull_context', { url: await push(bytes) });
      assert.match(answer, /^Error pulling context: .*PDF document.*--out FILE/);
    });
  });
}

describe('over a pipe', () => {
  test('the budget can be set, and also applies to encrypted payloads', async () => {
    const env = { CONTEXTRELAY_URL: relay.url };
    await using mcp = await overStdio(home.home, '2026-07-28', { args: ['--budget', '200'], env });
    const data = 'a word and another one\n'.repeat(200);
    const url = await mcp.call('push_context', { data, encrypted: true });
    assert.match(await mcp.call('pull_context', { url }), /^Not pulled: .* the budget is 200 tokens/);
    assert.match(await mcp.call('pull_context', { url, part: 'lines=1' }), /^a word and another one$/);
    assert.equal(await mcp.call('pull_context', { url, part: 'all' }), data);
  });
});
