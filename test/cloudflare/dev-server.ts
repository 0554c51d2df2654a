import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { cleanEnv } from '../cli/program.ts';
import { until } from '../until.ts';

export const SCRIPTS = join(import.meta.dirname, '..', '..', 'scripts', 'cloudflare');

/** Starts `npm run dev:cloudflare` on a free port with its own temporary folder. */
export async function startDev(t: TestContext, args: string[] = [], env: { [name: string]: string } = {}) {
  const temporary = mkdtempSync(join(tmpdir(), 'relay-dev-'));
  t.after(() => rmSync(temporary, { recursive: true, force: true }));
  const program = spawn(process.execPath, [join(SCRIPTS, 'dev.ts'), '--port', '0', ...args], {
    env: { ...cleanEnv({ home: temporary }), ...env, TMPDIR: temporary },
  });
  t.after(() => program.kill());
  const said = { out: '', errors: '' };
  program.stdout.on('data', (chunk) => {
    said.out += chunk;
  });
  program.stderr.on('data', (chunk) => {
    said.errors += chunk;
  });
  await until(() => /listening on .*\n/.test(said.out) || program.exitCode !== null);
  assert.equal(program.exitCode, null, said.errors);
  const url = /listening on (http:[^,]+)/.exec(said.out)![1]!;
  return { url, said, temporary, program };
}
