import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startRelay } from '../http/relay-under-test.ts';
import { until } from '../until.ts';
import { runHere } from './in-process.ts';
import { atTerminal, cleanEnv, ENTRY, NODE, relay, shell, temporaryHome } from './program.ts';

const place = temporaryHome();
after(() => place[Symbol.dispose]());
const home = join(place.home, 'home');
const o = { home, cwd: place.home };

const here = (...args: string[]) => runHere(args, o);
const numbers = (to: number) => Array.from({ length: to }, (_, i) => `${i + 1}\n`).join('');

const LAST_LINE =
  /^\[(relay:(\d+)) · ([\d,]+) lines · ([\d,]+) tokens(?: · exit (\d+))? · (\S* ?relay pull \2 --lines (\d+)-(\d+)) \| --grep PATTERN \| --question TEXT \| --outline\]\n$/;

/** Returns the parts of the last line of an excerpt. */
function lastLine(stdout: string): { handle: string; exit: string | undefined; pull: string } {
  const line = stdout.slice(stdout.lastIndexOf('\n', stdout.length - 2) + 1);
  const match = LAST_LINE.exec(line);
  assert.ok(match, line);
  return { handle: match[1]!, exit: match[5], pull: match[6]! };
}

const outputs = async () => JSON.parse((await here('tee', 'list', '--json')).stdout).outputs;

test('an output that fits passes unchanged, in order, and nothing is stored', async () => {
  const script = 'echo out; echo err >&2; echo device > /dev/stderr; cat; pwd; echo $COLOR; exit 3';
  const ran = await relay(['tee', '--', 'sh', '-c', script], { ...o, stdin: 'in\n', env: { COLOR: 'blue' } });
  assert.equal(ran.stdout, `out\nerr\ndevice\nin\n${place.home}\nblue\n`);
  assert.equal(ran.stderr, '');
  assert.equal(ran.code, 3);
  for (const stdin of ['a\r\nb', 'word '.repeat(1000)])
    assert.equal((await runHere(['tee'], { ...o, stdin })).stdout, stdin);
  assert.equal(existsSync(home), false);
});

test('a long output is stored whole, and its excerpt says how to pull the rest', async () => {
  const script = `seq 1 4000; printf 'caf\\351\\n'; echo 'Error: it broke' >&2; seq 1 10; exit 1`;
  const ran = await here('tee', '--', 'sh', '-c', script, 'hidden-argument');
  assert.equal(ran.code, 1);
  assert.equal(ran.stderr, '');
  assert.match(ran.stdout, /^4002 Error: it broke$/m);
  const { handle, exit, pull } = lastLine(ran.stdout);
  assert.equal(exit, '1');
  const number = handle.slice('relay:'.length);
  const tail = Buffer.from(`caf\xe9\nError: it broke\n${numbers(10)}`, 'latin1');
  assert.deepEqual((await here('pull', number)).bytes, Buffer.concat([Buffer.from(numbers(4000)), tail]));
  assert.equal(
    (await here('pull', handle, '--lines', '4000-4002')).stdout,
    '4000\ncaf\ufffd\nError: it broke\n',
  );
  assert.equal((await here('pull', number, '--grep', 'broke')).stdout, '4002:Error: it broke\n');
  assert.equal((await here(...pull.split(' ').slice(1))).code, 0);
  const [stored] = await outputs();
  assert.equal(stored.handle, handle);
  assert.deepEqual([stored.command, stored.exit, stored.lines, stored.bytes], ['sh -c', 1, 4012, 18_935]);
  assert.ok(stored.tokens > 8_000 && stored.shown > 0 && stored.shown <= 1_200, JSON.stringify(stored));
  assert.match(ran.stdout, /· 4,012 lines · /);
  assert.match(
    (await here('tee', 'list')).stdout,
    new RegExp(`^${handle} .* ago  sh -c +exit 1 .* 4,012 lines `),
  );
  const ttlMs = Date.parse(stored.expires_at) - Date.parse(stored.created_at);
  assert.equal(ttlMs, 7 * 24 * 3_600_000);
  assert.deepEqual(
    readdirSync(join(home, 'outputs')).filter((name) => name.endsWith('.spool')),
    [],
  );
});

