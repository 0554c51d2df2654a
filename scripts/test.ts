/**
 * Runs the checks and the tests. The last line is `N passed, M failed`. The type check and the lint check
 * count as one test each.
 */

import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative, resolve, sep } from 'node:path';
import { parseArgs, stripVTControlCharacters, styleText } from 'node:util';
import { mapConcurrent } from '../src/base/map-concurrent.ts';
import { endGroup, type Failure, type FileResult, runTestFile, type Skip } from './test-file.ts';

const HELP = `node scripts/test.ts [--quick | --slow | --full] [--jobs N] [--timeout S] [--quiet] [path…]

  (nothing)   check types, lint and format, then run every *.test.ts
  --quick     the same checks, but only unit and architecture tests
  --slow      run only *.slow.test.ts
  --full      run the checks, every *.test.ts, *.slow.test.ts and *.full.test.ts, and the tests of the Python package
  --jobs N    number of files that run at once (default: number of cores plus one, because many tests wait)
  --again     run each failed file again, alone, if at most three files failed. A file that passes the second
              time is printed as UNSTEADY and does not fail the run. CI uses this option
  --quiet     print only the files that failed
  --timeout S seconds after which a file is killed (default: 120, for slow files 420)
  path…       run only test files whose path begins with or contains one of these texts, without the checks`;

const FOLDERS = ['src', 'ui', 'test', 'bench', 'scripts', 'examples'];
const QUICK_FOLDERS = ['src', 'ui', 'test/architecture'];
/**
 * Time limits in ms by the end of the path; the first match counts. Each limit is much longer than any file
 * takes, so only a file that hangs reaches it. All of .ci/run must end within 35 minutes.
 */
const TIMEOUTS_MS = [
  // This test file runs nearly a hundred others and starts a workerd for each of their tests.
  ['test/cloudflare/matrix.full.test.ts', 7_200_000],
  ['.full.test.ts', 2_400_000],
  // This file runs all cases in one workerd, several at once, which takes long on a busy machine.
  ['test/cloudflare/conformance.slow.test.ts', 840_000],
  ['.slow.test.ts', 420_000],
  ['.test.ts', 120_000],
] as const;

/**
 * Maximum number of failed files that `--again` runs a second time. If more files failed, none is run again,
 * because so many failures are no coincidence.
 */
const UNSTEADY_FILES = 3;
/** Number of files that the summary lists as the slowest. */
const SLOWEST_FILES = 5;

interface Check {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

const CHECKS: readonly Check[] = [
  { name: 'types', command: 'tsc', args: ['-p', '.'] },
  { name: 'types of the pages', command: 'tsc', args: ['-p', 'ui'] },
  {
    name: 'lint and format',
    command: 'biome',
    args: ['check', '--error-on-warnings', '--max-diagnostics=50', '.'],
  },
];

const running = new Set<number>();
process.exitCode = await main();

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean' },
      slow: { type: 'boolean' },
      full: { type: 'boolean' },
      again: { type: 'boolean' },
      quiet: { type: 'boolean' },
      jobs: { type: 'string' },
      timeout: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const files = testFiles({ ...values, filters: positionals });
  if (files.length === 0) {
    console.error(
      positionals.length > 0 ? `No test file matches ${positionals.join(', ')}.` : 'There are no tests.',
    );
    return 1;
  }
  endChildrenOnSignal();
  const began = performance.now();
  const results: FileResult[] = [];
  if (!values.slow && positionals.length === 0) {
    results.push(...(await Promise.all(CHECKS.map(runCheck))));
  }
  const jobs = Math.max(1, Number(values.jobs) || availableParallelism() + 1);
  let done = 0;
  const runFile = (file: string) => {
    const usual = TIMEOUTS_MS.find(([end]) => file.endsWith(end))![1];
    return runTestFile(file, Number(values.timeout) * 1000 || usual, running);
  };
  await mapConcurrent(
    files,
    async (file) => {
      const result = await runFile(file);
      results.push(result);
      done++;
      if (values.quiet && result.failures.length === 0) return;
      printFile(result, `${String(done).padStart(String(files.length).length)}/${files.length}`);
    },
    jobs,
  );
  if (values.again) await runAgain(results, runFile);
  if (values.full && positionals.length === 0) results.push(await runPython());
  return printSummary(results, performance.now() - began);
}

function testFiles(o: {
  quick?: boolean;
  slow?: boolean;
  full?: boolean;
  filters: readonly string[];
}): string[] {
  const folders = o.quick ? QUICK_FOLDERS : FOLDERS;
  const all = globSync(
    folders.map((folder) => `${folder}/**/*.test.ts`),
    { exclude: ['**/node_modules/**'] },
  )
    .map((path) => path.split(sep).join('/'))
    .sort();
  const filters = o.filters.map((filter) => relative('.', resolve(filter)).split(sep).join('/'));
  return all.filter((path) => {
    const slow = /\.(slow|full)\.test\.ts$/.test(path);
    if (filters.length === 0) return o.full || (slow === Boolean(o.slow) && !path.endsWith('.full.test.ts'));
    // Without --slow or --full, a slow file runs only if its exact path is given.
    if (slow && !o.slow && !o.full) return filters.includes(path);
    return filters.some((filter) => path.includes(filter));
  });
}

/**
 * Runs each failed file once more, by itself, if at most `UNSTEADY_FILES` files failed. If a file passes now, the second
 * result replaces the first. The first failure is always printed.
 */
