/**
 * Builds the Python package and tests it in a new environment for each extra. There it installs the wheel and
 * runs the extra's tests against a relay from this clone. Then it installs the sdist and imports it. The last
 * line is `N passed, M failed`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const HELP = `node scripts/test-python.ts [--short] [environment…]

  (nothing)     the client on the oldest Python there is, each extra in an environment of its own, types, lint
  --short       the client, two extras and the lint
  environment…  only these: ${'client, lint, or the name of an extra'}

Needs Python 3.9 or newer and PyPI; without them it says so, and everything is skipped.`;

/**
 * Folder for the environments and the built package. git and all tools ignore it. uv keeps its downloads
 * elsewhere.
 */
const CACHE = resolve('node_modules/.cache/python');
const DIST = join(CACHE, 'dist');
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
  /** Commands to run in the folder `python`. */
  readonly commands: readonly (readonly string[])[];
  readonly short?: boolean;
}

const FRAMEWORKS_PYTHON = ['>=3.10,<3.14'];
const PYTEST = ['python', '-m', 'pytest'];

const ENVIRONMENTS: readonly Environment[] = [
  {
    name: 'client',
    python: ['3.9', '>=3.9'],
    extras: [],
    packages: ['pytest'],
    commands: [[...PYTEST, '--ignore=tests/integrations']],
    short: true,
  },
  extra('async', { short: true }),
  extra('langgraph', { short: true, packages: ['langgraph-checkpoint-conformance'] }),
  extra('fsspec'),
  extra('langchain'),
  extra('crewai'),
  extra('autogen'),
  extra('agent-framework'),
  {
    name: 'lint',
    python: FRAMEWORKS_PYTHON,
    extras: ['async', 'langchain', 'langgraph', 'fsspec'],
    packages: ['pytest', 'mcp', 'ruff', 'mypy', 'types-requests'],
    commands: [
      ['ruff', 'check', '.'],
      ['ruff', 'format', '--check', '.'],
      ['mypy'],
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
  rmSync(DIST, { recursive: true, force: true });
  if (!(await run(uv, ['build', '--quiet', 'python', '--out-dir', DIST])))
    return pypiAnswers(uv) ? fail('the package cannot be built') : skipAll(NO_PYPI, chosen.length);
  totals.passed++;
  for (const environment of chosen) await test(uv, environment);
  console.log(`\n${chosen.length} environments`);
  return summary();
}

async function test(uv: string, environment: Environment): Promise<void> {
  const began = performance.now();
  const { name, extras, packages } = environment;
  console.log(`\n== ${name}`);
  const venv = join(CACHE, name);
  const python = environment.python.find((wanted) =>
    succeeds(uv, ['venv', '--quiet', '--clear', '--python', wanted, venv]),
  );
  if (python === undefined) return skip(name, `there is no Python ${environment.python.join(' or ')}`);
  const wheel = globSync(join(DIST, '*.whl'))[0]!;
  const sdist = globSync(join(DIST, '*.tar.gz'))[0]!;
  const asked = extras.length > 0 ? `[${extras.join(',')}]` : '';
  const install = (...what: string[]) =>
    run(uv, ['pip', 'install', '--quiet', '--python', venv, ...what], { VIRTUAL_ENV: venv });
  if (!(await install(`contextrelay${asked} @ file://${wheel}`, ...packages))) {
    if (!pypiAnswers(uv)) return skip(name, NO_PYPI);
    totals.failed++;
    return console.log(`FAIL ${name}: the wheel${asked} does not install`);
  }
  totals.passed++;
  for (const command of environment.commands) await runTests(venv, command);
  // Installs the sdist instead of the wheel. This fails if the sdist lacks a file that the build needs.
  if (environment.name !== 'lint') {
    const built = await install('--reinstall', '--no-deps', `contextrelay${asked} @ file://${sdist}`);
    const program = join(venv, 'bin', 'python');
    count(built && succeeds(program, ['-c', importOf(extras)]), `${name}: the sdist`);
  }
  console.log(`${name}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

/**
 * Runs a command in an environment and adds its tests to the totals. The number of tests is in the last line
 * of pytest. Any other program counts as one test.
 */
async function runTests(venv: string, [program, ...args]: readonly string[]): Promise<void> {
  const bin = join(venv, process.platform === 'win32' ? 'Scripts' : 'bin');
  const env = {
    VIRTUAL_ENV: venv,
    PATH: `${bin}${delimiter}${process.env.PATH}`,
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const { code, output } = await capture(join(bin, program!), args, env);
  const counts = args.includes('pytest') ? pytestCounts(output) : null;
  if (!counts) return count(code === 0, [program, ...args].join(' '));
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

function extra(name: string, o: { short?: boolean; packages?: readonly string[] } = {}): Environment {
  const file = `tests/integrations/test_${name.replaceAll('-', '_')}.py`;
  return {
    name,
    python: FRAMEWORKS_PYTHON,
    extras: [name],
    packages: ['pytest', ...(o.packages ?? [])],
    commands: [[...PYTEST, file]],
    short: o.short,
  };
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
  const own = join(CACHE, 'uv');
  const program = join(own, 'bin', 'uv');
  if (existsSync(program) && succeeds(program, ['--version'])) return program;
  const python = ['python3', 'python'].find((each) =>
    succeeds(each, ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']),
  );
  if (python === undefined) return { missing: 'there is no Python 3.9 or newer' };
  if (!succeeds(python, ['-m', 'venv', '--clear', own]))
    return { missing: 'this Python makes no environments (on Debian: python3-venv)' };
  const installed = succeeds(join(own, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', 'uv']);
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
