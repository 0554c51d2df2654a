import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { PAYLOAD_BYTES } from '../../src/base/limits.ts';
import { start } from '../channels/programs.ts';
import { startRelay } from '../http/relay-under-test.ts';
import { makeCertificate } from '../security/certificate.ts';
import { runHere } from './in-process.ts';
import { atTerminal, relay, temporaryHome } from './program.ts';

const place = temporaryHome();
const { home } = place;
after(() => place[Symbol.dispose]());

const file = (name: string, content: string | Uint8Array) => {
  writeFileSync(join(home, name), content);
  return join(home, name);
};
const run = (args: string[], stdin = '') => runHere(args, { home, stdin });
const wrongUsage = async (args: string[], says: RegExp) => {
  const { code, stderr } = await run(args);
  assert.match(stderr, says, args.join(' '));
  assert.equal(code, 2, args.join(' '));
};

test('hints name flags and commands, on the local store and over the network', async () => {
  await using server = await startRelay();
  for (const way of [[], ['--url', server.url]]) {
    const url = (await run(['push', ...way], 'some words\n')).stdout.trim();
    const refused = async (...flags: string[]) => (await run(['pull', url, ...way, ...flags])).stderr;
    assert.match(await refused('--lines', 'x'), /→ Use --lines 10-40, --grep PATTERN/);
    assert.match(await refused('--json-pointer', '/a'), /→ Use --lines or --grep instead\./);
    assert.match(await refused('--lines', 'x', '--json'), /"hint":"Use --lines 10-40/);
    const old = await run(['publish', 'c', 'x', ...way, '--idempotency-key', 'k'.repeat(300)]);
    assert.match(old.stderr, /→ Correct it and run the command again\./);
  }
});

test('the error for a large file names its size and the limit in the same format', async () => {
  const { code, stderr } = await run(['push', file('large', new Uint8Array(PAYLOAD_BYTES + 1))]);
  assert.equal(code, 4);
  assert.match(stderr, /large has 26,214,401 bytes \(25 MiB\); the limit is 26,214,400 bytes \(25 MiB\)\./);
});

test('the error for an unknown command suggests relay run', async () => {
  await wrongUsage(['hi'], /no command "relay hi"\.\n.*relay run "hi"/);
});

test('empty standard input and empty values are wrong usage', async () => {
  for (const command of [
    ['push'],
    ['push', '-'],
    ['publish', 'c'],
    ['bridge', 'send', '-'],
    ['artifact', 'put', '-'],
  ])
    await wrongUsage(command, /Standard input is empty/);
  await wrongUsage(['push', ''], /name of the file is empty/);
  await wrongUsage(['push', '--channel', '', file('a', 'a')], /--channel is empty/);
  await wrongUsage(['push', '--channel=', file('a', 'a')], /--channel is empty/);
  await wrongUsage(['push', '-m', '', file('a', 'a')], /--meta is empty/);
  // An empty JSON pointer is valid and selects the whole document.
  const url = (await run(['push'], '{"a":1}')).stdout.trim();
  assert.deepEqual(JSON.parse((await run(['pull', url, '--json-pointer', ''])).stdout), { a: 1 });
});

test('a pushed file has its name in the metadata, unless it is encrypted or has another name', async () => {
  const peeked = async (...flags: string[]) => {
    const { stdout } = await run(['push', file('notes.md', 'x'), ...flags]);
    return (await run(['peek', stdout.trim()])).stdout.trim();
  };
  assert.equal(await peeked(), '{"name":"notes.md"}');
  assert.equal(await peeked('-m', 'name=other', '-m', 'n:=1'), '{"name":"other","n":1}');
  assert.equal(await peeked('--encrypt'), '{}');
  assert.equal((await run(['peek', (await run(['push'], 'piped')).stdout.trim()])).stdout, '{}\n');
});

test('a channel key is read from standard input, with a prompt at a terminal', async (t) => {
  await wrongUsage(['channel', 'key', 'add', 'c', 'A'.repeat(44)], /on standard input/);
  if (!existsSync('/usr/bin/script')) return t.skip('there is no script(1) here');
  const { stdout } = await atTerminal('$relay channel key add c', { home, stdin: 'x\n' });
  assert.match(stdout, /Paste the key/);
});

test('the error for an untrusted certificate says what to do', async (t) => {
  using certificate = makeCertificate();
  if (!certificate) return t.skip('there is no openssl to make a certificate with');
  const { cert, key } = certificate;
  await using server = await startRelay({ server: { tls: { cert, key } } });
  const args = ['push', '--url', server.url];
  const refused = await relay(args, { home, stdin: 'x' });
  assert.match(refused.stderr, /The certificate of https:\S+ is not trusted: it is self-signed\./);
  assert.match(refused.stderr, /NODE_EXTRA_CA_CERTS/);
  assert.equal(refused.code, 5);
  const trusted = await relay(args, { home, stdin: 'x', env: { NODE_EXTRA_CA_CERTS: cert } });
  assert.equal(trusted.code, 0, trusted.stderr);
});

test('a server for other machines prints its addresses and warns about missing TLS', async (t) => {
  const cards = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const other = cards.find(({ internal, family }) => !internal && family === 'IPv4');
  if (!other) return t.skip('this machine has no address but loopback');
  using ownHome = temporaryHome();
  await using server = start(['up', '--port', '0', '--host', '0.0.0.0'], { home: ownHome.home });
  await server.waitForOutput(/Stop it with/);
  assert.match(server.output(), new RegExp(`reached at +http://${other.address}:\\d+`));
  assert.match(server.output(), /Without TLS, keys and payloads are sent unencrypted/);
});
