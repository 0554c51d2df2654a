import assert from 'node:assert/strict';
import { globSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Installation, install } from './installation.ts';
import { must, outsideEnv, ROOT, run, serve } from './processes.ts';

const manifest = JSON.parse(await must('npm', ['pkg', 'get', 'version', 'exports'], { cwd: ROOT }));

describe('the package, installed into an empty folder', () => {
  let installation: Installation;
  before(async () => {
    installation = await install();
  });
  after(() => installation[Symbol.dispose]());

  /** Returns an environment in which the user's own Node is Node 26. */
  const env = (more: Record<string, string> = {}) => {
    const outside = outsideEnv(more);
    return {
      ...outside,
      PATH: `${join(process.execPath, '..')}:${outside.PATH}`,
      RELAY_HOME: installation.home,
    };
  };
  const relay = (...args: string[]) =>
    run(installation.relay, args, { cwd: installation.folder, env: env() });

  test('npx relay --help and npx contextrelay --help show the help', async () => {
    for (const name of ['relay', 'contextrelay']) {
      const { code, stdout, stderr } = await run('npx', ['--no', '--offline', name, '--help'], {
        cwd: installation.folder,
        env: env(),
      });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /push/);
    }
  });

  test('the commands that relay install writes into project settings find the installed program and fetch nothing', async () => {
    const home = join(installation.folder, '..', 'someone');
    const below = join(installation.folder, 'src', 'deep');
    mkdirSync(below, { recursive: true });
    const ownEnv = { ...env(), HOME: home, npm_config_offline: 'true' };
    const installed = await run(installation.relay, ['install', 'claude'], {
      cwd: installation.folder,
      env: ownEnv,
    });
    assert.equal(installed.code, 0, installed.stderr);
    const read = (path: string) => JSON.parse(readFileSync(join(installation.folder, path), 'utf8'));
    const { command, args } = read('.mcp.json').mcpServers.relay;
    assert.deepEqual([command, args], ['npx', ['--no-install', 'contextrelay', 'mcp']]);
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';
    const answered = await run(command, args, { cwd: below, env: ownEnv, input: ping });
    assert.deepEqual(JSON.parse(answered.stdout), { jsonrpc: '2.0', id: 1, result: {} }, answered.stderr);
    const [hook] = read('.claude/settings.json').hooks.SessionStart[0].hooks;
    const fired = await run('sh', ['-c', hook.command], { cwd: below, env: ownEnv, input: '{}' });
    assert.equal(fired.code, 0, fired.stderr);
    const flags = await run('sh', ['-c', `${hook.command.split(' hook ')[0]} push --help`], {
      cwd: below,
      env: ownEnv,
    });
    assert.match(flags.stdout, /relay push/, flags.stderr);
  });

  test('relay version prints the version of the package', async () => {
    const { code, stdout } = await relay('version');
    assert.equal(code, 0);
    assert.ok(stdout.includes(manifest.version), stdout);
  });

  test('a payload can be pushed and pulled in the local store, without a server', async () => {
    const file = installation.write('brief.txt', 'Grüße, 世界 🌍\n');
    const pushed = await relay('push', file);
    assert.equal(pushed.code, 0, pushed.stderr);
    const url = pushed.stdout.trim();
    assert.match(url, /^http:\/\/127\.0\.0\.1:7474\/pull\/[0-9a-f-]{36}$/);
    assert.equal((await relay('pull', url)).stdout, 'Grüße, 世界 🌍\n');
    assert.equal((await relay('peek', url)).code, 0);
  });

  test('an error has its exit code in every file of the bundle', async () => {
    const url = (await relay('push', installation.write('a.txt', 'a'))).stdout.trim();
    const nowhere = 'http://127.0.0.1:7474/pull/00000000-0000-4000-8000-000000000000';
    assert.equal((await relay('pull', nowhere)).code, 3);
    assert.equal((await relay('pull', url, '--grep', '(')).code, 2);
    assert.equal((await relay('pull', nowhere, '--url', 'http://127.0.0.1:1')).code, 5);
  });

  test('every command loads and prints its help', async () => {
    const { stdout } = await relay('--help');
    const names = [...stdout.matchAll(/^ {2,}([a-z]+) /gm)].map((match) => match[1]!);
    assert.ok(names.includes('push') && names.includes('doctor'), stdout);
    for (const name of new Set(names)) {
      const { code, stderr } = await relay(name, '--help');
      assert.equal(code, 0, `relay ${name} --help: ${stderr}`);
    }
  });

  test('compiled code is cached in a folder of the user, and commands also run without a cache', async () => {
    const cache = join(installation.folder, 'cache');
    const url = (await relay('push', installation.write('kept.txt', 'kept'))).stdout.trim();
    const pull = async (more: Record<string, string>) => {
      const { code, stdout, stderr } = await run(installation.relay, ['pull', url], {
        cwd: installation.folder,
        env: env(more),
      });
      assert.deepEqual([code, stdout, stderr], [0, 'kept', '']);
    };
    await pull({ XDG_CACHE_HOME: cache });
    assert.ok(globSync(join(cache, 'contextrelay', '**')).length > 1, 'something is cached');
    await pull({ XDG_CACHE_HOME: cache });
    await pull({ XDG_CACHE_HOME: installation.write('a-file', '') });
    await pull({ XDG_CACHE_HOME: '', HOME: '', LOCALAPPDATA: '' });
  });

  // Bundling can break MCP and the hooks: lazy imports become separate files, and unused library code is removed.
  test('MCP and the hooks work from the bundle as they do from the sources', async () => {
    const files = globSync(['test/mcp/*.test.ts', 'test/install/hooks.test.ts'], { cwd: ROOT }).filter(
      (file) => !file.includes('.slow.'),
    );
    assert.ok(files.length > 5, String(files));
    const entry = join(installation.folder, 'node_modules', 'contextrelay', 'dist', 'cli', 'relay.js');
    const { NODE_TEST_CONTEXT: _, ...outside } = outsideEnv({ RELAY_TEST_ENTRY: entry });
    const { code, stdout } = await run(process.execPath, ['--test', ...files], { cwd: ROOT, env: outside });
    assert.equal(code, 0, stdout);
  });

  test('the SDK works with the relay that is being served', async () => {
    await using server = await serve(installation.relay, ['up', '--port', '0'], { env: env() });
    const script = installation.write(
      'use.js',
      `import { ContextRelay } from 'contextrelay';
       const relay = new ContextRelay();
       const url = await relay.push('secret words', { encrypted: true, metadata: { n: 1 } });
       console.log(JSON.stringify({ url, data: await relay.pull(url), metadata: await relay.peek(url) }));`,
    );
    const out = await must(process.execPath, [script], {
      cwd: installation.folder,
      env: env({ CONTEXTRELAY_URL: server.url }),
    });
    const result = JSON.parse(out);
    assert.match(result.url, /\/pull\/[0-9a-f-]{36}#key=/);
    assert.equal(result.data, 'secret words');
  });

  for (const [module, moduleResolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ] as const) {
    test(`its types compile for a consumer with moduleResolution ${moduleResolution}`, async () => {
      const name = `consumer-${moduleResolution}`;
      installation.write(
        `${name}.ts`,
        `import { ContextRelay } from 'contextrelay';
         const relay: ContextRelay = new ContextRelay({ baseUrl: 'http://127.0.0.1:1', apiKey: 'cr_live_x' });
         export const url: string = await relay.push('text', { channel: 'c', encrypted: true, ttl: 60, maxPulls: 1 });
         export const bytes: string = await relay.push(new Uint8Array(1), { metadata: { a: [1, null] } });
         export const gone: void = await relay.delete(url);
         // @ts-expect-error: ttl is a number of seconds
         await relay.push('text', { ttl: 'long' });
         // @ts-expect-error: push needs data
         await relay.push();`,
      );
      installation.write(
        `${name}.json`,
        JSON.stringify({
          compilerOptions: {
            strict: true,
            noEmit: true,
            target: 'es2022',
            lib: ['es2022', 'dom', 'dom.iterable'],
            types: [],
            module,
            moduleResolution,
            skipLibCheck: false,
          },
          files: [`${name}.ts`],
        }),
      );
      const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
      const { code, stdout } = await run(process.execPath, [tsc, '-p', `${name}.json`], {
        cwd: installation.folder,
      });
      assert.equal(code, 0, stdout);
    });
  }
});
