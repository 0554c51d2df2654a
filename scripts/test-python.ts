/**
 * Builds the Python package and tests it in new environments. Each extra is installed with the command on its page,
 * once with the newest and once with the oldest allowed versions. First the page's examples run with nothing else
 * installed. Then the types of the examples are checked and the tests run. The last line is `N passed, M failed`.
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, delimiter, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const HELP = `node scripts/test-python.ts [--short] [environment…]

  (nothing)     test the client on the oldest Python that is available, and each extra with its newest and its oldest
                versions; check types and lint
  --short       test the client and two extras with their newest versions; check types and lint
  environment…  only these environments: client, original, lint, the name of an extra, or EXTRA-oldest

Needs Python 3.9 or newer and PyPI. Without them, all tests are skipped with a message.`;

/**
 * Folder for the environments and the built package. git and all tools ignore it. uv keeps its downloads
 * elsewhere.
 */
const CACHE = resolve('node_modules/.cache/python');
const DIST = join(CACHE, `dist-${process.pid}`);
/**
 * Time limit of one command in minutes. It is much longer than any command takes, so only a command that
 * hangs reaches it.
 */
const TEST_MINUTES = 12;
/**
 * Folders of the Python versions that pyenv has installed. They are not on the PATH unless the user selected
 * a version.
 */
const PYENV = globSync(join(process.env.PYENV_ROOT ?? join(homedir(), '.pyenv'), 'versions', '*', 'bin'));
process.env.PATH = [process.env.PATH, ...PYENV].join(delimiter);

interface Environment {
  readonly name: string;
  /** Python versions that uv tries, in this order. */
  readonly python: readonly string[];
  readonly extras: readonly string[];
  readonly packages: readonly string[];
  /**
   * pip requirement of the first ContextRelay's Python package. If set, the same tests run with that package instead of
   * our wheel.
   */
  readonly instead?: string;
  /**
   * Documentation pages whose examples run before `packages` are installed. If the environment has one extra, the first
   * page must contain the `pip install` command of that extra. The extra is installed as this command says.
   */
  readonly pages?: readonly Page[];
  /** Files whose types are checked together with the examples. If absent, no types are checked. */
  readonly typed?: readonly string[];
  /** True if the extras are installed with the lowest versions that they declare. */
  readonly oldest?: boolean;
  /** Commands to run in the folder `python`. */
  readonly commands: readonly (readonly string[])[];
  readonly short?: boolean;
}

interface Page {
  readonly path: string;
  /** Kind of the code blocks, such as `python` or `python async`. */
  readonly kind?: string;
}

const FRAMEWORKS_PYTHON = ['3.13', '>=3.10,<3.14'];
const PYTEST = ['python', '-m', 'pytest'];
const MYPY = ['mypy', '--strict', '--follow-imports=silent', '--python-version=3.13'];
/** Python code that raises the deadline for storing a large result to 60 s, because the machine may be busy. */
const PATIENT = 'import contextrelay.integrations.large_results as large; large._OFFLOAD_S = 60.0';
const MANUAL = 'docs/python.md';
const PYPROJECT = readFileSync('python/pyproject.toml', 'utf8');

const ENVIRONMENTS: readonly Environment[] = [
  {
    name: 'client',
    python: ['3.9', '>=3.9'],
    extras: [],
    packages: ['pytest'],
    pages: [{ path: MANUAL }, { path: 'python/README.md' }],
    commands: [[...PYTEST, '--ignore=tests/integrations']],
    short: true,
  },
  {
    name: 'original',
    python: FRAMEWORKS_PYTHON,
    extras: [],
    packages: ['pytest', 'langchain-core', 'mcp<2'],
    instead: 'contextrelay==0.2.0',
    commands: [[...PYTEST, 'tests/test_original.py']],
    short: true,
  },
  ...extra('async', { short: true, pages: [{ path: MANUAL, kind: 'python async' }], modules: [] }),
  ...extra('langgraph', {
    short: true,
    packages: ['langgraph-checkpoint-conformance'],
    files: ['tests/integrations/test_langgraph_store.py'],
    modules: ['langgraph', 'langgraph_store'],
  }),
  ...extra('fsspec'),
  ...extra('langchain'),
  ...extra('crewai'),
  ...extra('autogen'),
  ...extra('agent-framework'),
  ...extra('deepagents', { oldestPython: '3.11' }),
  ...extra('openai-agents'),
  ...extra('google-adk', { modules: ['google_adk', 'google_adk_sessions'] }),
  ...extra('claude-agent'),
  ...extra('pydantic-ai'),
  ...extra('strands'),
  {
    name: 'lint',
    python: FRAMEWORKS_PYTHON,
    extras: ['async', 'langchain', 'langgraph', 'fsspec'],
    packages: ['pytest', 'mcp', 'ruff', 'mypy', 'types-requests'],
    commands: [
      ['ruff', 'check', '.'],
      ['ruff', 'format', '--check', '.'],
      ['mypy'],
      [
        ...MYPY,
        exampleFile({ path: MANUAL, kind: 'python( async| no-run)?' }),
        exampleFile({ path: 'python/README.md' }),
        ...globSync('examples/**/*.py').map((file) => resolve(file)),
      ],
      [...PYTEST, 'tests/test_mcp.py'],
    ],
    short: true,
  },
];

