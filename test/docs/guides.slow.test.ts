import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { outsideEnv, ROOT, run } from '../package/processes.ts';
import { pageScript, printedBy, prints } from './page-script.ts';

/**
 * Runs every command and program of the guides with the published program, each page in its own home and folder.
 * page-script.ts describes the format of a page. The code of docs/integrations and docs/python.md has its own tests.
 */

const PAGES = globSync('docs/*.md', { cwd: ROOT })
  .map((path) => path.replaceAll('\\', '/'))
  .sort();

// Three pages run at once, because most of the time is spent waiting for processes to start.
describe('the commands and programs of a page work and print what the page says', { concurrency: 3 }, () => {
  for (const page of PAGES) {
    const { script, expected, program } = pageScript(readFileSync(join(ROOT, page), 'utf8'));
    if (script === '' && program === '') continue;
    test(page, async () => {
      await using session = await openSession();
      const { code, stdout, stderr } = await session.shell(script);
      const printed = printedBy(stdout);
      const [last] = [...printed.keys()].slice(-1);
      assert.equal(code, 0, `${page}:${last} ended with ${code}\n${printed.get(last ?? 0) ?? ''}\n${stderr}`);
      for (const [line, expectedText] of expected)
        assert.ok(
          prints(session.here(expectedText), printed.get(line) ?? ''),
          `${page}:${line} says\n${expectedText}\nbut it is\n${printed.get(line)}`,
        );
      if (program === '') return;
      const ran = await session.program(program);
      assert.equal(ran.code, 0, `${page}: ${ran.stdout}\n${ran.stderr}`);
    });
  }
});

/** A reader's machine: an empty home and folder, `relay` on the PATH, and a free port instead of 7474. */
async function openSession() {
  const folder = mkdtempSync(join(tmpdir(), 'relay-guide-'));
  const [home, work, bin] = ['home', 'work', 'bin'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [home, work, bin, join(work, 'node_modules')]) mkdirSync(path);
  const relay = join(ROOT, 'dist/cli/relay.js');
  writeFileSync(join(bin, 'relay'), `#!/bin/sh\nexec '${process.execPath}' '${relay}' "$@"\n`, {
    mode: 0o755,
  });
  symlinkSync(ROOT, join(work, 'node_modules', 'contextrelay'), 'junction');
  const port = await freePort();
  const plain = outsideEnv();
  const env = {
    ...plain,
    HOME: home,
    PATH: [bin, dirname(process.execPath), plain.PATH].join(delimiter),
    RELAY_COMMAND: 'relay',
    RELAY_PORT: String(port),
    GIT_CONFIG_GLOBAL: join(home, '.gitconfig'),
  };
  writeFileSync(env.GIT_CONFIG_GLOBAL, '[user]\n  name = Reader\n  email = reader@example.com\n');
  const here = (text: string) => text.replaceAll(':7474', `:${port}`);
  return {
    here,
    shell: (script: string) => shell(`set -eo pipefail\n${here(script)}\n`, work, env),
    /** Compiles the program against the published types, and runs it. */
    async program(source: string) {
      writeFileSync(join(work, 'page.mts'), here(source));
      const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
      const strictly = [
        '--noEmit',
        '--strict',
        '--module',
        'nodenext',
        '--target',
        'esnext',
        '--lib',
        'esnext,dom,dom.asynciterable',
      ];
      const checked = await run(process.execPath, [tsc, ...strictly, 'page.mts'], { cwd: work, env });
      if (checked.code !== 0) return checked;
      const pageEnv = { ...env, CONTEXTRELAY_URL: `http://127.0.0.1:${port}` };
      return run(process.execPath, ['page.mts'], { cwd: work, env: pageEnv });
    },
    async [Symbol.asyncDispose]() {
      await run(join(bin, 'relay'), ['down', '--force'], { cwd: work, env });
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/** Runs the script. Background processes of the script are ended when it ends. */
function shell(script: string, cwd: string, env: NodeJS.ProcessEnv) {
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
    const child = spawn('bash', ['-s'], { cwd, env, detached: true });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    child.once('error', reject);
    child.once('exit', () => {
      try {
        process.kill(-child.pid!, 'SIGTERM');
      } catch {
        // Nothing to end: the script left no background process.
      }
    });
    child.once('close', (code) => resolve({ code, stdout, stderr }));
    child.stdin.end(script);
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
