import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Installation, install } from './installation.ts';
import { must, outsideEnv, ROOT } from './processes.ts';

let installation: Installation;
before(async () => {
  installation = await install();
});
after(() => installation[Symbol.dispose]());

test('the tarball contains only the published files', async () => {
  const listing = await must('tar', ['-tzf', installation.tarball]);
  const files = listing
    .trim()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''));
  const atRoot = ['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'package.json'].filter((path) =>
    existsSync(`${ROOT}/${path}`),
  );
  assert.deepEqual(files.filter((path) => !/^(?:dist|docs|skill|schemas)\//.test(path)).sort(), atRoot);
  for (const needed of [
    'dist/THIRD-PARTY-NOTICES',
    'dist/cli/relay.js',
    'dist/cli/older-node.js',
    'dist/cli/main.js',
    'dist/cli/o200k.br',
    'dist/cli/text-worker.js',
    'dist/ui/index.html.br',
    'dist/ui/pull.html.br',
    'dist/src/public/index.js',
    'dist/src/public/index.d.ts',
    'dist/src/integrations/langgraph/index.js',
    'dist/src/integrations/langgraph/index.d.ts',
    'skill/context-relay/SKILL.md',
    'skill/context-relay/scripts/init_context.py',
    'schemas/state.schema.json',
    'schemas/todos.schema.json',
    'docs/README.md',
    'docs/getting-started.md',
    'docs/integrations/langgraph.md',
  ]) {
    assert.ok(files.includes(needed), needed);
  }
  const allowed = [
    /^dist\/THIRD-PARTY-NOTICES$/,
    /^dist\/cli\/[\w-]+\.c?js$/,
    /^dist\/cli\/o200k\.br$/,
    /^dist\/ui\/(?:assets\/)?[\w.-]+\.(?:js|css|html|svg)\.br$/,
    // Allow the guides, which `relay help` prints, but not images and decision records.
    /^docs\/(?:integrations\/)?[\w-]+\.md$/,
    // Allow declarations of the types that are inferred from schemas, but not the schemas.
    /^dist\/src\/schemas\/[\w-]+\.d\.ts$/,
    // Allow the SDK, the integrations, and the files of other layers whose types they use.
    /^dist\/src\/(public|integrations|sdk|client|contract|text|formats|kernel|base)\/[\w/-]+(\.js|\.d\.ts)$/,
  ];
  const strange = files.filter(
    (path) => /^(?:dist|docs)\//.test(path) && !allowed.some((pattern) => pattern.test(path)),
  );
  assert.deepEqual(strange, []);
  assert.deepEqual(
    // `contextrelay/testing` is a published entry point.
    files.filter((path) => /test|bench/.test(path) && !/\/testing\.(?:js|d\.ts)$/.test(path)),
    [],
  );
});

test('the tarball is small, and installing it installs nothing else', async () => {
  assert.ok(statSync(installation.tarball).size <= 3_000_000, `${statSync(installation.tarball).size} bytes`);
  const manifest = JSON.parse(await must('tar', ['-xzOf', installation.tarball, 'package/package.json']));
  assert.deepEqual([manifest.dependencies, manifest.optionalDependencies], [undefined, undefined]);
  assert.deepEqual(
    readdirSync(join(installation.folder, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['contextrelay'],
  );
});

test('no file in the tarball contains paths of the machine it was built on', async () => {
  const text = await must('tar', ['-xzOf', installation.tarball]);
  assert.ok(!text.includes(ROOT), 'a path of this machine');
  assert.ok(!text.includes('node_modules/.cache'), 'a path of the build');
});

test('the tarball contains the licences of the bundled packages', async () => {
  const notices = await must('tar', ['-xzOf', installation.tarball, 'package/dist/THIRD-PARTY-NOTICES']);
  for (const name of ['hono', '@hono/node-server', 'gpt-tokenizer', 're2js']) {
    assert.match(notices, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(.+\\)$`, 'm'));
  }
  assert.match(notices, /Permission is hereby granted/);
});

test('the published command sets up an agent with the skill from the package', async () => {
  const outside = outsideEnv();
  const PATH = `${join(process.execPath, '..')}:${outside.PATH}`;
  const env = { ...outside, PATH, RELAY_HOME: installation.home, HOME: installation.home };
  await must(installation.relay, ['project', 'init'], { cwd: installation.folder, env });
  await must(installation.relay, ['install', 'claude'], { cwd: installation.folder, env });
  const settings = JSON.parse(readFileSync(join(installation.folder, '.claude', 'settings.json'), 'utf8'));
  const [{ hooks }] = settings.hooks.SessionStart;
  const brief = await must('sh', ['-c', hooks[0].command], { cwd: installation.folder, env, input: '{}' });
  assert.match(brief, /Project brief/);
  assert.ok(existsSync(join(installation.folder, '.claude', 'skills', 'context-relay', 'SKILL.md')));
});