async function runAgain(
  results: FileResult[],
  runFile: (file: string) => Promise<FileResult>,
): Promise<void> {
  const failed = results.filter(({ failures, file }) => failures.length > 0 && file.endsWith('.test.ts'));
  if (failed.length > UNSTEADY_FILES) return;
  for (const first of failed) {
    const second = await runFile(first.file);
    printFile(second, 'again');
    if (second.failures.length > 0) continue;
    printFailures(first);
    console.log(`\n${styled('yellow', 'UNSTEADY')} ${first.file} failed, and passed when it ran alone.`);
    results[results.indexOf(first)] = second;
  }
}

async function runCheck(check: Check): Promise<FileResult> {
  const began = performance.now();
  // tsc and biome are native programs. Start them with the JavaScript file of their package, which works on every
  // platform.
  const package_ = check.command === 'biome' ? '@biomejs/biome' : 'typescript';
  const script = join('node_modules', package_, 'bin', check.command);
  const { code, output } = await capture(script, check.args);
  const failures = code === 0 ? [] : [{ name: check.name, error: output.trim() || `exit code ${code}` }];
  const passed = code === 0 ? 1 : 0;
  const result = { file: check.name, passed, failures, skips: [], ms: performance.now() - began, output: '' };
  printFile(result);
  return result;
}

/** Runs the tests of the Python package. The last line of their output contains the totals. */
async function runPython(): Promise<FileResult> {
  const began = performance.now();
  const file = 'scripts/test-python.ts';
  const { code, output } = await capture(file, []);
  const totals = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$/m.exec(
    output.trimEnd().split('\n').at(-1)!,
  );
  const [passed, failed, skipped] = [1, 2, 3].map((at) => Number(totals?.[at] ?? 0)) as [
    number,
    number,
    number,
  ];
  const failures = failed > 0 || code !== 0 ? [{ name: file, error: output.trim() }] : [];
  const skips = Array.from({ length: skipped }, () => ({
    name: file,
    reason: 'npm run test:python says why',
  }));
  const result = { file, passed, failures, skips, ms: performance.now() - began, output: '' };
  printFile(result);
  return result;
}

function capture(script: string, args: readonly string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((done) => {
    const colour = styled('red', 'x') === 'x' ? { NO_COLOR: '1' } : { FORCE_COLOR: '1' };
    const child = spawn(process.execPath, [script, ...args], {
      env: { ...process.env, ...colour },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    child.once('error', (error) => done({ code: 1, output: String(error) }));
    child.once('close', (code) => done({ code, output }));
  });
}

function printFile(result: FileResult, progress = ''): void {
  const { passed, failures, skips, ms } = result;
  const mark = failures.length > 0 ? styled('red', 'FAIL') : styled('green', 'ok  ');
  const parts = [`${passed} passed`];
  if (failures.length > 0) parts.push(`${failures.length} failed`);
  if (skips.length > 0) parts.push(`${skips.length} skipped`);
  const place = progress === '' ? '' : `${styled('dim', progress)} `;
  console.log(`${mark} ${place}${result.file}  ${styled('dim', `${parts.join(', ')}, ${seconds(ms)}`)}`);
  for (const failure of failures) console.log(`       ${styled('red', '✗')} ${failure.name}`);
}

function printSummary(results: readonly FileResult[], ms: number): number {
  const skips = results.flatMap((result) => result.skips.map((skip) => ({ ...skip, file: result.file })));
  const failed = results.filter((result) => result.failures.length > 0);
  if (skips.length > 0) printSkips(skips);
  for (const result of failed) printFailures(result);
  const count = (of: (result: FileResult) => number) => results.reduce((sum, result) => sum + of(result), 0);
  const failures = count((result) => result.failures.length);
  const tail = skips.length > 0 ? `, ${skips.length} skipped` : '';
  if (results.length > SLOWEST_FILES) printSlowest(results);
  console.log(`\n${results.length} files in ${seconds(ms)}`);
  console.log(`${count((result) => result.passed)} passed, ${failures} failed${tail}`);
  return failures > 0 ? 1 : 0;
}

function printSlowest(results: readonly FileResult[]): void {
  console.log(`\n${styled('dim', 'Slowest')}`);
  for (const { file, ms } of results.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST_FILES)) {
    console.log(`  ${seconds(ms).padStart(7)}  ${file}`);
  }
}

function printSkips(skips: readonly (Skip & { file: string })[]): void {
  console.log(`\n${styled('yellow', 'Skipped')}`);
  for (const { file, name, reason } of skips) console.log(`  ${file}: ${name}\n    ${reason}`);
}

function printFailures(result: FileResult): void {
  for (const failure of result.failures) {
    console.log(
      `\n${styled('red', 'FAIL')} ${result.file}${result.file === failure.name ? '' : ` › ${failure.name}`}`,
    );
    if (failure.at) console.log(styled('dim', `  at ${failurePlace(failure)}`));
    console.log(indent(failure.error));
  }
  if (result.output.trim() !== '') {
    console.log(`\n${styled('dim', `  output of ${result.file}:`)}\n${indent(result.output.trimEnd())}`);
  }
}

function failurePlace(failure: Failure): string {
  return relative('.', failure.at ?? '');
}

function indent(text: string): string {
  const plain = styled('red', 'x') === 'x' ? stripVTControlCharacters(text) : text;
  return plain.replace(/^/gm, '  ');
}

function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Colours text if stdout is a terminal. It respects NO_COLOR and FORCE_COLOR. */
function styled(format: 'red' | 'green' | 'yellow' | 'dim', text: string): string {
  return styleText(format, text, { stream: process.stdout });
}

/**
 * Kills the test files when this process gets a signal. Each has its own process group, which Ctrl-C does not reach.
 */
function endChildrenOnSignal(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      for (const group of running) endGroup(group);
      console.log(`\nStopped by ${signal}.`);
      process.exit(1);
    });
  }
}
