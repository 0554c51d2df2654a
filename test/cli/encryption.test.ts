import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { relay, temporaryHome } from './program.ts';

const place = temporaryHome();
const { home } = place;
after(() => place[Symbol.dispose]());

const CANARY = 'the canary sings at midnight';

function everyFile(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? everyFile(path) : [path];
  });
}

test('what was encrypted comes back with the whole URL, and the key stays in it alone', async () => {
  const server = await relay(['up', '--detach', '--port', '0'], { home });
  assert.equal(server.code, 0, server.stderr);
  try {
    const { url } = JSON.parse((await relay(['status', '--json'], { home })).stdout).server;
    const everything: string[] = [];
    const pointers: string[] = [];
    for (const flags of [[], ['--url', url]]) {
      const pushed = await relay(['push', '--encrypt', ...flags], { home, stdin: CANARY });
      assert.match(pushed.stdout, /^http:\/\/127\.0\.0\.1:\d+\/pull\/[0-9a-f-]{36}#key=[\w-]{43}=\n$/);
      everything.push(pushed.stderr);
      pointers.push(pushed.stdout.trim());
    }
    for (const pointer of pointers) {
      const [plain, key] = pointer.split('#key=') as [string, string];
      for (const flags of [[], ['--url', url]]) {
        const pulled = await relay(['pull', pointer, ...flags], { home });
        assert.equal(pulled.stdout, CANARY, pulled.stderr);
      }
      const missing = await relay(['pull', plain], { home });
      assert.equal(missing.code, 4);
      assert.match(missing.stderr, /the URL has no key/);
      const wrong = await relay(['pull', `${plain}#key=${'A'.repeat(43)}=`], { home });
      assert.equal(wrong.code, 4);
      assert.equal(wrong.stdout, '');
      assert.match(wrong.stderr, /the key does not fit/);
      const peeked = await relay(['peek', pointer, '--json'], { home });
      const listed = [
        await relay(['status'], { home }),
        await relay(['du'], { home }),
        await relay(['rm', pointer], { home }),
      ];
      const gone = await relay(['pull', pointer], { home });
      for (const ran of [missing, wrong, peeked, ...listed, gone]) everything.push(ran.stdout, ran.stderr);
      assert.equal(gone.code, 3);
      for (const path of everyFile(home)) {
        const content = readFileSync(path);
        assert.ok(!content.includes(key), `the key is in ${path}`);
        assert.ok(!content.includes(CANARY), `the payload is in ${path}`);
      }
      for (const text of everything) assert.ok(!text.includes(key), text);
    }
  } finally {
    await relay(['down'], { home });
  }
});
