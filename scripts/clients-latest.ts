import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { listSessions, readTurns } from '../src/app/sessions/transcripts.ts';
import { type ClientName, PACKAGES, programIn } from '../test/clients/installed-clients.ts';
import { ScratchFolder } from '../test/projects/scratch-folder.ts';
import { playSession, recordingOf } from '../test/sessions/recorder.ts';
import { OWN_SCRIPTS } from '../test/sessions/scripts-own.ts';
import { PLAIN_SCRIPTS } from '../test/sessions/scripts-plain.ts';

/**
 * Reports how the newest versions of the coding agents changed their transcripts: `npm run clients:latest [client…]`.
 * Installs them from npm next to the pinned versions, records one session with each, and compares it with the recording
 * of the pinned version: new or missing fields, lines that the reader does not know, and missing turns. Exits with 1 if
 * a reader must change. CI does not run it.
 */

const FOLDER = resolve(import.meta.dirname, '../node_modules/.cache/clients-latest');
const selectedNames = process.argv.slice(2);
let broken = false;

for (const name of Object.keys(PACKAGES) as ClientName[]) {
  if (selectedNames.length > 0 && !selectedNames.includes(name)) continue;
  const [package_, pinned] = PACKAGES[name];
  const version = installLatest(package_);
  console.log(`${name}: ${pinned} is pinned, ${version ?? 'unknown'} is the newest`);
  if (version === null) {
    broken = true;
    continue;
  }
  const problems = await compare(name).catch((error: Error) => [
    `the session failed: ${error.message.slice(0, 400)}`,
  ]);
  for (const problem of problems) console.log(`  ${problem}`);
  broken ||= problems.some((problem) => !problem.startsWith('new field'));
}
process.exit(broken ? 1 : 0);

function installLatest(package_: string): string | null {
  mkdirSync(FOLDER, { recursive: true });
  if (!existsSync(join(FOLDER, 'package.json')))
    writeFileSync(join(FOLDER, 'package.json'), '{ "private": true }\n');
  const args = ['install', '--no-audit', '--no-fund', `${package_}@latest`];
  const { status } = spawnSync('npm', args, {
    cwd: FOLDER,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 600_000,
  });
  const manifest = join(FOLDER, 'node_modules', package_, 'package.json');
  return status === 0 ? JSON.parse(readFileSync(manifest, 'utf8')).version : null;
}

async function compare(client: ClientName): Promise<string[]> {
  const script = [...OWN_SCRIPTS, ...PLAIN_SCRIPTS].find((each) => each.client === client)!;
  using folder = new ScratchFolder();
  for (const [path, text] of Object.entries(script.files)) folder.write(path, text);
  folder.git('init', '-q', '-b', 'main');
  folder.git('add', '.');
  folder.git('commit', '-qm', 'begin');
  await playSession(client, programIn(FOLDER, client), folder, script.exchanges);
  const problems: string[] = [];
  const [session] = await listSessions({ home: folder.home, env: {} }, { folder: folder.path });
  if (session === undefined) return ['no transcript was found'];
  const tally = { skipped: 0 };
  const turns = await Array.fromAsync(readTurns(session, tally));
  const count = (who: string) => turns.filter((turn) => turn.who === who).length;
  const steps = script.exchanges.reduce((sum, exchange) => sum + exchange.steps.length, 0);
  if (tally.skipped > 0) problems.push(`${tally.skipped} lines were not understood`);
  if (count('user') !== script.exchanges.length)
    problems.push(`${count('user')} prompts were read, not ${script.exchanges.length}`);
  if (count('tool') !== steps) problems.push(`${count('tool')} tool calls were read, not ${steps}`);
  if (!turns.some(({ tool }) => tool?.failed && tool.exit))
    problems.push('no exit code of a failed command was read');
  if (!turns.some(({ tool }) => tool?.files.some(({ how }) => how !== 'read')))
    problems.push('no changed file was read');
  const recorded = join(import.meta.dirname, '../test/sessions/recordings', `${script.name}.json`);
  const before = fieldsOf(
    Object.values(JSON.parse(readFileSync(recorded, 'utf8')).files as Record<string, string>),
  );
  const after = fieldsOf(Object.values(recordingOf(client, folder)));
  for (const field of before) if (!after.has(field)) problems.push(`missing field ${field}`);
  for (const field of after) if (!before.has(field)) problems.push(`new field ${field}`);
  return problems;
}

/** Returns the paths of all fields in the lines of a transcript. Each path begins with the type of the line. */
function fieldsOf(files: readonly string[]): Set<string> {
  const fields = new Set<string>();
  const note = (value: unknown, path: string, depth: number): void => {
    if (Array.isArray(value)) for (const item of value) note(item, `${path}[]`, depth);
    else if (typeof value === 'object' && value !== null && depth < 4)
      for (const [key, inner] of Object.entries(value)) {
        // Replace keys that are file names or ids, because they differ in every session.
        const name = /[/\\]|\d{3}/.test(key) ? '*' : key;
        fields.add(`${path}.${name}`);
        note(parsed(inner), `${path}.${name}`, depth + 1);
      }
  };
  for (const text of files)
    for (const line of text.trimStart().startsWith('[') ? [text] : text.split('\n')) {
      const value = parsed(line) as { type?: unknown } | string;
      if (typeof value === 'object') note(value, typeof value.type === 'string' ? value.type : 'line', 0);
    }
  return fields;
}

/** Parses a text if it is JSON, such as a database column of OpenCode. Returns other values unchanged. */
function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^[{[]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
