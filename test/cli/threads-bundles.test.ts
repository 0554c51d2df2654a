import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runHere } from './in-process.ts';
import { shell, temporaryHome } from './program.ts';

const place = temporaryHome();
const { home } = place;
after(() => place[Symbol.dispose]());
const at = { home };

async function stdoutOf(
  args: readonly string[],
  o: { home: string; stdin?: Uint8Array } = at,
): Promise<string> {
  const { code, stdout, stderr } = await runHere(args, { ...o, cwd: home });
  assert.equal(code, 0, `relay ${args.join(' ')}: ${stderr}`);
  return stdout.trimEnd();
}

test('init creates configuration and store, and keeps existing ones', async () => {
  const fresh = join(home, 'fresh');
  const first = JSON.parse(await stdoutOf(['init', '--json', '--home', fresh]));
  assert.deepEqual(first, { home: fresh, config: join(fresh, 'config.json'), config_written: true });
  assert.ok(existsSync(join(fresh, 'relay.db')));
  assert.deepEqual(JSON.parse(readFileSync(first.config, 'utf8')), { host: '127.0.0.1', port: 7474 });
  writeFileSync(first.config, '{"port": 7999}');
  assert.equal(JSON.parse(await stdoutOf(['init', '--json', '--home', fresh])).config_written, false);
  assert.equal(readFileSync(first.config, 'utf8'), '{"port": 7999}');
  if (process.platform !== 'win32') assert.equal(statSync(fresh).mode & 0o777, 0o700);
});

test('an exported thread is imported on another store with the same state, artifacts and hash', async () => {
  const id = await stdoutOf(['thread', 'new', '--name', 'carried']);
  const content = Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * 31) % 256));
  const ref = await stdoutOf(['artifact', 'put', '-', '--name', 'data.bin'], { home, stdin: content });
  const fact = '[{"op":"add","path":"/facts/-","value":{"id":"f","key":"k","value":"v"}}]';
  await stdoutOf(['state', 'patch', '--json', fact]);
  await stdoutOf(['export', '--thread', id.slice(0, 12), '--out', 'bundle.zip']);
  const otherHome = { home: join(home, 'elsewhere') };
  assert.equal(await stdoutOf(['import', 'bundle.zip'], otherHome), id);
  const [original, copy] = [
    await stdoutOf(['replay', id, '--json']),
    await stdoutOf(['replay', '--json'], otherHome),
  ];
  assert.equal(copy, original);
  const result = await runHere(['artifact', 'get', ref], { ...otherHome, cwd: home });
  assert.deepEqual(result.bytes, content);
  assert.equal(
    await stdoutOf(['tail', '--all', '--json', '-t', id], otherHome).then((t) => t.split('\n').length > 3),
    true,
  );

  const again = await runHere(['import', 'bundle.zip'], { ...otherHome, cwd: home });
  assert.equal(again.code, 1);
  assert.match(again.stderr, /already exists/);
  const piped = await shell(`$relay export ${id} | $relay import - --home piped`, { home });
  assert.deepEqual([piped.code, piped.stdout.trim()], [0, id]);
});

test('an export lists damaged artifacts and contains the rest', async () => {
  const id = await stdoutOf(['thread', 'new', '--name', 'damaged']);
  const put = (name: string) =>
    stdoutOf(['artifact', 'put', '-', '--name', name], { home, stdin: Buffer.from(name) });
  const [whole, missing, edited] = [await put('whole.txt'), await put('gone.txt'), await put('edited.txt')];
  const folder = join(home, 'threads', id, 'artifacts');
  rmSync(join(folder, `${missing}.txt`));
  writeFileSync(join(folder, `${edited}.txt`), 'another content');
  const run = await runHere(['export', id, '--out', 'rest.zip', '--json'], { home, cwd: home });
  assert.equal(run.code, 1);
  const { out, damaged } = JSON.parse(run.stdout);
  assert.deepEqual([out, damaged], [join(home, 'rest.zip'), [missing, edited]]);
  for (const ref of [missing, edited]) assert.match(run.stderr, new RegExp(ref));
  const otherHome = { home: join(home, 'salvaged') };
  const imported = await runHere(['import', 'rest.zip', '--json'], { ...otherHome, cwd: home });
  assert.equal(imported.code, 0, imported.stderr);
  assert.deepEqual(JSON.parse(imported.stdout).damaged, [missing, edited]);
  assert.match(imported.stderr, /has no content/);
  assert.equal(await stdoutOf(['artifact', 'get', whole], otherHome), 'whole.txt');
  assert.equal((await runHere(['artifact', 'get', missing], otherHome)).code, 3);
});

test('a file that is not a bundle is rejected, and nothing is stored', async () => {
  const empty = { home: join(home, 'refusing') };
  writeFileSync(join(home, 'not.zip'), 'not a zip at all');
  const refused = await runHere(['import', 'not.zip'], { ...empty, cwd: home });
  assert.equal(refused.code, 4);
  assert.match(refused.stderr, /Nothing was imported/);
  assert.equal(await stdoutOf(['runs'], empty), '');
  assert.equal((await runHere(['import'], { ...empty, cwd: home })).code, 2);
  assert.equal((await runHere(['import', 'missing.zip'], { ...empty, cwd: home })).code, 1);
});

const OLD = '550e8400-e29b-41d4-a716-446655440000';
const NOTES = '01914a2b3c4d5e6f7890abcdef';

