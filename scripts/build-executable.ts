/**
 * `npm run build:executable`: compiles the program with Bun into the executable that `./relay` runs in a
 * clone. With a path it writes the executable there: `npm run build:executable -- ./relay-for-me`. With
 * --if-old it builds only if the executable is outdated.
 */
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ASSETS, compileExecutable } from './build/executable.ts';

const root = join(import.meta.dirname, '..');
const { values, positionals } = parseArgs({
  options: { 'if-old': { type: 'boolean' } },
  allowPositionals: true,
});
const output = positionals[0] ? resolve(positionals[0]) : join(root, 'node_modules/.cache/executable/relay');
/**
 * Marker file of a failed build. While it exists, `./relay` does not start another build at every command.
 */
const failed = `${output}.failed`;
const lock = `${output}.lock`;
/** Age in ms from which a lock counts as stale. A build takes seconds, so an older lock was left by a killed build. */
const LOCK_MS = 300_000;

process.chdir(root);
mkdirSync(dirname(output), { recursive: true });
if (values['if-old'] && isFresh()) process.exit();
if (takeLock()) {
  try {
    const setup = spawnSync(process.execPath, ['scripts/setup.mjs', '--build'], { stdio: 'inherit' });
    if (setup.status !== 0) throw new Error('The package could not be built.');
    compileExecutable(output);
    rmSync(failed, { force: true });
    console.log(`${output}: ${Math.round(statSync(output).size / 1e6)} MB`);
  } catch (error) {
    writeFileSync(failed, String(error));
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
} else console.log('Another build of the executable is under way.');

/**
 * Returns whether the executable is newer than `dist/cli/relay.js` and all its assets. `npm start` brings
 * dist up to date before it calls this script.
 */
function isFresh(): boolean {
  const builtAt = statSync(output, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const inside = globSync(['dist/cli/relay.js', ...ASSETS]).map((path) => statSync(path).mtimeMs);
  return inside.every((time) => time < builtAt);
}

function takeLock(): boolean {
  try {
    if (Date.now() - statSync(lock).mtimeMs > LOCK_MS) rmSync(lock, { recursive: true, force: true });
  } catch {
    // There is no lock to remove.
  }
  try {
    mkdirSync(lock);
    return true;
  } catch {
    return false;
  }
}