const totals = { passed: 0, failed: 0, skipped: 0 };
process.exitCode = await main();

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { short: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const unknown = positionals.filter((name) => !ENVIRONMENTS.some((each) => each.name === name));
  if (unknown.length > 0) {
    console.error(`There is no environment ${unknown.join(', ')}.\n\n${HELP}`);
    return 2;
  }
  mkdirSync(CACHE, { recursive: true });
  const chosen = ENVIRONMENTS.filter(({ name, short }) =>
    positionals.length > 0 ? positionals.includes(name) : !values.short || short,
  );
  const uv = findUv();
  if (typeof uv !== 'string') return skipAll(uv.missing, chosen.length);
  if (!(await run(uv, ['build', '--quiet', 'python', '--out-dir', DIST])))
    return pypiAnswers(uv) ? fail('the package cannot be built') : skipAll(NO_PYPI, chosen.length);
  totals.passed++;
  const relay = await startRelay();
  try {
    for (const environment of chosen) await test(uv, relay.url, environment);
  } finally {
    // Stop the relay before printing the totals. It prints lines while it stops, and the totals must be the last line.
    await relay.stop();
    rmSync(DIST, { recursive: true, force: true });
  }
  console.log(`\n${chosen.length} environments`);
  return summary();
}

async function test(uv: string, relay: string, environment: Environment): Promise<void> {
  const began = performance.now();
  const { name, extras, packages, pages = [] } = environment;
  console.log(`\n== ${name}`);
  const venv = join(CACHE, name);
  const python = environment.python.find((version) =>
    succeeds(uv, ['venv', '--quiet', '--clear', '--python', version, venv]),
  );
  if (python === undefined) return skip(name, `there is no Python ${environment.python.join(' or ')}`);
  const install = (...what: string[]) =>
    run(uv, ['pip', 'install', '--quiet', '--python', venv, ...what], { VIRTUAL_ENV: venv });
  const [wheel, sdist] = ['*.whl', '*.tar.gz'].map((pattern) => globSync(join(DIST, pattern))[0]!);
  const extrasSuffix = extras.length > 0 ? `[${extras.join(',')}]` : '';
  const documented = extras.length === 1 ? requirementOf(pages[0]!, extras[0]!) : null;
  const requirement = environment.instead ?? documented ?? `contextrelay${extrasSuffix} @ file://${wheel}`;
  const pins = environment.oldest ? requirements(extras[0]!).map((each) => each.replace('>=', '==')) : [];
  if (!(await install(requirement, ...pins))) {
    if (!pypiAnswers(uv)) return skip(name, NO_PYPI);
    totals.failed++;
    return console.log(`FAIL ${name}: ${[requirement, ...pins].join(' ')} does not install`);
  }
  totals.passed++;
  measure(uv, venv, environment);
  for (const page of pages) {
    const code = `import runpy; ${PATIENT}; runpy.run_path(${JSON.stringify(exampleFile(page))})`;
    await runTests(venv, ['python', '-c', code], { CONTEXTRELAY_URL: relay }, `the examples of ${page.path}`);
  }
  if (!(await install(...packages))) return count(false, `${name}: ${packages.join(' ')}`);
  const typed = environment.typed ?? [];
  if (typed.length > 0) await runTests(venv, [...MYPY, ...pages.map(exampleFile), ...typed]);
  for (const command of environment.commands) await runTests(venv, command);
  // Installs the sdist. This fails if the sdist lacks a file that the build needs.
  if (environment.name !== 'lint' && !environment.instead && !environment.oldest) {
    const built = await install('--reinstall', '--no-deps', `contextrelay${extrasSuffix} @ file://${sdist}`);
    const program = join(venv, 'bin', 'python');
    count(built && succeeds(program, ['-c', importOf(extras)]), `${name}: the sdist`);
  }
  console.log(`${name}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

/** Returns the requirement in the line `pip install '…'` of the page for an extra. */
function requirementOf(page: Page, extra: string): string {
  const commands = readFileSync(page.path, 'utf8').match(/pip install '[^']+'/g) ?? [];
  const command = commands.find((each) => each.includes(`[${extra}]`));
  if (command === undefined) throw new Error(`${page.path} does not say how to install ${extra}`);
  return command.slice("pip install '".length, -1);
}

/** Writes the examples of a page into one program, as a user would copy them, and returns its path. */
function exampleFile({ path, kind = 'python' }: Page): string {
  const blocks = [...readFileSync(path, 'utf8').matchAll(new RegExp(`^\`\`\`${kind}\n(.*?)^\`\`\`$`, 'gms'))];
  if (blocks.length === 0) throw new Error(`${path} has no block of ${kind}`);
  const folder = join(CACHE, 'examples', kind.replaceAll(/\W+/g, '_'));
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${path.replaceAll(/\W+/g, '_')}.py`);
  writeFileSync(file, blocks.map((block) => block.at(-1)).join('\n'));
  return file;
}

/** Returns the requirements that pyproject.toml declares for an extra, such as `crewai>=1.0`. */
function requirements(extra: string): string[] {
  const line = new RegExp(`^${extra} = \\[(.*)\\]$`, 'm').exec(PYPROJECT)![1]!;
  return [...line.matchAll(/"([^"]+)"/g)].map((match) => match[1]!);
}

/**
 * Appends a measurement to the file that the environment variable HAND_OVER_FILE names, if it is set. The measurement
 * contains the version of the extra's framework. For the newest version, it also contains the size of the environment.
 * scripts/integrations-table.ts reads the file.
 */
function measure(uv: string, venv: string, { extras, oldest }: Environment): void {
  const [file, extra] = [process.env.HAND_OVER_FILE, extras[0]];
  if (!file || extras.length !== 1 || extra === 'async') return;
  const framework = /^[\w-]+/.exec(requirements(extra!).at(-1)!)![0];
  const args = ['pip', 'list', '--quiet', '--format', 'json', '--python', venv];
  const packages: { name: string; version: string }[] = JSON.parse(
    spawnSync(uv, args, { encoding: 'utf8' }).stdout,
  );
  const version = packages.find(({ name }) => name === framework)?.version;
  const bytes = globSync('lib/**', { cwd: venv })
    .map((path) => statSync(join(venv, path)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
  const figure = oldest ? { oldest: version } : { newest: version, bytes };
  appendFileSync(file, `${JSON.stringify({ page: `python-${extra}`, ...figure })}\n`);
}

/** Starts a relay for the examples. */
async function startRelay(): Promise<{ url: string; stop: () => Promise<void> }> {
  const home = mkdtempSync(join(tmpdir(), 'relay-pages-'));
  const child = spawn(process.execPath, ['bin/relay.ts', 'up', '--port', '0', '--home', home], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise<string>((done, fail) => {
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text;
      const address = /listening on (http:\/\/\S+)/.exec(output)?.[1];
      if (address) done(address);
    });
    child.once('close', () => fail(new Error(`the relay did not start: ${output}`)));
  });
  const stop = async () => {
    const closed = new Promise((done) => child.once('close', done));
    child.kill();
    await closed;
    rmSync(home, { recursive: true, force: true });
  };
  return { url, stop };
}

/**
 * Runs a command in an environment and adds its tests to the totals. The number of tests is in the last line
 * of pytest. Any other program counts as one test.
 */
async function runTests(
  venv: string,
  [program, ...args]: readonly string[],
  more: NodeJS.ProcessEnv = {},
  title = [program, ...args].map((each) => basename(each!)).join(' '),
): Promise<void> {
  const bin = join(venv, process.platform === 'win32' ? 'Scripts' : 'bin');
  const env = {
    VIRTUAL_ENV: venv,
    PATH: `${bin}${delimiter}${process.env.PATH}`,
    PYTHONDONTWRITEBYTECODE: '1',
    CREWAI_DISABLE_TELEMETRY: 'true',
    CREWAI_TRACING_ENABLED: 'false',
    OTEL_SDK_DISABLED: 'true',
    ...more,
  };
  const { code, output } = await capture(join(bin, program!), args, env);
  const counts = args.includes('pytest') ? pytestCounts(output) : null;
  if (!counts) return count(code === 0, title);
  totals.passed += counts.passed;
  totals.skipped += counts.skipped;
  totals.failed += counts.failed;
  if (code !== 0 && counts.failed === 0) totals.failed++;
}

function pytestCounts(output: string): typeof totals | null {
  const last = output.trimEnd().split('\n').at(-1) ?? '';
  const number = (word: string) => Number(new RegExp(`(\\d+) ${word}`).exec(last)?.[1] ?? 0);
  if (!/ in [\d.]+s/.test(last)) return null;
  return {
    passed: number('passed'),
    failed: number('failed') + number('errors?'),
    skipped: number('skipped'),
  };
}

/** Returns two environments of an extra: one with the newest and one with the oldest allowed versions. */
function extra(
  name: string,
  o: {
    short?: boolean;
    packages?: readonly string[];
    files?: readonly string[];
    pages?: readonly Page[];
    modules?: readonly string[];
    oldestPython?: string;
  } = {},
): Environment[] {
  const module = name.replaceAll('-', '_');
  const newest: Environment = {
    name,
    python: FRAMEWORKS_PYTHON,
    extras: [name],
    packages: ['pytest', 'mypy', ...(o.packages ?? [])],
    pages: o.pages ?? [{ path: `docs/integrations/python-${name}.md` }],
    typed: (o.modules ?? [module]).map((each) => `src/contextrelay/integrations/${each}.py`),
    commands: [[...PYTEST, `tests/integrations/test_${module}.py`, ...(o.files ?? [])]],
    short: o.short,
  };
  const python = [o.oldestPython ?? '3.10', ...FRAMEWORKS_PYTHON];
  const oldest = { name: `${name}-oldest`, python, typed: [], oldest: true, short: false };
  return [newest, { ...newest, ...oldest }];
}

function importOf([name]: readonly string[]): string {
  if (name === undefined) return 'import contextrelay';
  if (name === 'async') return 'import contextrelay.aio';
  return `import contextrelay.integrations.${name.replaceAll('-', '_')}`;
}

const NO_PYPI = 'PyPI cannot be reached';

/**
 * Returns the command of uv. If uv is missing, it is installed from PyPI. If that fails, returns the reason
 * in `missing`.
 */
function findUv(): string | { missing: string } {
  if (succeeds('uv', ['--version'])) return 'uv';
  const uvFolder = join(CACHE, 'uv');
  const program = join(uvFolder, 'bin', 'uv');
  if (existsSync(program) && succeeds(program, ['--version'])) return program;
  const python = ['python3', 'python'].find((each) =>
    succeeds(each, ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']),
  );
  if (python === undefined) return { missing: 'there is no Python 3.9 or newer' };
  if (!succeeds(python, ['-m', 'venv', '--clear', uvFolder]))
    return { missing: 'this Python makes no environments (on Debian: python3-venv)' };
  const installed = succeeds(join(uvFolder, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', 'uv']);
  return installed ? program : { missing: NO_PYPI };
}

function pypiAnswers(uv: string): boolean {
  return succeeds(uv, ['pip', 'install', '--quiet', '--no-cache', '--target', join(CACHE, 'probe'), 'idna']);
}

function succeeds(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}

async function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<boolean> {
  return (await capture(program, args, env)).code === 0;
}

/** Runs a program, prints its output as it arrives, and returns the output and the exit code. */
function capture(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; output: string }> {
  return new Promise((done) => {
    const child = spawn(program, args, {
      cwd: program.startsWith(CACHE) && !program.endsWith('uv') ? 'python' : '.',
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TEST_MINUTES * 60_000,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
        process.stdout.write(text);
      });
    }
    child.once('error', (error) => done({ code: 1, output: String(error) }));
    child.once('close', (code) => done({ code, output }));
  });
}

function count(good: boolean, what: string): void {
  totals[good ? 'passed' : 'failed']++;
  console.log(`${good ? 'ok  ' : 'FAIL'} ${what}`);
}

function skip(name: string, reason: string): void {
  totals.skipped++;
  console.log(`skipped ${name}: ${reason}`);
}

function skipAll(reason: string, environments: number): number {
  console.log(`The Python package was not tested: ${reason}.`);
  totals.skipped += environments;
  return summary();
}

function fail(what: string): number {
  count(false, what);
  return summary();
}

function summary(): number {
  const { passed, failed, skipped } = totals;
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  return failed > 0 ? 1 : 0;
}
