/**
 * Creates a fixture: a home folder with all kinds of data. `node test/pins/make-store.ts OUT_FOLDER NAME` writes
 * `NAME.home.gz` (the home) and `NAME.json` (its answers) into that folder.
 *
 * The fixtures in test/fixtures are never recreated. Every later version must open them and give the same answers. Version 0.1.0
 * created `store-v1`, without `fillSpaces`. The last version before 0.3.0 created `store-v2`. This script documents how they
 * were created, and creates the next one.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { startFakeModel } from '../../examples/fake-model.ts';
import { relay } from '../cli/program.ts';
import { fillSpaces } from './fill-spaces.ts';
import { asHolder, fillChannels, fillPointers, fillTasks, type Keys, type Names } from './fill-store.ts';
import { fillThreads } from './fill-threads.ts';
import { type Asked, type Fixture, recordAnswer } from './store-answers.ts';
import { packFolder, serveHome, unpackFolder } from './store-home.ts';
import { questionsAbout } from './store-questions.ts';

const CONFIG = { public_url: 'https://relay.example', auth: 'keys', group_lease: 3600 };

const PIPELINE = `name: two
agents: { sh: { shell: true }, up: { shell: "tr a-z A-Z" } }
inputs: { word: tea }
steps:
  - { id: first, agent: sh, prompt: 'echo "{{ inputs.word }} of $RELAY_STEP_ID"' }
  - { id: second, agent: up, prompt: "{{ steps.first.output }}!" }
`;

const [out, fixtureName] = process.argv.slice(2);
if (out === undefined || fixtureName === undefined)
  throw new Error('Usage: node test/pins/make-store.ts OUT_FOLDER NAME');
const scratch = mkdtempSync(join(tmpdir(), 'relay-make-store-'));
try {
  const [home, copy, desk] = ['home', 'copy', 'desk'].map((name) => join(scratch, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [home, desk]) mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(home, 'config.json'), `${JSON.stringify(CONFIG, null, 2)}\n`);
  const names: Names = {};
  const keys = await makeKeys(home, desk);
  await pushByCommand(home, desk, names);
  {
    await using served = await serveHome(home);
    const [ann, acme, ci] = ['ann', 'acme', 'ci'].map((name) => asHolder(served, keys[name]!));
    await fillPointers(ann!, acme!, names);
    await fillChannels(ann!, ci!, names);
    await fillThreads(ann!, names);
    await fillTasks(ann!, names);
    await fillSpaces(ann!, acme!, names);
  }
  await promptByCommand(home, desk, names);
  const leftoverFiles = readdirSync(home).filter((name) => /-(?:wal|shm)$/.test(name));
  if (leftoverFiles.length > 0) throw new Error(`The database was not closed: ${leftoverFiles.join(', ')}`);
  const packed = packFolder(home);
  const now = Date.now() + 1000;
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, `${fixtureName}.home.gz`), packed);
  unpackFolder(packed, copy);
  const holders = { ...keys, share: names['share-token']! };
  const answers = await answersOf(copy, now, holders, names);
  const fixture: Fixture = { now, keys: holders, names, asked: answers };
  writeFileSync(join(out, `${fixtureName}.json`), `${JSON.stringify(fixture, null, 2)}\n`);
  console.log(`${packed.byteLength} bytes, ${answers.length} answers`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** Runs one command line. */
async function command(home: string, cwd: string, args: string[], o: { stdin?: string; env?: object } = {}) {
  const ran = await relay(args, { home, cwd, stdin: o.stdin, env: { ...o.env } });
  if (ran.code !== 0) throw new Error(`relay ${args.join(' ')}: ${ran.stderr}`);
  return ran.stdout;
}

async function makeKeys(home: string, desk: string): Promise<Keys> {
  const create = async (...args: string[]) =>
    JSON.parse(await command(home, desk, ['keys', 'create', ...args, '--json']));
  const all = 'push,pull,subscribe,threads,files,tasks,admin';
  const root = await create('root', '--scopes', all);
  const ann = await create('ann');
  const ci = await create('ci', '--scopes', 'push,subscribe', '--channel-prefix', 'builds.');
  const gone = await create('gone');
  await command(home, desk, ['keys', 'revoke', gone.id]);
  const brief = await create('brief', '--expires', '30d');
  const turned = await create('turned', '--scopes', 'pull');
  const next = JSON.parse(await command(home, desk, ['keys', 'rotate', turned.id, '--json']));
  const acme = await create('ops', '--tenant', 'acme', '--plan', 'pro', '--scopes', all);
  const createdKeys = { root, ann, ci, gone, brief, turned, next, acme };
  return Object.fromEntries(Object.entries(createdKeys).map(([name, { key }]) => [name, key as string]));
}

/**
 * Pushes three payloads: one encrypted with a key in the URL, one encrypted with the shared key of a channel, and a
 * plain one. The client encrypts them.
 */
async function pushByCommand(home: string, desk: string, names: Names): Promise<void> {
  const push = (stdin: string, ...args: string[]) =>
    command(home, desk, ['push', '--ttl', '30d', ...args], { stdin });
  names.encrypted = (await push('nobody but us knows', '--encrypt', '--meta', 'kind=secret')).trim();
  names['channel-key'] = (await command(home, desk, ['channel', 'key', 'new', 'sealed'])).trim();
  names.sealed = (await push('sealed to the channel', '--encrypt', '--channel', 'sealed')).trim();
  names.local = (await push('pushed without a server', '--name', 'note.txt')).trim();
}

/** Runs a prompt against a fake provider, the same prompt from the cache, and a pipeline. */
async function promptByCommand(home: string, desk: string, names: Names): Promise<void> {
  await using model = await startFakeModel(() => 'All is well.');
  const { env } = model;
  const args = ['run', 'How is it going?', '--cache', '--json'];
  const first = JSON.parse(await command(home, desk, [...args, '--new'], { env }));
  names.prompted = first.thread_id;
  await command(home, desk, args, { env });
  writeFileSync(join(desk, 'two.yaml'), PIPELINE);
  const ran = JSON.parse(await command(home, desk, ['pipeline', 'run', 'two.yaml', '--json']));
  names.run = ran.run;
}

/** Serves the home at a fixed time and records its answers. */
async function answersOf(home: string, now: number, keys: Keys, names: Names): Promise<Asked[]> {
  mock.timers.enable({ apis: ['Date'], now });
  await using served = await serveHome(home);
  const answers: Asked[] = [];
  for (const question of questionsAbout(names)) answers.push(await recordAnswer(served, keys, question));
  return answers;
}
