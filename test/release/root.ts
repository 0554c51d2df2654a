import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, realpathSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { must, outsideEnv, ROOT } from '../package/processes.ts';

/** Returns a reason to skip tests that need a root folder for chroot, or false. */
export function noRoots(): string | false {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return `these are for Linux on x64; this is ${process.platform}-${process.arch}`;
  const tried = spawnSync('unshare', ['--mount', '--net', '--pid', '--fork', 'chroot', '/', 'true']);
  return tried.status === 0 ? false : 'unshare and chroot need root here';
}

/**
 * Creates a root folder with only these programs and their linked libraries: no Node, npm, Python or package manager.
 */
export function layMinimalRoot(root: string, programs: { readonly [place: string]: string }): void {
  for (const folder of ['tmp', 'srv', 'etc', 'dev', 'proc'])
    mkdirSync(join(root, folder), { recursive: true });
  for (const [place, program] of Object.entries(programs)) {
    for (const library of librariesOf(program)) put(root, library, library);
    put(root, place, program);
  }
}

function put(root: string, place: string, source: string): void {
  const target = join(root, place);
  if (existsSync(target)) return;
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(realpathSync(source), target);
}

function librariesOf(program: string): string[] {
  const { stdout } = spawnSync('ldd', [program], { encoding: 'utf8' });
  return [...stdout.matchAll(/(\/\S+\.so[\w.]*)/g)].map((match) => match[1]!);
}

/** Returns a reason to skip if one of these programs is missing, or false. */
export function missing(...tools: readonly string[]): string | false {
  const none = tools.find((tool) => spawnSync('which', [tool]).status !== 0);
  return none !== undefined && `${none} is not installed`;
}

/** Creates a root folder with a Debian without Node. debootstrap downloads it once; it is cached in node_modules. */
export async function layDebianRoot(root: string): Promise<void> {
  const cacheFolder = join(ROOT, 'node_modules', '.cache', 'fixtures', 'debian-stable');
  if (!existsSync(cacheFolder)) {
    const partial = `${cacheFolder}.${process.pid}`;
    mkdirSync(dirname(partial), { recursive: true });
    const args = ['--variant=minbase', 'stable', partial];
    await must('debootstrap', args, { env: outsideEnv() });
    if (!existsSync(cacheFolder)) renameSync(partial, cacheFolder);
  }
  await must('cp', ['--archive', '--reflink=auto', cacheFolder, root]);
}

/**
 * Returns the command line that runs a shell command in a root folder, with its own process table and loopback network.
 * The commands in `mounts` run before it.
 */
export function inRoot(root: string, line: string, mounts: readonly string[] = []): string[] {
  const enter = [
    'ip link set lo up',
    ...mounts,
    `mount -t proc proc "$0/proc"`,
    `mount --bind /dev "$0/dev"`,
    `exec chroot "$0" /bin/sh -c "$1"`,
  ].join(' && ');
  return ['unshare', '--mount', '--net', '--pid', '--fork', '--kill-child', 'sh', '-c', enter, root, line];
}
