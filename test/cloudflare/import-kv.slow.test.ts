import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { shell, temporaryHome } from '../cli/program.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';

const SCRIPT = join(import.meta.dirname, '..', '..', 'scripts', 'cloudflare', 'import-kv.ts');

let relay: RelayUnderTest;
let client: ContextRelay;
const { home, [Symbol.dispose]: remove } = temporaryHome();
before(async () => {
  relay = await startRelay();
  client = new ContextRelay({ baseUrl: relay.url });
});
after(async () => {
  await relay[Symbol.asyncDispose]();
  remove();
});

const run = (args: string) => shell(`${process.execPath} ${SCRIPT} ${args}`, { home });

/** Runs the import with these files and returns the new URLs by key. */
async function imported(files: { readonly [name: string]: unknown }, args = Object.keys(files).join(' ')) {
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(home, name), typeof content === 'string' ? content : JSON.stringify(content));
  const { code, stdout, stderr } = await run(`${args} --to ${relay.url}`);
  const moved = new Map(
    stdout.split('\n').flatMap((line) => (line ? [line.split('\t') as [string, string]] : [])),
  );
  return { code, moved, keys: [...moved.keys()].join(' '), stderr };
}

const stored = (data: string) => JSON.stringify({ data, metadata: { summary: 's' } });
const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;

test('entries of the original Worker are imported with their metadata', async () => {
  const { code, moved, keys, stderr } = await imported({
    'export.json': [
      { key: 'a', value: stored('kept') },
      { key: 'b', value: 'bare text of an older version' },
      { key: 'keyhash:0', value: '{}' },
    ],
  });
  assert.deepEqual([code, keys], [0, 'a b']);
  assert.equal(stderr, '2 imported, 0 failed, 1 skipped (keys of the managed service)\n');
  assert.equal(await client.pull(moved.get('a')!), 'kept');
  assert.deepEqual(await client.peek(moved.get('a')!), { summary: 's' });
  assert.equal(await client.pull(moved.get('b')!), 'bare text of an older version');
});

test('the output of wrangler by key works too, also with values that are already JSON', async () => {
  const { code, moved, stderr } = await imported({
    'export.json': {
      a: { value: stored('wrapped') },
      b: stored('not wrapped'),
      c: { value: { data: 'read', metadata: { summary: 's' } }, metadata: null },
      d: { data: 'read, not wrapped', metadata: {} },
      e: { value: { of: ['some', 'program'] } },
      gone: { value: null },
    },
  });
  assert.deepEqual([code, stderr], [0, '5 imported, 0 failed, 1 skipped (no value)\n']);
  const pulled = await Promise.all([...moved].map(async ([key, url]) => [key, await client.pull(url)]));
  assert.deepEqual(Object.fromEntries(pulled), {
    a: 'wrapped',
    b: 'not wrapped',
    c: 'read',
    d: 'read, not wrapped',
    e: '{"of":["some","program"]}',
  });
  assert.deepEqual(await client.peek(moved.get('c')!), { summary: 's' });
});

test('values in base64 are decoded, and invalid base64 is reported', async () => {
  const { code, moved, keys, stderr } = await imported({
    'export.json': [
      { key: 'a', value: Buffer.from(stored('grüße')).toString('base64'), base64: true },
      { key: 'b', value: Buffer.from([0xff, 0x00]).toString('base64'), base64: true },
      { key: 'c', value: '***', base64: true },
    ],
  });
  assert.deepEqual([code, keys], [1, 'a b']);
  assert.equal(stderr, 'c: the value is marked as base64 but is not base64\n2 imported, 1 failed\n');
  assert.equal(await client.pull(moved.get('a')!), 'grüße');
  assert.deepEqual(await client.pullBytes(moved.get('b')!), new Uint8Array([0xff, 0x00]));
});

test('an entry keeps its expiration, and an expired entry is skipped', async () => {
  const { code, moved, keys, stderr } = await imported(
    {
      'export.json': [
        { key: 'a', value: 'x', expiration: inSeconds(600) },
        { key: 'b', value: 'x', expiration: inSeconds(-1) },
      ],
      'more.json': { c: { value: 'x' }, d: { value: 'x' }, e: { value: 'x' } },
      'keys.json': [
        { name: 'c', expiration: inSeconds(1200) },
        { name: 'd', expiration: inSeconds(-1) },
        { name: 'e' },
      ],
    },
    'export.json more.json --list keys.json',
  );
  assert.deepEqual([code, keys, stderr], [0, 'a c e', '3 imported, 0 failed, 2 skipped (expired)\n']);
  for (const [key, seconds] of [
    ['a', 600],
    ['c', 1200],
    ['e', 86_400],
  ] as const) {
    const { expires_at } = await client.inspect(moved.get(key)!);
    const left = (Date.parse(expires_at!) - Date.now()) / 1000;
    assert.ok(left > seconds - 60 && left <= seconds, `${key}: ${left}`);
  }
});

test('a file without entries to import prints one line and exits with 1', async () => {
  for (const [content, why] of [
    [[{ name: 'a', expiration: 1 }], /lists keys without values: "wrangler kv bulk get/],
    [[{ key: 'a' }], /item 0/],
    ['5', /neither a list nor an object/],
    ['null', /neither a list nor an object/],
    ['{"a": ', /is not JSON/],
    [[], /^0 imported, 0 failed$/],
    [[{ key: 'keyhash:0', value: '{}' }], /^0 imported, 0 failed, 1 skipped/],
  ] as const) {
    const { code, stderr, keys } = await imported({ 'export.json': content });
    assert.deepEqual([code, keys], [1, ''], stderr);
    assert.match(stderr.replace(/\n$/, ''), why);
    assert.ok(!stderr.slice(0, -1).includes('\n'), stderr);
  }
});

test('wrong usage, a missing file and an unreachable relay print one line, and --help prints help', async () => {
  writeFileSync(
    join(home, 'export.json'),
    JSON.stringify([
      { key: 'a', value: 'x' },
      { key: 'b', value: 'x' },
    ]),
  );
  for (const [args, status, why] of [
    ['', 2, /No file was given/],
    ['export.json --nope', 2, /--nope/],
    ['export.json --to nowhere', 2, /--to: it must be an http/],
    ['missing.json', 1, /missing\.json/],
    ['export.json --list missing.json', 1, /missing\.json/],
    ['export.json --to http://127.0.0.1:9', 1, /127\.0\.0\.1:9/],
  ] as const) {
    const { code, stdout, stderr } = await run(args);
    assert.deepEqual([code, stdout], [status, ''], args + stderr);
    assert.match(stderr, why);
    assert.match(stderr, /^[^\n]+\n$/);
  }
  const { code, stdout } = await run('--help');
  assert.equal(code, 0);
  assert.match(stdout, /Example\n {2}npm run import:cloudflare -- export\.json/);
});
