import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { relay, shell, temporaryHome } from './program.ts';

const place = temporaryHome();
const { home } = place;
after(() => place[Symbol.dispose]());

const file = (name: string, content: string | Uint8Array) => {
  const path = join(home, name);
  writeFileSync(path, content);
  return path;
};

async function push(content: string, ...flags: string[]): Promise<string> {
  const { code, stdout, stderr } = await relay(['push', ...flags], { home, stdin: content });
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

const URL_ALONE = /^http:\/\/127\.0\.0\.1:7474\/pull\/[0-9a-f-]{36}\n$/;

test('a file is pushed, peeked at, pulled and revoked', async () => {
  const path = file('notes.md', '# Notes\n\nüñí ☂\n');
  const pushed = await relay(['push', path, '--meta', 'topic=notes', '-m', 'pages:=3', '--name', 'n'], {
    home,
  });
  assert.equal(pushed.code, 0);
  assert.match(pushed.stdout, URL_ALONE);
  assert.equal(pushed.stderr, '');
  const url = pushed.stdout.trim();

  const peeked = await relay(['peek', url], { home });
  assert.equal(peeked.stdout, '{"topic":"notes","pages":3,"name":"n"}\n');

  const pulled = await relay(['pull', url], { home });
  assert.equal(pulled.stdout, '# Notes\n\nüñí ☂\n');
  assert.equal(pulled.stderr, '');

  const revoked = await relay(['rm', url], { home });
  assert.equal(revoked.code, 0);
  const result = await relay(['pull', url], { home });
  assert.equal(result.code, 3);
  assert.equal(result.stdout, '');
  assert.match(result.stderr, /^error Not found: .*\n {2}→ /);
});

test('push, peek and pull print JSON with --json', async () => {
  const pushed = await relay(['push', '--json', '--ttl', '90s', '--count'], { home, stdin: 'hello, agent' });
  const pointer = JSON.parse(pushed.stdout);
  assert.equal(pointer.size, 12);
  assert.deepEqual(pointer.tokens, { tokens: 3, tokenizer: 'o200k_base', estimated: false });
  const remainingMs = Date.parse(pointer.expires_at) - Date.now();
  assert.ok(remainingMs > 0 && remainingMs <= 90_000);

  const peeked = JSON.parse((await relay(['peek', pointer.url, '--json'], { home })).stdout);
  assert.equal(peeked.id, pointer.id);
  assert.equal(peeked.size, 12);

  const cost = JSON.parse((await relay(['pull', pointer.url, '--cost', '--json'], { home })).stdout);
  assert.deepEqual(cost, { tokens: 3, tokenizer: 'o200k_base', estimated: false, bytes: 12 });

  const pulled = JSON.parse((await relay(['pull', pointer.url, '--json'], { home })).stdout);
  assert.equal(pulled.data, 'hello, agent');
});

test('a part of a payload can be pulled', async () => {
  const url = await push(`${Array.from({ length: 50 }, (_, i) => `line ${i + 1}`).join('\n')}\n`);
  assert.equal((await relay(['pull', url, '--lines', '3-4'], { home })).stdout, 'line 3\nline 4\n');
  assert.equal((await relay(['pull', url, '--lines', '-1'], { home })).stdout, 'line 50\n');
  const result = await relay(['pull', url, '--grep', 'LINE 1?7$', '-i'], { home });
  assert.match(result.stdout, /7.*line 7\n.*17.*line 17\n/s);
  const json = await push('{"a": {"b": [1, "two"]}}');
  assert.equal(
    (await relay(['pull', json, '--json-pointer', '/a/b'], { home })).stdout.replace(/\s/g, ''),
    '[1,"two"]',
  );
});

test('a pointer may come from standard input', async () => {
  const { stdout } = await shell('echo payload | $relay push | $relay pull -', { home });
  assert.equal(stdout, 'payload\n');
});

test('25 MB go through pipes and come back the same', async () => {
  const big = file('big.bin', randomBytes(25 * 1024 * 1024));
  const { code, stderr } = await shell(
    `cat ${big} | $relay push > url && $relay pull "$(cat url)" | cat > piped && $relay pull "$(cat url)" --out filed`,
    { home },
  );
  assert.equal(code, 0, stderr);
  const original = readFileSync(big);
  assert.ok(readFileSync(join(home, 'piped')).equals(original), 'through a pipe');
  assert.ok(readFileSync(join(home, 'filed')).equals(original), 'into a file');
});

test('a large, empty or missing input is rejected with a sentence', async () => {
  const large = await relay(['push', file('large.bin', Buffer.alloc(25 * 1024 * 1024 + 1))], { home });
  assert.equal(large.code, 4);
  assert.match(large.stderr, /Too large: .*26,214,400 bytes \(25 MiB\)/);
  const result = await relay(['push', 'hello there'], { home });
  assert.match(result.stderr, /no such file\.\n {2}→ .*use: echo "…" \| relay push/);
  assert.equal((await relay(['push'], { home, stdin: '' })).code, 2);
  const missing = await relay(['push', 'nowhere.txt'], { home });
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /nowhere\.txt cannot be read: there is no such file/);
  assert.match((await relay(['push', home], { home })).stderr, /is a folder/);
});

