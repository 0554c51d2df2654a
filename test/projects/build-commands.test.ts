import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { openProject } from '../../src/app/projects/project-files.ts';
import { boundedBrief } from '../../src/client/projects/brief.ts';
import { readBuild } from '../../src/client/projects/build-commands.ts';
import { coldStart } from '../../src/client/projects/cold-start.ts';
import { countTokens } from '../token-count.ts';
import { ScratchFolder } from './scratch-folder.ts';

const commandsIn = async (folder: ScratchFolder) =>
  (await readBuild(openProject(folder.path).files)).commands;

const WORKFLOW = `jobs:
  test:
    steps:
      - uses: actions/checkout@v4
      - run: npm i -g corepack
      - run: pnpm install
      - name: all
        run: |
          pnpm build
          pnpm vitest --coverage
      - run: pnpm publish --token \${{ secrets.TOKEN }}
`;

test('commands come from package.json, with the package manager of the lockfile, and from CI', async () => {
  using folder = new ScratchFolder();
  const few = { 'test:types': 'tsc', bench: 'node b.ts' };
  const scripts = { build: 'obuild', test: 'vitest', prepack: 'x', dev: 'vitest', ...few };
  folder.write('package.json', JSON.stringify({ scripts }));
  folder.write('pnpm-lock.yaml', '');
  folder.write('.github/workflows/ci.yml', WORKFLOW);
  assert.deepEqual(await commandsIn(folder), [
    'Install: pnpm install (guessed from pnpm-lock.yaml)',
    'Build: pnpm run build = obuild (package.json)',
    'Test: pnpm test = vitest (package.json)',
    'Run: pnpm run dev = vitest (watch mode, package.json)',
    'CI runs: pnpm install; pnpm build; pnpm vitest --coverage (.github/workflows/ci.yml)',
    'Other (pnpm run NAME): test:types, bench (package.json)',
  ]);
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`deploy-${n}`, 'x']));
  const ownScripts = { start: 'tsx --watch a.ts', dev: 'vitest run', ...few, ...many };
  folder.write('package.json', JSON.stringify({ scripts: ownScripts }));
  const lines = await commandsIn(folder);
  assert.ok(lines.includes('Run: pnpm run dev = vitest run (package.json)'), lines.join('\n'));
  assert.ok(lines.includes('Run: pnpm start = tsx --watch a.ts (watch mode, package.json)'));
  assert.equal(lines.at(-1), 'Other (pnpm run NAME): test:types, and 31 more (package.json)');
});

test('a Makefile comes before the usual commands of a language, which are marked as guesses', async () => {
  using folder = new ScratchFolder();
  folder.write('go.mod', 'module example.org/x\n');
  folder.write('main.go', 'package main\n');
  assert.deepEqual(await commandsIn(folder), [
    'Build: go build ./... (guessed from go.mod)',
    'Test: go test ./... (guessed from go.mod)',
    'Check: go vet ./... (guessed from go.mod)',
    'Run: go run . (guessed from main.go)',
  ]);
  folder.write(
    'Makefile',
    'V := 1\n.PHONY: test\nbuild: web cli\ntest: .PHONY\n\t@go test -race ./...\nweb:\n\tnpm i\nlint:\n\twhich golint\n\tgolint ./...\n',
  );
  assert.deepEqual(await commandsIn(folder), [
    'Build: make build = web cli (Makefile)',
    'Test: make test = go test -race ./... (Makefile)',
    'Check: make lint (Makefile)',
    'Run: go run . (guessed from main.go)',
    'Other (make NAME): web (Makefile)',
  ]);
});

test('commands of Python and Rust projects', async () => {
  using folder = new ScratchFolder();
  folder.write(
    'pyproject.toml',
    '[project.scripts]\nbrew = "brew:main"\n\n[tool.pytest.ini_options]\n[tool.ruff]\n',
  );
  folder.write('uv.lock', '');
  assert.deepEqual(await commandsIn(folder), [
    'Install: uv sync (guessed from pyproject.toml)',
    'Test: uv run pytest (guessed from pyproject.toml)',
    'Check: uv run ruff check (guessed from pyproject.toml)',
    'Run: uv run brew (pyproject.toml)',
  ]);
  using rust = new ScratchFolder();
  rust.write('Cargo.toml', '[package]\nname = "x"\n');
  assert.match((await commandsIn(rust)).join(), /Test: cargo test \(guessed from Cargo.toml\)/);
});

test('huge, broken and special build files are skipped, and nothing in them is run', async () => {
  using folder = new ScratchFolder();
  folder.write('package.json', `{"scripts": {"test": "${'x'.repeat(50_000_000)}"}}`);
  folder.write('pyproject.toml', '[project.scripts\n\0');
  folder.write('Makefile', 'test: $(shell touch ran)\n\t$(shell touch ran)\n');
  execFileSync('mkfifo', [join(folder.path, 'go.mod')]);
  execFileSync('mkfifo', [join(folder.path, 'PROJECT.md')]);
  folder.write('todos.json', '{"todos": []}');
  const { stdout, code } = await folder.relay(['hook', 'claude', 'session-start'], { stdin: '{}' });
  assert.equal(code, 0);
  assert.match(stdout, /make test = /);
  assert.ok(!folder.has('ran') && !stdout.includes('xxx'));
});

const PROJECT = `# Shop

Sells tea to offices.

## Key Constraints
- Never cold

## Commands
\`\`\`sh
make brew   # one pot
\`\`\`

### Deploy
Only with ./ship

## House style
- Short sentences
- [a placeholder]

## Who to ask
Ann knows the boiler.
`;

test('the brief has every heading that a person added, and the commands before decisions and layout', async () => {
  using folder = new ScratchFolder();
  folder.write('PROJECT.md', PROJECT);
  folder.write('src/boiler/heat.ts', '');
  folder.write('package.json', '{"scripts": {"test": "vitest"}}');
  folder.write(
    'state.json',
    JSON.stringify({ current_task: 'Boil', progress: { blocked: ['no gas'], next_steps: ['Pour'] } }),
  );
  folder.write('decisions.md', '## ADR-001: Boil slowly\n- Decision: always\n');
  const { stdout } = await folder.relay(['project', 'start']);
  const order = [
    '- Task: Boil',
    '- Blocked: no gas',
    '- Next: Pour',
    '- Sells tea to offices.',
    '- Constraint: Never cold',
    '- make brew # one pot',
    '- Only with ./ship',
    '- Test: npm test = vitest (package.json)',
    '- ADR-001 Boil slowly: always',
    '- In src/: boiler/',
    '## House style (PROJECT.md)',
    '- Short sentences',
    '## Who to ask (PROJECT.md)',
    '- Ann knows the boiler.',
  ];
  const lines = stdout.split('\n');
  assert.deepEqual(
    lines.filter((line) => order.includes(line)),
    order,
    stdout,
  );
  assert.match(stdout, /- Not filled in yet: House style\n/);
  assert.ok(!stdout.includes('```'));

  // With a smaller token budget, the brief drops the last lines of `order` first.
  const { draft, now } = await coldStart(openProject(folder.path), null);
  const ranked = order.filter((line) => line.startsWith('-') && !line.includes('Sells')).slice(0, 9);
  for (const max of [100, 130, 160, 200, 250]) {
    const { text } = await boundedBrief(draft, max, now, async (each) => countTokens(each));
    assert.ok(countTokens(text).tokens <= max);
    const listed = ranked.filter((line) => text.split('\n').includes(line));
    assert.deepEqual(listed, ranked.slice(0, listed.length), `${max}\n${text}`);
  }
});