/** Creates the home of a Go relay with a database and text files. */
function goRelay(): string {
  const dir = join(home, 'go-relay');
  const thread = join(dir, 'threads', OLD);
  mkdirSync(join(thread, 'artifacts'), { recursive: true });
  mkdirSync(join(dir, 'threads', 'empty'));
  writeFileSync(join(dir, 'config.json'), '{"provider": "anthropic"}');
  writeFileSync(join(dir, 'relay.db'), 'the database of another program');
  writeFileSync(join(thread, 'artifacts', `${NOTES}.md`), '# Notes\n');
  writeFileSync(join(thread, 'artifacts', 'abc123.json'), '{"a":1}\n');
  const state = {
    $schema: 'com.relay.state.v1',
    version: 7,
    thread_id: OLD,
    updated_at: '2026-01-02T03:04:05Z',
    facts: [{ id: 'f1', key: 'db', value: 'SQLite', at: '2026-01-01T00:00:00Z', by: 'ada' }],
    constraints: null,
    decisions: [{ id: 'd1', description: 'use it', reason_codes: null, evidence_refs: [NOTES, 'abc123'] }],
    plan: [{ id: 'p1' }],
    artifacts: [{ ref: NOTES, type: 'markdown', name: 'notes.md' }],
    metrics: { cache_hits: 3 },
  };
  writeFileSync(join(thread, 'state.json'), JSON.stringify(state, null, 2));
  const created = { id: 'e1', type: 'thread.created', timestamp: '2026-01-01T00:00:00Z' };
  const events = [
    JSON.stringify({ ...created, payload: { name: 'old run' } }),
    '2026-01-01T00:01:00Z patched',
  ];
  writeFileSync(join(thread, 'events.log'), `${events.join('\n')}\n`);
  return dir;
}

function fingerprint(dir: string): string {
  const hash = createHash('sha256');
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true }).sort((a, b) =>
    join(a.parentPath, a.name) < join(b.parentPath, b.name) ? -1 : 1,
  )) {
    const path = join(entry.parentPath, entry.name);
    hash.update(`${path} ${statSync(path).mtimeMs}\n`);
    if (entry.isFile()) hash.update(readFileSync(path));
  }
  return hash.digest('hex');
}

test('threads of a Go relay are imported with their ids, and its folder is not changed', async () => {
  const dir = goRelay();
  const before = fingerprint(dir);
  const otherHome = { home: join(home, 'moved') };
  const imported = JSON.parse(await stdoutOf(['import', '--legacy', dir, '--json'], otherHome));
  assert.equal(imported.imported, 1);
  assert.deepEqual([imported.threads.length, imported.threads[0].thread_id], [1, OLD]);
  const [renamed, ...notes] = imported.threads[0].notes;
  assert.match(renamed, /^artifact abc123 \(abc123\.json\) now has the ref [0-9a-f]{26}$/);
  assert.deepEqual(notes, [
    '6 versions of the state, v1 to v6, cannot be read; the previous version is used instead',
    'null and empty values of the state were dropped',
    '/plan/0 of the state is not valid and was dropped',
    'the old state.json is kept as the artifact legacy-state.json',
    'versions without an event, which got a new one: 6',
  ]);

  const state = JSON.parse(await stdoutOf(['state', 'get', '--thread', OLD], otherHome));
  assert.equal(state.version, 7);
  assert.deepEqual(state.facts, [
    { id: 'f1', key: 'db', value: 'SQLite', at: '2026-01-01T00:00:00Z', by: 'ada' },
  ]);
  const [unchanged, changed] = state.decisions[0].evidence_refs;
  assert.equal(unchanged, NOTES);
  assert.match(changed, /^[0-9a-f]{26}$/);
  assert.equal(await stdoutOf(['artifact', 'get', changed, '-t', OLD], otherHome), '{"a":1}');
  assert.equal(await stdoutOf(['artifact', 'get', 'notes.md', '-t', OLD], otherHome), '# Notes');
  const original = await stdoutOf(['artifact', 'get', 'legacy-state.json', '-t', OLD], otherHome);
  assert.equal(JSON.parse(original).version, 7);
  const output = await stdoutOf(['show', 'old run'], otherHome);
  assert.match(output, /created +2026-01-01T00:00:00\.000Z/);
  const events = await stdoutOf(['tail', OLD, '--all'], otherHome);
  assert.match(events, /legacy\.event {2}\{"line":"2026-01-01T00:01:00Z patched"\}/);
  assert.match(await stdoutOf(['replay', OLD], otherHome), /same as the state/);

  const again = JSON.parse(await stdoutOf(['import', '--legacy', dir, '--json'], otherHome));
  assert.deepEqual([again.imported, again.threads[0].outcome], [0, 'here already']);
  assert.equal(fingerprint(dir), before);
});

test('importing a Go relay from the home itself is rejected, even if its configuration is unreadable', async () => {
  const dir = join(home, 'go-relay');
  const refused = await runHere(['import', '--legacy', dir, '--home', dir], at);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /both the source and the target of the import/);
  assert.match(refused.stderr, /relay import --legacy \S+ --home \S+/);
  const listed = await runHere(['thread', 'list', '--home', dir], at);
  assert.equal(listed.code, 2);
  assert.match(listed.stderr, /relay import --legacy \S+ --home \S+/);
  const odd = join(home, "o'hara's relay");
  const quoted = await runHere(['import', '--legacy', odd, '--home', odd], at);
  assert.ok(quoted.stderr.includes(`relay import --legacy '${odd.replaceAll("'", `'\\''`)}' --home`));
  const nowhere = await runHere(['import', '--legacy', 'no-such-folder'], at);
  assert.equal(nowhere.code, 3);
});
