import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../src/app/config.ts';
import { startServer } from '../../src/app/serve/serve.ts';
import { openCore } from '../../src/app/store/open-core.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** The paths that ARCHITECTURE.md names on the walk of one push. */
function described(): string[] {
  const text = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
  const [, walk = ''] = /## The walk of one push\n([\s\S]*?)\nA pull reads/.exec(text) ?? [];
  return [...new Set([...walk.matchAll(/`(src\/[^`]+\.ts)`/g)].map((match) => match[1]!))].sort();
}

test('the walk of one push runs through the files that ARCHITECTURE.md names, at most 39', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'relay-walk-'));
  t.after(() => rmSync(home, { recursive: true, force: true, maxRetries: 10 }));
  await using open = await openCore(loadConfig({ RELAY_HOME: home, HOME: home }), 'server');
  const server = await startServer({
    core: open.core,
    host: '127.0.0.1',
    port: 0,
    version: 'test',
    publicUrl: null,
    allowedHosts: [],
    log: () => {},
  });
  t.after(() => server.stop());
  const push = async () => {
    const body = JSON.stringify({ data: 'a payload', metadata: { summary: 'a payload' } });
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch(`${server.url}/push`, { method: 'POST', headers, body });
    assert.equal(response.status, 200, await response.text());
    // What is written a moment later belongs to it.
    await open.core.deps.activity.flush();
  };
  await push();
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const walks: Set<string>[] = [];
  for (let round = 0; round < 3; round++) {
    await session.post('Profiler.takePreciseCoverage');
    await push();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    walks.push(new Set(result.filter(({ functions }) => functions.some(ran)).map(({ url }) => url)));
  }
  session.disconnect();
  // What runs beside a push now and then, by a timer, does not run beside each.
  const [first, ...others] = walks;
  const walked = [...first!]
    .filter((url) => url.startsWith('file:') && others.every((walk) => walk.has(url)))
    .map((url) => fileURLToPath(url).slice(ROOT.length + 1))
    .filter((path) => path.startsWith('src/'));
  assert.deepEqual(walked.sort(), described());
  assert.ok(walked.length <= 39, `${walked.length} files`);
});

function ran({ ranges }: { readonly ranges: readonly { readonly count: number }[] }): boolean {
  return ranges[0]!.count > 0;
}
