import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Ran, relay, temporaryHome } from './program.ts';

const place = temporaryHome();
const { home } = place;
/** All output of the program, except the output of push and pull on stdout. */
const outputs: string[] = [];
let url = '';

async function run(args: readonly string[], stdin?: string): Promise<Ran> {
  const ran = await relay(args, { home, stdin });
  outputs.push(ran.stderr, args[0] === 'push' || args[0] === 'pull' ? '' : ran.stdout);
  return ran;
}

before(async () => {
  const up = await run(['up', '--detach', '--port', '0', '--json']);
  assert.equal(up.code, 0, up.stderr);
  url = JSON.parse(up.stdout).url;
});
after(async () => {
  await relay(['down'], { home });
  place[Symbol.dispose]();
});

const CANARY = 'the canary sings at midnight';
const POINTER = /^(http:\/\/127\.0\.0\.1:\d+\/pull\/[0-9a-f-]{36})#key=([\w-]{43}=)\n$/;

async function push(...flags: string[]): Promise<{ pointer: string; plain: string; key: string }> {
  const pushed = await run(['push', '--encrypt', ...flags], CANARY);
  const [, plain, key] = POINTER.exec(pushed.stdout) ?? assert.fail(pushed.stdout + pushed.stderr);
  return { pointer: pushed.stdout.trim(), plain: plain!, key: key! };
}

function everyFile(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? everyFile(path) : [path];
  });
}

test('an encrypted payload is decrypted with the whole pointer, and its key appears nowhere else', async () => {
  const local = await push();
  const remote = await push('--url', url);
  assert.equal((await run(['pull', local.pointer, '--url', url])).stdout, CANARY);
  assert.equal((await run(['pull', remote.pointer])).stdout, CANARY);
  assert.equal((await run(['pull', remote.pointer, '--grep', 'CANARY', '-i'])).stdout, `1:${CANARY}\n`);

  await run(['peek', local.pointer, '--json']);
  await run(['rm', local.pointer]);
  assert.equal((await run(['pull', local.pointer])).code, 3);
  await run(['status']);

  for (const path of everyFile(home)) {
    const content = readFileSync(path);
    for (const secret of [local.key, remote.key, CANARY]) assert.ok(!content.includes(secret), `in ${path}`);
  }
  for (const text of outputs) {
    for (const secret of [local.key, remote.key]) assert.ok(!text.includes(secret), text);
  }
});

test('a missing key and a wrong key have different errors, and nothing is printed', async () => {
  const { plain } = await push();
  const missing = await run(['pull', plain]);
  assert.deepEqual([missing.code, missing.stdout], [4, '']);
  assert.match(missing.stderr, /the URL has no key/);
  const wrong = await run(['pull', `${plain}#key=${'Q'.repeat(43)}=`]);
  assert.deepEqual([wrong.code, wrong.stdout], [4, '']);
  assert.match(wrong.stderr, /the key does not match/);
});