test('one line and one token are counted in the singular', async () => {
  const ran = await runHere(['tee'], { ...o, stdin: 'lorem ipsum dolor '.repeat(2000) });
  assert.match(ran.stdout, /\n\[relay:\d+ · 1 line · /);
  assert.match((await here('tee', 'list')).stdout, / 1 line {2}/);
});

test('--tokens applies, and arguments that may be secrets are not stored', async () => {
  const ran = await here(
    'tee',
    '--tokens',
    '300',
    '--',
    'printf',
    '-vpass=hunter2 %s\n',
    ...numbers(900).split('\n'),
  );
  const { tokens } = JSON.parse(
    (await runHere(['push', '--count', '--json'], { ...o, stdin: ran.stdout })).stdout,
  ).tokens;
  assert.ok(tokens <= 300, String(tokens));
  const [stored] = await outputs();
  assert.equal(stored.command, 'printf -v');
});

test('pulled text and excerpts are not cut again', async () => {
  const { handle } = lastLine((await here('tee', '--', 'seq', '1', '3000')).stdout);
  const before = (await outputs()).length;
  const program = [NODE, ENTRY];
  assert.equal((await here('tee', '--', ...program, 'pull', handle)).stdout, numbers(3000));
  assert.equal(
    (await shell(`$relay pull ${handle} --lines 2-2900 | $relay tee`, o)).stdout,
    numbers(2900).slice(2),
  );
  const args = ['tee', '--name', `relay pull ${handle}`];
  assert.equal((await runHere(args, { ...o, stdin: numbers(3000) })).stdout, numbers(3000));
  const reused = `$relay pull ${handle} --lines 1 >reused; seq 1 3000 >reused; $relay tee <reused; rm reused`;
  assert.match((await shell(reused, o)).stdout, /\[relay:\d+ · 3,000 lines /);
  const guide = join(import.meta.dirname, '../../ARCHITECTURE.md');
  const { stdout: excerpt } = await here('tee', '--', 'cat', guide);
  assert.match(excerpt, /\[relay:\d+ · \d+ lines .*\]\n$/);
  assert.equal((await runHere(['tee', '--tokens', '200'], { ...o, stdin: excerpt })).stdout, excerpt);
  const script = `${program.join(' ')} tee -- seq 1 3000; seq 3001 5000`;
  assert.match((await here('tee', '--', 'sh', '-c', script)).stdout, /\[relay:\d+ · 5,000 lines /);
  assert.equal((await outputs()).length, before + 3);
});

test('a program that cannot be started or dies by a signal exits as in a shell', async () => {
  const missing = await here('tee', '--', 'no-such-program');
  assert.equal(missing.code, 127);
  assert.match(missing.stderr, /no program no-such-program/);
  assert.equal((await here('tee', '--', place.home)).code, 126);
  assert.equal((await here('tee', '--', 'sh', '-c', 'kill -9 $$')).code, 137);
});

test('a background process does not keep tee waiting', async () => {
  const ran = await here('tee', '--', 'sh', '-c', 'sleep 60 & echo $!');
  process.kill(Number(ran.stdout));
  assert.equal(ran.code, 0);
  assert.match(ran.stderr, /background process/);
});

test('if the output cannot be stored, all of it is printed with one warning', async () => {
  const file = join(place.home, 'a-file');
  writeFileSync(file, '');
  const ran = await runHere(['tee', '--', 'seq', '1', '3000'], { ...o, home: file });
  assert.equal(ran.stdout, numbers(3000));
  assert.match(
    ran.stderr,
    /^warning The output is not stored, so all of it is printed: .* is not a folder\.\n$/,
  );
});

test('CONTEXTRELAY_URL does not send outputs to another relay', async () => {
  const env = { CONTEXTRELAY_URL: 'http://127.0.0.1:9' };
  const ran = await runHere(['tee', '--', 'seq', '1', '3000'], { ...o, env });
  const { pull } = lastLine(ran.stdout);
  assert.match(pull, /^CONTEXTRELAY_URL= relay pull/);
  assert.equal((await here(...pull.split(' ').slice(2))).code, 0);
});

test('with --url the output is encrypted, and this machine can read it by its handle', async () => {
  await using server = await startRelay();
  const ran = await runHere(
    ['tee', '--url', server.url, '--', 'sh', '-c', "seq 1 3000; printf 'caf\\351'"],
    o,
  );
  const line = ran.stdout.trimEnd().split('\n').at(-1)!;
  const [, number] =
    / · relay pull (\d+) --url http\S+ --lines \d+-\d+ \|/.exec(line) ?? assert.fail(ran.stdout + ran.stderr);
  const tail = await here('pull', number!, '--url', server.url, '--lines', '2999-');
  assert.equal(tail.stdout, '2999\n3000\ncaf\ufffd\n');
  const stored = await (await fetch(`${server.url}/pull/relay:${number}?raw=1`)).text();
  assert.match(stored, /^gAAAAA/);
  const listed = JSON.parse((await here('tee', 'list', '--url', server.url, '--json')).stdout).outputs;
  assert.deepEqual(
    listed.map((output: { command: string }) => output.command),
    ['sh -c'],
  );
});

test('the oldest outputs are deleted above the limit, and prune --outputs deletes all', async () => {
  const [newest] = await outputs();
  const env = { RELAY_OUTPUT_STORAGE: String(newest.bytes + 20_000) };
  const ran = await runHere(['tee', '--', 'seq', '1', '3000'], { ...o, env });
  const { handle } = lastLine(ran.stdout);
  assert.deepEqual(
    (await outputs()).map((output: { handle: string }) => output.handle),
    [handle, newest.handle],
  );
  assert.match((await here('prune', '--outputs')).stdout, /^deleted 2 outputs/);
  assert.deepEqual(await outputs(), []);
  assert.equal((await here('pull', handle)).code, 3);
});

test('after SIGTERM the excerpt so far is printed, and later output follows', async () => {
  const script =
    'trap "" TERM; seq 1 3000; touch ready; until [ -e end ]; do sleep 0.1; done; echo later; exit 5';
  const child = spawn(NODE, [ENTRY, 'tee', '--', 'sh', '-c', script], { env: cleanEnv(o), cwd: o.cwd });
  let stdout = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  await until(() => existsSync(join(o.cwd, 'ready')));
  child.kill('SIGTERM');
  await until(() => stdout.endsWith(']\n'));
  const { handle, exit } = lastLine(stdout);
  assert.equal(exit, undefined);
  assert.equal(child.exitCode, null);
  writeFileSync(join(o.cwd, 'end'), '');
  const [code] = await once(child, 'close');
  assert.equal(code, 5);
  assert.match(stdout, /\]\nlater\n$/);
  assert.equal((await here('pull', handle)).stdout, numbers(3000));
});

test('at a terminal output is shown as it arrives, and stored', async () => {
  const ran = await atTerminal(
    `$relay tee -- sh -c 'seq 1 3000; printf "\\033[31mred\\033[0m\\n"; exit 4'; echo code $?`,
    o,
  );
  const output = ran.stdout.replaceAll('\r', '');
  assert.ok(output.startsWith(numbers(3000)));
  assert.match(output, /\u001b\[31mred\u001b\[0m\n\[relay:\d+ · 3,001 lines .* exit 4 .*\]\ncode 4\n$/);
});

test('the error for wrong arguments says what to do', async () => {
  assert.match((await here('tee', 'npm', 'test')).stderr, /relay tee -- npm test/);
  assert.match((await here('tee', '--tokens', '5', '--', 'true')).stderr, /from 200 to 100000/);
});