test('wrong usage exits with 2 and shows the correct usage', async () => {
  const wrong: [string[], RegExp][] = [
    [['pull', 'not-a-url'], /Not a pointer/],
    [['peek', 'ftp://a/pull/3f2b8a34-6c1d-4e5f-8a9b-0c1d2e3f4a5b'], /http:\/\/ or https/],
    [['rm', 'http://127.0.0.1:7474/push'], /does not end in \/pull\/<uuid>/],
    [['push', '--ttl', 'soon'], /--ttl "soon" is not a valid time/],
    [['push', '--meta', 'nonsense'], /--meta "nonsense" is not valid/],
    [['push', '--visibility', 'all'], /--visibility does not accept "all"/],
    [['push', '--ttl', '4000d'], /ttl/],
  ];
  for (const [args, expected] of wrong) {
    const { code, stdout, stderr } = await relay(args, { home, stdin: 'x' });
    assert.equal(code, 2, args.join(' '));
    assert.equal(stdout, '');
    assert.match(stderr, expected);
  }
});

test('two parts cannot be combined, and an unknown pointer exits with 3', async () => {
  const url = 'http://localhost:7474/pull/3f2b8a34-6c1d-4e5f-8a9b-0c1d2e3f4a5b';
  assert.equal((await relay(['pull', url, '--lines', '1', '--outline'], { home })).code, 2);
  assert.equal((await relay(['pull', url, '--ignore-case'], { home })).code, 2);
  assert.equal((await relay(['peek', url], { home })).code, 3);
});

test('an unreachable relay exits with 5', async () => {
  const { code, stderr } = await relay(['push', '--url', 'http://127.0.0.1:1'], { home, stdin: 'x' });
  assert.equal(code, 5);
  assert.match(stderr, /The relay at http:\/\/127\.0\.0\.1:1 does not answer/);
});

test('a reader that closes the pipe early is not an error', async () => {
  const path = file('long.txt', 'a line of text\n'.repeat(400_000));
  const { stdout } = await relay(['push', path], { home });
  const cut = await shell(`$relay pull ${stdout.trim()} | head -n 1; echo \${PIPESTATUS[0]}`, { home });
  assert.equal(cut.stdout, 'a line of text\n0\n');
  assert.equal(cut.stderr, '');
  const closed = await shell(`$relay --help | true; echo \${PIPESTATUS[0]}`, { home });
  assert.deepEqual([closed.stdout, closed.stderr], ['0\n', '']);
});

test('--out writes the complete file or none', async () => {
  const url = await push('content');
  const nowhere = await relay(['pull', url, '--out', 'no/such/folder/f'], { home });
  assert.equal(nowhere.code, 1);
  assert.match(nowhere.stderr, /there is no such folder/);
  file('kept.txt', 'old');
  const missing = url.replace(/pull\/.{8}/, 'pull/00000000');
  assert.equal((await relay(['pull', missing, '--out', 'kept.txt'], { home })).code, 3);
  assert.equal(readFileSync(join(home, 'kept.txt'), 'utf8'), 'old');
  assert.equal((await relay(['pull', url, '--out', 'kept.txt'], { home })).code, 0);
  assert.equal(readFileSync(join(home, 'kept.txt'), 'utf8'), 'content');
  assert.deepEqual(
    readdirSync(home).filter((name) => name.endsWith('.part')),
    [],
  );
});

test('several pointers are revoked, and those that no longer exist are listed', async () => {
  const [a, b] = [await push('a'), await push('b')];
  await relay(['rm', a], { home });
  const both = await relay(['rm', a, b], { home });
  assert.equal(both.code, 3);
  assert.match(both.stdout, /^revoked /);
  assert.match(both.stderr, /Not found/);
  assert.equal((await relay(['peek', b], { home })).code, 3);
});

test('a warning names the kind and line of an unencrypted secret, never the secret', async () => {
  const secret = ['ghp', 'a8Kx2mQ9vL4nR7tW1zY6cB3dF5gH0jPsUeXo'].join('_');
  const text = `# settings\nregion = eu\ntoken = ${secret}\n`;
  const { code, stdout, stderr } = await relay(['push'], { home, stdin: text });
  assert.equal(code, 0);
  assert.match(stdout, URL_ALONE);
  assert.match(stderr, /^warning .*in line 3.*unencrypted/);
  assert.match(stderr, /--encrypt/);
  assert.ok(!stderr.includes(secret.slice(5, 15)));
  const hidden = await relay(['push', '--encrypt'], { home, stdin: text });
  assert.equal(hidden.stderr, '');
});

test('a new home is readable only by its owner', async () => {
  const fresh = join(home, 'fresh', '.relay');
  await relay(['push', '--home', fresh], { home, stdin: 'x' });
  assert.ok(existsSync(join(fresh, 'relay.db')));
  const { statSync } = await import('node:fs');
  assert.equal(statSync(fresh).mode & 0o777, 0o700);
  assert.equal(statSync(join(fresh, 'relay.db')).mode & 0o777, 0o600);
});
