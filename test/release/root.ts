import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Why no root of its own can be made for a program here, or false. */
export function noRoots(): string | false {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return `these are for Linux on x64; this is ${process.platform}-${process.arch}`;
  const tried = spawnSync('unshare', ['--mount', '--net', '--pid', '--fork', 'chroot', '/', 'true']);
  return tried.status === 0 ? false : 'unshare and chroot need root here';
}

/**
 * A root with these programs, the libraries they are linked with, and nothing else: no Node, no npm, no Python, no package manager.
 * What runs in it sees no network but its own loopback.
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

/** The words of a command line that runs a shell line in the root, as a user, with a process table and a loopback of its own. */
export function inRoot(root: string, line: string, uid = 0): string[] {
  const enter = [
    'ip link set lo up',
    `mount -t proc proc "$0/proc"`,
    `mount --bind /dev "$0/dev"`,
    `exec chroot ${uid ? `--userspec=${uid}:${uid} ` : ''}"$0" /bin/sh -c "$1"`,
  ].join(' && ');
  return ['unshare', '--mount', '--net', '--pid', '--fork', '--kill-child', 'sh', '-c', enter, root, line];
}
