import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { codexDigest } from '../../src/app/install/trust.ts';
import type { JsonObject } from '../../src/base/json.ts';
import type { ScratchFolder } from '../projects/scratch-folder.ts';

/** npm package of each client, and the version for which the tests were written. */
export const PACKAGES = {
  claude: ['@anthropic-ai/claude-code', '2.1.325'],
  codex: ['@openai/codex', '0.166.0'],
  gemini: ['@google/gemini-cli', '0.61.0'],
  opencode: ['opencode-ai', '1.18.33'],
} as const;

export type ClientName = keyof typeof PACKAGES;

const FOLDER = resolve(import.meta.dirname, '../../node_modules/.cache/clients');
const INSTALL_MS = 240_000;

/** Returns the program of a client from npm, or why it is missing or does not run on this machine. */
export function installedClient(name: ClientName): { program: string } | { missing: string } {
  const [package_, version] = PACKAGES[name];
  const manifest = join(FOLDER, 'node_modules', package_, 'package.json');
  if (!existsSync(manifest) || JSON.parse(readFileSync(manifest, 'utf8')).version !== version) {
    const failed = install(`${package_}@${version}`);
    if (failed) return { missing: `${package_} could not be installed: ${failed}` };
  }
  const program = programIn(FOLDER, name);
  const { status, stdout, stderr, error } = spawnSync(program, ['--version'], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (status === 0 && stdout.includes(version)) return { program };
  return { missing: `${name} --version does not answer: ${error?.message ?? stderr.slice(0, 200)}` };
}

/**
 * Returns the path of the program. OpenCode has its executable in a package per platform. OpenCode's install script
 * would link the executable, but we do not let npm run install scripts.
 */
export function programIn(folder: string, name: ClientName): string {
  const modules = join(folder, 'node_modules');
  const platform = `opencode-${process.platform}-${process.arch}`;
  return name === 'opencode' ? join(modules, platform, 'bin', name) : join(modules, '.bin', name);
}

/** Returns the lines of Codex's configuration by which its user trusts the folder and its hooks. */
export function trustedInCodex(folder: ScratchFolder): string[] {
  const lines = [`[projects."${folder.path}"]`, 'trust_level = "trusted"'];
  const file = '.codex/hooks.json';
  const { hooks } = folder.has(file) ? folder.json(file) : { hooks: {} };
  for (const [event, [group]] of Object.entries<[{ hooks: [JsonObject]; matcher?: string }]>(hooks)) {
    const label = event.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();
    lines.push(`[hooks.state."${join(folder.path, file)}:${label}:0:0"]`);
    lines.push(`trusted_hash = "${codexDigest(label, group.hooks[0], group.matcher)}"`);
  }
  return [...lines, ''];
}

/**
 * Installs a client into a cache folder that later runs use again. Returns the reason if it cannot be installed, or
 * null.
 */
function install(package_: string): string | null {
  mkdirSync(FOLDER, { recursive: true });
  const manifest = join(FOLDER, 'package.json');
  if (!existsSync(manifest)) writeFileSync(manifest, '{ "private": true }\n');
  const args = ['install', '--no-audit', '--no-fund', '--save-exact', package_];
  const { status, stderr, error } = spawnSync('npm', args, {
    cwd: FOLDER,
    encoding: 'utf8',
    timeout: INSTALL_MS,
  });
  return status === 0 ? null : (error?.message ?? stderr.trim().split('\n').slice(-3).join(' '));
}

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a client once without a terminal, with its own home. */
export function runClient(
  program: string,
  args: readonly string[],
  o: { readonly cwd: string; readonly home: string; readonly env: { readonly [name: string]: string } },
): Promise<Ran> {
  const env = {
    PATH: process.env.PATH,
    HOME: o.home,
    RELAY_HOME: join(o.home, '.relay'),
    TERM: 'xterm-256color',
    ...o.env,
  };
  return new Promise((done, failed) => {
    const child = spawn(program, args, { cwd: o.cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), 400_000);
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', failed);
    child.once('close', (code) => {
      clearTimeout(timer);
      done({ code, stdout, stderr });
    });
  });
}
