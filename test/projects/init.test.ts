import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScratchFolder } from './scratch-folder.ts';

test('init fills in what it can detect and keeps existing files', async () => {
  using folder = new ScratchFolder();
  folder.git('init', '-q');
  folder.git('remote', 'add', 'origin', 'https://ann:secret@git.example.org/team/shop.git');
  folder.write(
    'package.json',
    JSON.stringify({
      name: 'shop',
      description: 'Sells tea',
      dependencies: { react: '1', hono: '1', pg: '1' },
      devDependencies: { typescript: '1' },
    }),
  );
  folder.write('Dockerfile', 'FROM scratch\n');
  folder.write('src/public/index.ts', '');
  folder.write('node_modules/x/index.js', '');
  folder.write('decisions.md', 'my own words\n');
  const ran = await folder.relay(['project', 'init', '--json']);
  assert.equal(ran.code, 0, ran.stderr);
  const { written, kept } = JSON.parse(ran.stdout);
  assert.deepEqual(written, ['PROJECT.md', 'state.json', 'todos.json']);
  assert.deepEqual(kept, ['decisions.md']);
  assert.equal(folder.read('decisions.md'), 'my own words\n');
  const identity = folder.read('PROJECT.md');
  for (const line of [
    '# shop',
    'Sells tea',
    '- Frontend: React (guessed from package.json)',
    '- Backend: TypeScript, Hono (guessed from package.json)',
    '- Database: PostgreSQL (guessed from package.json)',
    '- Deployment: Docker (guessed from Dockerfile)',
    '/src',
    '- Repository: https://git.example.org/team/shop.git',
  ]) {
    assert.ok(identity.split('\n').includes(line), `${line}\n${identity}`);
  }
  assert.ok(!identity.includes('secret') && !identity.includes('node_modules'));
  assert.deepEqual(Object.keys(folder.json('state.json')), [
    'phase',
    'current_task',
    'progress',
    'last_update',
    'session_id',
    'notes',
  ]);
  assert.deepEqual(Object.keys(folder.json('state.json').progress), [
    'completed',
    'in_progress',
    'blocked',
    'next_steps',
  ]);
  assert.match(folder.json('state.json').last_update, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/);
  assert.deepEqual(Object.keys(folder.json('todos.json')), ['todos', 'last_review']);

  assert.match((await folder.relay(['project', 'init'])).stdout, /kept +PROJECT\.md/);
  await folder.relay(['project', 'init', '--force']);
  assert.equal(folder.read('decisions.md'), '# Architecture Decision Records\n');
  assert.equal((await folder.relay(['project', 'check'])).code, 0);
});

test('init detects other languages, and works in a folder without any', async () => {
  for (const [name, text, expected] of [
    [
      'pyproject.toml',
      '[project]\nname = "brew"\ndescription = "Boils water"\ndependencies = [\n  "fastapi>=1",\n  "asyncpg",\n]\n',
      [
        '# brew',
        'Boils water',
        '- Backend: Python, FastAPI (guessed from pyproject.toml)',
        '- Database: PostgreSQL (guessed from pyproject.toml)',
      ],
    ],
    [
      'Cargo.toml',
      '[package]\nname = "kettle"\ndescription = "Hot"\n[dependencies]\naxum = "0.8"\n',
      ['# kettle', '- Backend: Rust, Axum (guessed from Cargo.toml)'],
    ],
    [
      'go.mod',
      'module example.org/team/pot/v2\n\nrequire (\n\tgithub.com/go-chi/chi/v5 v5.0.0\n)\n',
      ['# pot', '- Backend: Go, chi (guessed from go.mod)'],
    ],
    ['notes.txt', 'hello', ['# work', '- Backend:']],
    ['package.json', '{ broken', ['# work', '- Backend:']],
  ] as const) {
    using folder = new ScratchFolder();
    folder.write(name, text);
    assert.equal((await folder.relay(['project', 'init'])).code, 0);
    for (const line of expected)
      assert.ok(folder.read('PROJECT.md').split('\n').includes(line), `${name}: ${line}`);
  }
});

test('init reads the description from the README and lists existing decisions, and invents nothing', async () => {
  using folder = new ScratchFolder();
  folder.write(
    'README.md',
    '<!-- logo -->\n# Kettle\n\n[![ci](https://x.example/b.svg)](https://x.example)\n\n**Kettle** boils [water](https://w.example)\nfor `tea`.\n\n## Install\n',
  );
  folder.write('docs/adr/0001-use-steel.md', '# 1. Use steel\n\nDate: 2024-02-03\n\n## Status\n\nAccepted\n');
  folder.write('docs/adr/0012-glass.md', '---\nstatus: superseded by 0013\n---\n# ADR-012: Glass lids\n');
  folder.write('docs/adr/0013-cork.md', '# 13. Cork lids\n\n**Context.** Glass breaks.\n');
  folder.write('docs/adr/template.md', '# Title\n');
  assert.equal((await folder.relay(['project', 'init'])).code, 0);
  assert.ok(
    folder.read('PROJECT.md').split('\n').includes('Kettle boils water for tea.'),
    folder.read('PROJECT.md'),
  );
  assert.equal(folder.json('state.json').phase, '');
  assert.equal(
    folder.read('decisions.md'),
    `# Architecture Decision Records

## ADR-001: Use steel
- Date: 2024-02-03
- Status: Accepted
- Decision: see docs/adr/0001-use-steel.md

## ADR-012: Glass lids
- Status: superseded by 0013
- Decision: see docs/adr/0012-glass.md

## ADR-013: Cork lids
- Decision: see docs/adr/0013-cork.md
`,
  );
  const { stdout } = await folder.relay(['project', 'start']);
  assert.match(stdout, /- ADR-013 Cork lids: see docs\/adr\/0013-cork\.md\n/);
  assert.ok(!stdout.includes('Phase') && !stdout.includes('Glass'), stdout);
});

test('a guess of init stays marked in the brief until someone confirms it, and placeholders are mentioned once', async () => {
  using folder = new ScratchFolder();
  const dependencies = { mongodb: '1', ioredis: '1' };
  folder.write(
    'package.json',
    JSON.stringify({ name: 'storage', dependencies, devDependencies: { vite: '1' } }),
  );
  assert.match((await folder.relay(['project', 'init'])).stdout, /marked "\(guessed from …\)"/);
  const guess = '- Database: MongoDB, Redis (guessed from package.json)';
  const brief = async () => (await folder.relay(['project', 'start'])).stdout;
  assert.ok((await brief()).split('\n').includes(guess), await brief());
  assert.doesNotMatch(await brief(), /Vite/, 'development tools say nothing about the stack');
  assert.equal((await brief()).match(/Not filled in yet/g)?.length, 1);
  assert.match(
    await brief(),
    /- Not filled in yet: One-Line Description, Directory Structure, Key Constraints\n/,
  );

  folder.write('PROJECT.md', folder.read('PROJECT.md').replace(guess, '- Database: Redis'));
  assert.match(await brief(), /^- Database: Redis$/m);

  folder.write('package.json', JSON.stringify({ name: 'storage', dependencies, exports: './index.js' }));
  folder.write('wrangler.toml', '');
  await folder.relay(['project', 'init', '--force']);
  assert.match(folder.read('PROJECT.md'), /^- Database:\n- Deployment:\n/m, 'a library has none of its own');
});
