/**
 * Prepares a clone: installs the packages of package-lock.json. --integrations also installs the frameworks
 * of the integrations. --cloudflare also installs the tools that serve and deploy the Worker. --build also
 * builds dist.
 * This file is plain JavaScript for Node 18 or newer, because Node 26 is one of the packages that it
 * installs. If everything is up to date, it changes nothing, needs no network and prints nothing.
 */
import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { basename, delimiter, dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NODE_FILES } from '../runtime/index.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');
const lock = join(root, '.setup-lock');
/**
 * Folders with a lockfile of their own, by the flag that installs their packages. The packages have hundreds
 * of megabytes, and only some tests and commands need them.
 */
const PACKAGES = {
  '--integrations': join(root, 'src', 'integrations'),
  '--cloudflare': join(root, 'deploy', 'cloudflare'),
};

/** Inputs of the build. A change in any of these files makes dist outdated. */
const SOURCES = [
  'bin',
  'src',
  'ui',
  'scripts/build.ts',
  'scripts/build',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'LICENSE',
];

/**
 * Time in ms that this process waits for another setup before it fails. A first installation over a slow
 * network takes minutes.
 */
const LOCK_WAIT_MS = 15 * 60_000;
/**
 * Age in ms from which a lock folder without an owner file counts as stale. A process writes this file microseconds
 * after it creates the folder, so an older folder was left by a killed process.
 */
const OWNERLESS_MS = 10_000;

/** An error that the user can fix. It is printed without a stack trace. */
class Problem extends Error {}

let child;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    child?.kill(signal);
    release();
    process.exit(1);
  });
}

try {
  await setup(process.argv.includes('--build'));
} catch (error) {
  release();
  say(error instanceof Problem ? error.message : (error?.stack ?? String(error)));
  process.exit(1);
}

async function setup(wantBuild) {
  const selectedFlags = Object.keys(PACKAGES).filter((flag) => process.argv.includes(flag));
  const folders = [root, ...selectedFlags.map((flag) => PACKAGES[flag])];
  if (folders.every(installed) && (!wantBuild || built())) return;
  await acquire();
  try {
    for (const folder of folders) if (!installed(folder)) await install(folder);
    if (wantBuild && !built()) await build();
  } finally {
    release();
  }
}

/**
 * Returns whether node_modules matches package-lock.json. Compares the checksums of the packages, because file times
 * are meaningless after a checkout. Optional packages may be missing, for example those for other platforms. In the
 * root folder, Node 26 for this platform must exist.
 */
function installed(folder) {
  const have = packagesIn(join(folder, 'node_modules', '.package-lock.json'));
  const want = packagesIn(join(folder, 'package-lock.json'));
  if (!want) throw new Problem(`There is no readable package-lock.json in ${folder}. Is the clone complete?`);
  if (!have) return false;
  for (const [path, entry] of Object.entries(want)) {
    if (path === '') continue;
    const locked = have[path];
    if (!locked ? !entry.optional : locked.integrity !== entry.integrity) return false;
  }
  if (folder !== root) return true;
  const node = NODE_FILES[`${process.platform}-${process.arch}`];
  return node === undefined || existsSync(join(modules, node));
}

function packagesIn(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/**
 * Returns whether dist is up to date. The build sets the mtime of `dist/cli/relay.js` to the time at which
 * the build began. So a source that was saved during the build makes dist outdated.
 */
function built() {
  const stamp = changedAt(join(root, 'dist', 'cli', 'relay.js'));
  return stamp > 0 && SOURCES.every((path) => newest(join(root, path)) <= stamp);
}

function newest(path) {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return 0;
  if (!stat.isDirectory()) return stat.mtimeMs;
  // Include the mtime of the folder itself: nothing else changes when a file is deleted.
  let latest = stat.mtimeMs;
  for (const name of readdirSync(path)) {
    if (!name.endsWith('.test.ts') && name !== 'node_modules')
      latest = Math.max(latest, newest(join(path, name)));
  }
  return latest;
}

function changedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

async function install(folder) {
  const lockfile = relative(root, join(folder, 'package-lock.json'));
  say(`Installing the packages that ${lockfile} names (once; about a minute)…`);
  const [command, args] = npm();
  // The packages for Cloudflare need `npm install`: `npm ci` requires the workerd package of every platform, and some
  // registries lack some of these packages. --include and --omit are explicit, because NODE_ENV=production or an npmrc
  // could otherwise leave packages out. The optional packages of the integrations are omitted: they are programs that
  // nothing here uses.
  const how = folder === PACKAGES['--cloudflare'] ? ['install', '--no-save'] : ['ci'];
  const flags = [
    ...how,
    '--include=dev',
    folder === PACKAGES['--integrations'] ? '--omit=optional' : '--include=optional',
    '--no-audit',
    '--no-fund',
  ];
  const { code, output } = await run(command, [...args, ...flags], folder);
  if (code !== 0) {
    throw new Problem(
      `${output.trimEnd()}\n\nnpm ci failed (exit code ${code}); its words are above. The packages come from the npm ` +
        'registry: check the network and `npm config get registry`, then run the same command again.',
    );
  }
  if (!installed(folder)) {
    throw new Problem(
      `npm ci went through, but ${join(folder, 'node_modules')} still lacks something package-lock.json names. Delete that ` +
        'folder and run the same command again.',
    );
  }
}

async function build() {
  say('Building dist…');
  const { code, output } = await run(node26(), [join(root, 'scripts', 'build.ts')]);
  if (code !== 0) throw new Problem(`${output.trimEnd()}\n\nThe build failed; the reason is above.`);
}

function node26() {
  const name = NODE_FILES[`${process.platform}-${process.arch}`];
  const path = name && join(modules, name);
  if (path && existsSync(path)) return path;
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) return process.execPath;
  throw new Problem(
    `There is no packaged Node 26 for ${process.platform}-${process.arch}, and this one is ${process.version}. Install ` +
      'Node 26 from https://nodejs.org and run the same command again.',
  );
}

