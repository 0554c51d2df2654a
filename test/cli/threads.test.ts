import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Running, serve, start } from '../channels/programs.ts';
import { runHere } from './in-process.ts';
import { type Ran, temporaryHome } from './program.ts';

const place = temporaryHome();
const far = temporaryHome();
const { home } = place;
let server: Running & { url: string };
before(async () => {
  server = await serve(home);
  for (const { home: folder } of [place, far]) {
    writeFileSync(join(folder, 'notes.md'), '# My Notes\nHello, relay.\n');
  }
});
after(async () => {
  await server[Symbol.asyncDispose]();
  place[Symbol.dispose]();
  far[Symbol.dispose]();
});

type Way = { home: string; env?: Record<string, string> };

/** Two ways to run a command: directly on the store of this home, or from an empty home through a server. */
const ways = (): [string, Way][] => [
  ['local', { home }],
  ['remote', { home: far.home, env: { CONTEXTRELAY_URL: server.url } }],
];

async function succeed(args: readonly string[], at: Way, stdin?: string): Promise<Ran> {
  const ran = await runHere(args, { ...at, stdin });
  assert.equal(ran.code, 0, `relay ${args.join(' ')}: ${ran.stderr}`);
  return ran;
}

const stdoutOf = async (args: readonly string[], at: Way, stdin?: string) =>
  (await succeed(args, at, stdin)).stdout.trimEnd();
const jsonOf = async (args: readonly string[], at: Way) => JSON.parse((await succeed(args, at)).stdout);
const add = (path: string, value: object) => JSON.stringify([{ op: 'add', path, value }]);

test('the quickstart works as documented, on the store and over the server', async () => {
  for (const [name, at] of ways()) {
    const id = await stdoutOf(['thread', 'new', '--name', `run ${name}`], at);
    assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    const ref = await stdoutOf(['artifact', 'put', 'notes.md', '--thread', id, '--type', 'markdown'], at);
    assert.match(ref, /^[0-9a-f]{26}$/);
    const result = await succeed(['artifact', 'get', ref, '--thread', id], at);
    assert.equal(result.stdout, '# My Notes\nHello, relay.\n');
    assert.equal(result.stderr, '');

    const fact = add('/facts/-', { id: 'f1', key: 'db', value: 'SQLite' });
    assert.equal(await stdoutOf(['state', 'patch', '--thread', id, '--json', fact], at), 'v3');
    const header = JSON.parse(await stdoutOf(['state', 'header', '--thread', id], at));
    assert.deepEqual([header.version, header.top_facts[0].key], [3, 'db']);
    assert.equal(header.artifact_refs[0].ref, ref);
    const text = await stdoutOf(['state', 'header', '--text', '--thread', id], at);
    assert.equal(text, `/facts:\ndb: SQLite\n/artifacts:\n${ref} notes.md (markdown)`);

    assert.match(await stdoutOf(['runs'], at), new RegExp(`^${id} {2}\\S+ {2}run ${name}$`, 'm'));
    const output = await stdoutOf(['show', id], at);
    assert.match(output, new RegExp(`^thread_id +${id}\nname +run ${name}\n`));
    assert.match(output, /^ {2}db: SQLite$/m);
    const stats = await stdoutOf(['stats', id], at);
    assert.match(
      stats,
      /^ {2}artifacts +1\n {2}naive tokens \(if pasted\) +\d+\n {2}actual tokens \(via refs\)/,
    );
    assert.match(stats, /counted with o200k_base/);
    const report = await stdoutOf(['report', id], at);
    assert.match(report, new RegExp(`^# run ${name} ${id}\n`));
    assert.equal((await jsonOf(['report', id, '--format', 'json', '--json'], at)).format, 'json');
    assert.match(await stdoutOf(['replay', id], at), /replayed +same as the state$/);
  }
});

test('stats separates thousands, as all other commands do', async () => {
  for (const [, at] of ways()) {
    const id = await stdoutOf(['thread', 'new', 'large'], at);
    await stdoutOf(['artifact', 'put', '-', '--thread', id], at, 'lorem ipsum '.repeat(2000));
    assert.match(await stdoutOf(['stats', id], at), /naive tokens \(if pasted\) +\d,\d{3}$/m);
  }
});

