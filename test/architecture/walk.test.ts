import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../src/app/config.ts';
import { startServer } from '../../src/app/serve/serve.ts';
import { openCore } from '../../src/app/store/open-core.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** Maximum number of files whose code runs for one push to a server, and for one `relay state patch`. */
const PUSH_FILES = 33;
const PATCH_FILES = 64;

/** Returns the paths that ARCHITECTURE.md lists for one push. */
function described(): string[] {
  const text = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
  const [, walk = ''] = /## The walk of one push\n([\s\S]*?)\nA pull reads/.exec(text) ?? [];
  return [...new Set([...walk.matchAll(/`(src\/[^`]+\.ts)`/g)].map((match) => match[1]!))].sort();
}

test(`one push runs code of exactly the files that ARCHITECTURE.md lists, at most ${PUSH_FILES}`, async (t) => {
  const home = temporaryFolder(t);
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
    // Include write-behind work, which runs a moment later.
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
    walks.push(new Set(result.filter(({ functions }) => functions.some(wasCalled)).map(({ url }) => url)));
  }
  session.disconnect();
  // Keep only files whose code ran in every round. Other files belong to timers that do not run for each push.
  const [first, ...others] = walks;
  const walked = [...first!].filter((url) => others.every((walk) => walk.has(url))).flatMap(sourcePath);
  assert.deepEqual(walked.sort(), described());
  assert.ok(walked.length <= PUSH_FILES, `${walked.length} files`);
});

test(`relay state patch runs functions of at most ${PATCH_FILES} files`, (t) => {
  const home = temporaryFolder(t);
  const node = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    execFileSync(process.execPath, args, {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home, RELAY_HOME: home, ...env },
    });
  const covered = (...args: string[]): Script[] => {
    const coverage = temporaryFolder(t);
    node(args, { NODE_V8_COVERAGE: coverage });
    return readdirSync(coverage).flatMap(
      (file) => (JSON.parse(readFileSync(join(coverage, file), 'utf8')) as { result: Script[] }).result,
    );
  };
  const relay = join(ROOT, 'bin/relay.ts');
  node([relay, 'thread', 'new', '--name', 'a walk']);
  const patch = JSON.stringify([{ op: 'add', path: '/facts/-', value: { id: 'f', key: 'k', value: 'v' } }]);
  const scripts = covered(relay, 'state', 'patch', '--json', patch);
  const sources = scripts.filter(({ url }) => sourcePath(url).length > 0);
  // Code that runs while a file loads does not count. To find that code, load the same files without a request.
  const imports = sources.map(({ url }) => `import ${JSON.stringify(url)};`).join('');
  const loaded = new Map(covered('--input-type=module', '-e', imports).map((script) => [script.url, script]));
  const walked = sources
    .filter(({ url, functions }) => {
      const atLoad = new Set(loaded.get(url)?.functions.filter(wasCalled).map(placeOf));
      return functions.some((each) => wasCalled(each) && !atLoad.has(placeOf(each)));
    })
    .flatMap(({ url }) => sourcePath(url));
  assert.ok(
    walked.length > 0 && walked.length <= PATCH_FILES,
    `${walked.length} files:\n${walked.sort().join('\n')}`,
  );
});

interface Script {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
  }[];
}

const placeOf = ({ ranges }: Script['functions'][number]) => ranges[0]!.startOffset;

/** Returns the project path of one of our sources, or an empty list for any other file. */
function sourcePath(url: string): string[] {
  const path = url.startsWith('file:') ? fileURLToPath(url).slice(ROOT.length + 1) : '';
  return path.startsWith('src/') ? [path] : [];
}

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'relay-walk-'));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}

function wasCalled({ ranges }: Script['functions'][number]): boolean {
  return ranges[0]!.count > 0;
}
