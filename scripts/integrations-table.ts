/**
 * Measures the integrations and fills three columns of the table in docs/integrations/README.md:
 * - the version of the framework in the tests
 * - the size of the packages that the command on the page installs
 * - the tokens of agent B's prompt when agent A hands over a result of 60 KB, pasted and as a pointer. They come from
 *   runs of the real frameworks with a fake model.
 *
 * node scripts/integrations-table.ts           runs everything; it takes about an hour
 * node scripts/integrations-table.ts FILE      takes the measurements from a file that earlier runs wrote with
 *                                              HAND_OVER_FILE=FILE
 */
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

interface Measured {
  readonly page: string;
  readonly oldest?: string;
  readonly newest?: string;
  readonly bytes?: number;
  readonly pasted?: number;
  readonly passed?: number;
}

const ROOT = resolve(import.meta.dirname, '..');
const README = join(ROOT, 'docs/integrations/README.md');
const LOCK = join(ROOT, 'src/integrations/package-lock.json');
const file = process.argv[2] ?? measureAll();
const measured = new Map<string, Measured>();
for (const line of readFileSync(file, 'utf8').trim().split('\n')) {
  const measurement: Measured = JSON.parse(line);
  measured.set(measurement.page, { ...measured.get(measurement.page), ...measurement });
}
const text = readFileSync(README, 'utf8');
writeFileSync(README, text.replaceAll(/^\| \[[^\]]+\]\(([\w-]+)\.md\) .*$/gm, fillRow));

function measureAll(): string {
  const path = join(mkdtempSync(join(tmpdir(), 'relay-measured-')), 'measured.jsonl');
  const run = (...args: string[]) =>
    spawnSync(process.execPath, args, {
      cwd: ROOT,
      stdio: 'inherit',
      env: { ...process.env, HAND_OVER_FILE: path },
    });
  const tests = globSync('src/integrations/*/*.slow.test.ts', { cwd: ROOT }).filter((path) =>
    /(\w[\w-]*)\/\1\.slow/.test(path),
  );
  run('--test', '--test-name-pattern=hand-over', ...tests);
  run('--test', 'test/integrations/fresh-install.full.test.ts');
  run('scripts/test-python.ts');
  console.log(`The measurements are in ${path}`);
  return path;
}

/** Replaces the last three cells of a row if they were measured. */
function fillRow(row: string, page: string): string {
  const cells = row.split('|');
  const { oldest, newest = npmVersion(page), bytes, pasted, passed } = measured.get(page) ?? {};
  if (newest) cells[4] = oldest && oldest !== newest ? ` ${oldest}, ${newest} ` : ` ${newest} `;
  if (bytes) cells[5] = ` ${Math.round(bytes / 1e6)} MB `;
  if (pasted && passed) cells[6] = ` ${thousands(pasted)} → ${thousands(passed)} `;
  return cells.join('|');
}

/** Returns the version of a TypeScript framework that the tests run with. */
function npmVersion(page: string): string | undefined {
  if (page.startsWith('python-')) return undefined;
  const command = /`npm install (@?[^\s@`]+)/.exec(
    readFileSync(join(ROOT, `docs/integrations/${page}.md`), 'utf8'),
  );
  return command
    ? JSON.parse(readFileSync(LOCK, 'utf8')).packages[`node_modules/${command[1]}`]?.version
    : undefined;
}

/** Rounds a number to three significant digits and separates thousands. */
function thousands(value: number): string {
  const digits = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 2);
  return String(Math.round(value / digits) * digits).replaceAll(/\B(?=(\d{3})+$)/g, ' ');
}