test('the thread that was created or changed last is the default', async () => {
  for (const [, at] of ways()) {
    const first = await stdoutOf(['thread', 'new'], at);
    const second = await stdoutOf(['thread', 'new'], at);
    await succeed(['artifact', 'put', '-', '--name', 'a.txt'], at, 'a text');
    assert.equal((await jsonOf(['show', '--json'], at)).thread_id, second);
    assert.equal((await jsonOf(['artifact', 'list', '--json'], at)).artifacts[0].name, 'a.txt');
    // Reading another thread does not make it the default; changing it does.
    await succeed(['show', first], at);
    assert.equal((await jsonOf(['show', '--json'], at)).thread_id, second);
    await succeed(['state', 'patch', '-', '--thread', first], at, add('/plan/-', { id: 'p', step: 's' }));
    assert.equal((await jsonOf(['show', '--json'], at)).thread_id, first);
    const forShell = { ...at, env: { ...at.env, RELAY_THREAD: second } };
    assert.equal((await jsonOf(['stats', '--json'], forShell)).thread_id, second);
    await succeed(['thread', 'use', second], at);
    assert.equal((await jsonOf(['stats', '--json'], at)).thread_id, second);
    await succeed(['thread', 'rm', second], at);
    const lost = await runHere(['show'], at);
    assert.equal(lost.code, 2);
    assert.match(lost.stderr, /no default thread yet.*relay thread new/s);
  }
});

test('an id may be shortened, and an ambiguous one is rejected with all matches', async () => {
  const at = { home };
  const ids: string[] = [];
  for (let i = 0; i < 17; i++) ids.push(await stdoutOf(['thread', 'new', '--name', `n${i}`], at));
  const last = ids.at(-1)!;
  assert.equal((await jsonOf(['show', last.slice(0, 20), '--json'], at)).thread_id, last);
  assert.equal((await jsonOf(['show', last.slice(0, 20).toUpperCase(), '--json'], at)).thread_id, last);
  assert.equal((await jsonOf(['show', 'n3', '--json'], at)).thread_id, ids[3]);
  // There are 16 hex digits, so at least two of seventeen ids start with the same digit.
  const twins = ids.filter((id) => ids.some((other) => other !== id && other[0] === id[0]));
  const many = await runHere(['show', twins[0]![0]!], at);
  assert.equal(many.code, 2);
  assert.match(many.stderr, /matches several threads:\n {2}[0-9a-f-]{36} n?\w*\n/);
  const short = await runHere(['thread', 'rm', last.slice(0, 3)], at);
  assert.equal(short.code, 2);
  const none = await runHere(['show', 'zzz'], at);
  assert.deepEqual([none.code, none.stdout], [3, '']);

  const ref = await stdoutOf(['artifact', 'put', 'notes.md'], at);
  assert.equal(await stdoutOf(['artifact', 'get', ref.slice(0, 20)], at), '# My Notes\nHello, relay.');
  assert.equal(await stdoutOf(['artifact', 'get', 'notes.md', '--preview'], at), '# My Notes\nHello, relay.');
  assert.equal(await stdoutOf(['artifact', 'get', 'notes.md', '--lines', '2'], at), 'Hello, relay.');
  assert.equal(await stdoutOf(['artifact', 'get', ref, '--grep', 'hello', '-i'], at), '2:Hello, relay.');
  assert.equal((await jsonOf(['artifact', 'get', ref, '--lines', '1', '--json'], at)).text, '# My Notes');
  assert.equal((await runHere(['artifact', 'get', ref, '--lines', '1', '--outline'], at)).code, 2);
  assert.equal((await runHere(['artifact', 'get', 'other.md'], at)).code, 3);
  await succeed(['artifact', 'get', ref, '--out', 'copy.md'], at);
  const leaked = await stdoutOf(['artifact', 'put', '-', '--name', '.env'], at, 'TOKEN=1');
  assert.equal(await stdoutOf(['artifact', 'rm', '.env'], at), `deleted ${leaked}`);
  assert.equal((await runHere(['artifact', 'get', leaked], at)).code, 3);
  assert.equal(readFileSync(join(home, 'copy.md'), 'utf8'), '# My Notes\nHello, relay.\n');
});

