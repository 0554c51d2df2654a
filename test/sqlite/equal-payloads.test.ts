import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../src/app/config.ts';
import { startServer } from '../../src/app/serve/serve.ts';
import { openCore } from '../../src/app/store/open-core.ts';
import { temporaryHome } from './home.ts';

test('two pointers with equal payloads keep their own metadata', async (t) => {
  const home = temporaryHome(t);
  await using open = await openCore(loadConfig({ RELAY_HOME: home, HOME: home }), 'server');
  const options = { host: '127.0.0.1', port: 0, version: 'test', publicUrl: null, allowedHosts: [] };
  const server = await startServer({ ...options, core: open.core, log: () => {} });
  t.after(() => server.stop());
  const push = async (from: string): Promise<string> => {
    const body = JSON.stringify({ data: 'the same payload', metadata: { from } });
    const headers = { 'Content-Type': 'application/json' };
    const answer = await fetch(`${server.url}/push`, { method: 'POST', headers, body });
    return ((await answer.json()) as { url: string }).url;
  };
  const urls = [await push('ann'), await push('ben')];
  for (const [url, from] of [...urls, ...urls].map((url, i) => [url, ['ann', 'ben'][i % 2]] as const)) {
    const { data, metadata } = (await (await fetch(url)).json()) as { data: string; metadata: object };
    assert.deepEqual([data, metadata], ['the same payload', { from }]);
  }
});
