import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { NODE } from '../cli/program.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';

const MIB = 1024 * 1024;
const SIZE = 700 * MIB;

/** Program that reads the newest session and prints the number of turns and the peak memory in KiB. */
const PROGRAM = `
import { findSession, readTurns } from '${resolve(import.meta.dirname, '../../src/app/sessions/transcripts.ts')}';
import { quoteSession } from '${resolve(import.meta.dirname, '../../src/client/sessions/evidence.ts')}';
const [home, folder] = process.argv.slice(1);
const session = await findSession({ home, env: {} }, undefined, folder);
let turns = 0;
const counted = async function* (of) { for await (const turn of readTurns(of)) { turns++; yield turn; } };
const { parts } = await quoteSession(session, { find: async () => null, turns: counted });
console.log(JSON.stringify({ turns, parts: parts.length, memory: process.resourceUsage().maxRSS }));
`;

test('a transcript of 700 MB is read in bounded memory, and a line of 20 MB is skipped', (t) => {
  using folder = new ScratchFolder();
  const projects = join(folder.home, '.claude/projects', folder.path.replace(/[^a-zA-Z0-9]/g, '-'));
  mkdirSync(projects, { recursive: true });
  const file = openSync(join(projects, '01234567-0123-0123-0123-012345678901.jsonl'), 'w');
  const base = { cwd: folder.path, sessionId: 's', timestamp: '2026-11-18T12:00:00.000Z' };
  let last: string | null = null;
  let number = 0;
  let size = 0;
  const write = (line: object) => {
    const uuid = `u${++number}`;
    size += writeSync(file, `${JSON.stringify({ parentUuid: last, uuid, ...base, ...line })}\n`);
    last = uuid;
  };
  const prompt = (content: string) =>
    write({ type: 'user', promptId: 'p', message: { role: 'user', content } });
  prompt('Read everything.');
  const output = 'a line of a long output\n'.repeat(10_000);
  let calls = 0;
  while (size < SIZE) {
    const id = `call_${++calls}`;
    const use = { type: 'tool_use', id, name: 'Bash', input: { command: `make ${calls}` } };
    write({ type: 'assistant', message: { model: 'm', content: [use], usage: {} } });
    write({
      type: 'user',
      message: { content: [{ type: 'tool_result', tool_use_id: id, content: output }] },
    });
  }
  prompt('x'.repeat(20 * MIB));
  prompt('Stop.');
  closeSync(file);
  const args = ['--input-type=module', '-e', PROGRAM, folder.home, folder.path];
  const { turns, parts, memory } = JSON.parse(
    execFileSync(NODE, args, { encoding: 'utf8', timeout: 300_000 }),
  );
  assert.equal(turns, calls + 2);
  assert.equal(parts, 2);
  t.diagnostic(`${Math.round(memory / 1024)} MB`);
  assert.ok(memory < 400 * 1024, `${Math.round(memory / 1024)} MB`);
});
