import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const VERSION = '0.2.0-alpha.12';
const FOLDER = join(import.meta.dirname, '../../../node_modules/.cache/mcp-conformance');
const SUITE = join(FOLDER, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

/** Installs the suite from npm. Returns the reason if that fails, or false. */
export async function installSuite(): Promise<string | false> {
  if (existsSync(SUITE)) return false;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, 'package.json'), '{"private":true}');
  const packageSpec = `@modelcontextprotocol/conformance@${VERSION}`;
  const { code, output } = await run(
    'npm',
    ['install', '--no-audit', '--no-fund', '--no-save', packageSpec],
    FOLDER,
  );
  return code === 0 && existsSync(SUITE) ? false : `the suite cannot be installed: ${output.slice(-300)}`;
}

/** Runs the official suite against the server at a URL. */
export async function runSuite(url: string, revision: string) {
  const args = [SUITE, 'server', '--url', url, '--requirements', revision];
  const { code, output } = await run(process.execPath, args, FOLDER);
  const names = (pattern: RegExp) => [...output.matchAll(pattern)].map(([, name]) => name!);
  // Ignore extensions and later drafts, which the suite also runs but which are not part of the revision.
  const unscored = names(/^ +✗ ([\w-]+) \(\w[^)]*\)$/gm);
  const failed = names(/^✗ ([\w-]+):/gm).filter((name) => !unscored.includes(name));
  return { code, output, failed: [...new Set(failed)].sort() };
}

function run(
  command: string,
  args: readonly string[],
  cwd: string,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}