/**
 * Returns the command and the arguments that run npm, if possible on a Node outside of node_modules: npm ci first deletes
 * that folder, and Windows cannot delete a running program.
 */
function npm() {
  const npmPath = process.env.npm_execpath;
  if (npmPath && basename(npmPath) === 'npm-cli.js' && existsSync(npmPath)) return [outsideNode(), [npmPath]];
  if (process.platform !== 'win32') return ['npm', []];
  const cli = join(dirname(outsideNode()), 'node_modules', 'npm', 'bin', 'npm-cli.js');
  return [outsideNode(), [cli]];
}

function outsideNode() {
  const name = process.platform === 'win32' ? 'node.exe' : 'node';
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, name));
  const inside = modules + sep;
  for (const path of [process.env.npm_node_execpath, process.execPath, ...onPath]) {
    if (path && existsSync(path) && !realpathSync(path).startsWith(inside)) return path;
  }
  return process.execPath;
}

/**
 * Runs a command and returns its exit code and output. It prints nothing, because stdout belongs to the
 * program that runs next.
 */
function run(command, args, cwd = root) {
  return new Promise((resolve, reject) => {
    let output = '';
    child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    child.once('error', (error) =>
      reject(new Problem(`Cannot run ${command}: ${error.message}. Is npm installed and on the PATH?`)),
    );
    child.once('close', (code) => resolve({ code, output }));
  });
}

async function acquire() {
  const until = Date.now() + LOCK_WAIT_MS;
  for (let announced = false; ; ) {
    try {
      mkdirSync(lock);
      writeFileSync(join(lock, 'owner.json'), JSON.stringify({ pid: process.pid, host: hostname() }));
      acquire.held = true;
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw new Problem(`Cannot write to ${root}: ${error.message}`);
    }
    if (stale()) {
      takeAway();
      continue;
    }
    if (Date.now() > until) throw new Problem(`Another setup holds ${lock}. If none is running, delete it.`);
    if (!announced) say('Another setup of this folder is under way; waiting for it…');
    announced = true;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/**
 * Returns whether the lock is stale: its owner is dead, or its folder has had no owner file for `OWNERLESS_MS`. An
 * owner on another machine cannot be checked, so it counts as alive.
 */
function stale() {
  const owner = readOwner();
  if (!owner) {
    const lockedAt = changedAt(lock);
    return lockedAt > 0 && Date.now() - lockedAt > OWNERLESS_MS;
  }
  if (owner.host !== hostname()) return false;
  try {
    process.kill(owner.pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

/**
 * Removes a stale lock. If several processes find the lock stale, only one of them removes it. Otherwise a slow process
 * could remove the lock of the next owner.
 */
function takeAway() {
  const claim = `${lock}.stale`;
  try {
    mkdirSync(claim);
  } catch {
    if (Date.now() - changedAt(claim) > OWNERLESS_MS) rmSync(claim, { recursive: true, force: true });
    return;
  }
  if (stale()) {
    say('Removing the lock of a setup that did not finish.');
    rmSync(lock, { recursive: true, force: true });
  }
  rmSync(claim, { recursive: true, force: true });
}

function readOwner() {
  try {
    return JSON.parse(readFileSync(join(lock, 'owner.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

function release() {
  if (!acquire.held) return;
  acquire.held = false;
  rmSync(lock, { recursive: true, force: true });
}

function say(line) {
  process.stderr.write(`${line}\n`);
}