test('a state is patched, compared and read at any version; a rejected patch changes nothing', async () => {
  for (const [, at] of ways()) {
    await succeed(['thread', 'new'], at);
    const patch = ['state', 'patch'];
    writeFileSync(join(at.home, 'patch.json'), add('/facts/-', { id: 'f1', key: 'k', value: 1 }));
    assert.equal(await stdoutOf([...patch, 'patch.json'], at), 'v2');
    const answer = await succeed(
      [...patch, '--json', add('/facts/-', { id: 'f2', key: 'k', value: 2 }), '--output', 'json'],
      at,
    );
    assert.deepEqual(JSON.parse(answer.stdout).state_ref, 'v3');
    assert.equal(await stdoutOf([...patch, '--json', '-'], at, add('/plan/-', { id: 'p', step: 's' })), 'v4');

    const stale = await runHere([...patch, '--if-match', 'v2', '--json', '[]'], at);
    assert.equal(stale.code, 1);
    assert.match(stale.stderr, /at v4, not at v2/);
    const broken = await runHere([...patch, '--json', add('/facts/-', { key: 1 })], at);
    assert.equal(broken.code, 1);
    assert.match(broken.stderr, /\/facts\/2.*Nothing was changed/);
    for (const args of [['--json', '[oops'], [], ['--json', '[]', 'patch.json']]) {
      assert.equal((await runHere([...patch, ...args], at)).code, 2, args.join(' '));
    }

    assert.equal((await jsonOf(['state', 'get', '--json'], at)).version, 4);
    assert.equal(JSON.parse(await stdoutOf(['state', 'get', '--at', 'v2'], at)).facts.length, 1);
    assert.equal(await stdoutOf(['state', 'get', '/facts/1/value'], at), '2');
    for (const path of ['/facts/7', '/facts/length'])
      assert.equal((await runHere(['state', 'get', path], at)).code, 3);
    assert.match(await stdoutOf(['state', 'diff'], at), /^add \/plan\/0 \{"id":"p","step":"s"\}$/);
    assert.match(await stdoutOf(['state', 'diff', '--at', 'v3'], at), /^add \/facts\/1 \{"id":"f2"/);
    const back = await jsonOf(['state', 'diff', 'v4', 'v3', '--json'], at);
    assert.deepEqual([back.from, back.to, back.ops], ['v4', 'v3', [{ op: 'remove', path: '/plan/0' }]]);
    assert.equal((await runHere(['state', 'diff', 'v1', 'v9'], at)).code, 3);
    const log = (await stdoutOf(['state', 'log'], at)).split('\n');
    assert.deepEqual(
      log.map((line) => line.split(' ')[0]),
      ['v4', 'v3', 'v2', 'v1'],
    );
    const { versions } = await jsonOf(['state', 'log', '--at', 'v3', '-n', '1', '--json'], at);
    assert.deepEqual([versions.length, versions[0].state_ref], [1, 'v3']);
    assert.match(await stdoutOf(['state', 'compact'], at), /^v\d+$/);
  }
});

test('events are tailed, and followed as they happen', async () => {
  for (const [, at] of ways()) {
    const id = await stdoutOf(['thread', 'new', '--name', 'tailed'], at);
    await using following = start(['tail', id, '--follow', '--json'], at);
    await following.waitForOutput(/"type":"thread.created"/);
    await succeed(['artifact', 'put', 'notes.md'], at);
    await following.waitForOutput(/"type":"artifact.created"/);
    following.child.kill('SIGINT');
    assert.equal(await following.ended, 0);
    const lines = (await stdoutOf(['tail', id], at)).split('\n');
    assert.match(lines[0]!, /#1 thread\.created {2}v1 · tailed {2}by \S+$/);
    assert.match(lines[1]!, /#2 artifact\.created {2}v2 · notes\.md · markdown · 25 bytes · [0-9a-f]{26}/);
    assert.match(await stdoutOf(['tail', '-n', '1'], at), /^\S+ #2 [^\n]*$/);
    const all = (await stdoutOf(['tail', '--all', '--json'], at)).split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(
      all.map((event) => event.id),
      ['1', '2'],
    );
  }
});

test('capabilities are listed and invoked, and artifacts are searched', async () => {
  for (const [, at] of ways()) {
    await succeed(['thread', 'new'], at);
    const ref = await stdoutOf(['artifact', 'put', 'notes.md'], at);
    assert.match(
      await stdoutOf(['artifact', 'search', 'hello', 'relay'], at),
      new RegExp(`^${ref} {2}notes\\.md:1\n`),
    );
    assert.match(await stdoutOf(['cap', 'list'], at), /^retrieval\.search .*\n {4}query \(string\)/s);
    const invoke = ['cap', 'invoke', 'retrieval.search', '--json', '{"query":"hello"}'];
    assert.match(
      await stdoutOf(invoke, at),
      new RegExp(`^artifact_ref {2}[0-9a-f]{26}\n.*"ref": "${ref}"`, 's'),
    );
    const again = await succeed([...invoke, '--output', 'json'], at);
    assert.equal(JSON.parse(again.stdout).cache_hit, true);
    assert.match(await stdoutOf(['stats'], at), /^ {2}cache hits +1$/m);
    assert.equal((await runHere(['cap', 'invoke', 'no.such'], at)).code, 3);
    assert.equal((await runHere(['cap', 'invoke', 'retrieval.search', '--json', '{}'], at)).code, 2);
    assert.equal((await runHere(['cap', 'invoke', 'retrieval.search', '--json', '[]'], at)).code, 2);
    assert.equal((await jsonOf(['stats', '--all', '--json'], at)).tokenizer, 'o200k_base');
  }
});
