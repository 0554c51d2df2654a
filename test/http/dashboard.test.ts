import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { filesIn } from '../../src/app/serve/dashboard-files.ts';
import { pushJson, type RelayUnderTest, startRelay } from './relay-under-test.ts';

const folder = mkdtempSync(join(tmpdir(), 'relay-dashboard-'));
let relay: RelayUnderTest;
before(async () => {
  mkdirSync(join(folder, 'ui', 'assets'), { recursive: true });
  const put = (name: string, text: string | Buffer) => writeFileSync(join(folder, 'ui', name), text);
  put('index.html', '<p>the dashboard</p>');
  put('pull.html', '<p>a pointer</p>');
  put('assets/main-1a2b.js', 'plain()');
  put('assets/main-1a2b.js.br', brotliCompressSync('packed()'));
  put('assets/only-3c4d.js.br', brotliCompressSync('unpacked()'));
  writeFileSync(join(folder, 'secret.js'), 'outside()');
  relay = await startRelay({ server: { dashboard: filesIn(join(folder, 'ui')) } });
});
after(async () => {
  await relay[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(relay.url + path, { headers: { Accept: 'text/html', 'Accept-Encoding': 'identity', ...headers } });

test('every URL of the dashboard serves the same page with a strict content security policy', async () => {
  for (const path of ['/ui', '/ui/', '/ui/threads', '/ui/channels/a%2Fb', '/ui/keys?tab=usage']) {
    const answer = await get(path);
    assert.equal(answer.status, 200, path);
    assert.equal(await answer.text(), '<p>the dashboard</p>', path);
    const policy = answer.headers.get('content-security-policy')!;
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/);
    assert.match(policy, /require-trusted-types-for 'script'/);
    assert.ok(!/unsafe|https?:|\*/.test(policy), policy);
    assert.equal(answer.headers.get('cache-control'), 'no-cache');
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
  }
});

test('files with a hash in their name may be cached forever, and are compressed if the client accepts it', async () => {
  const plain = await get('/ui/assets/main-1a2b.js');
  assert.equal(await plain.text(), 'plain()');
  assert.match(plain.headers.get('cache-control')!, /immutable/);
  assert.match(plain.headers.get('content-type')!, /^text\/javascript/);
  const packed = await get('/ui/assets/main-1a2b.js', { 'Accept-Encoding': 'gzip, br' });
  assert.equal(packed.headers.get('content-encoding'), 'br');
  assert.equal(await packed.text(), 'packed()');
  assert.equal(await (await get('/ui/assets/only-3c4d.js')).text(), 'unpacked()');
  const again = await get('/ui/assets/main-1a2b.js', { 'If-None-Match': plain.headers.get('etag')! });
  assert.equal(again.status, 304);
});

test('a file that is not in the build is 404', async () => {
  for (const path of [
    '/ui/assets/gone.js',
    '/ui/..%2fsecret.js',
    '/ui/assets/..%2f..%2f..%2fsecret.js',
    '/ui/secret.js',
  ])
    assert.equal((await get(path)).status, 404, path);
});

test('a browser gets the page of a pointer, and programs get the payload', async () => {
  const pushed = await (await fetch(`${relay.url}/push`, { method: 'POST', body: 'hello' })).json();
  assert.equal(await (await get(`/pull/${pushed.id}`)).text(), '<p>a pointer</p>');
  const envelope = await get(`/pull/${pushed.id}`, { Accept: '*/*' });
  assert.deepEqual(JSON.parse(await envelope.text()), { data: 'hello', metadata: {} });
});

test('a browser at a relay without pages gets an error, and nothing is pulled', async () => {
  await using bare = await startRelay();
  const pushed = await pushJson(bare, { data: 'once', max_pulls: 1 });
  const page = await fetch(`${bare.url}/pull/${pushed.answer.id}`, { headers: { Accept: 'text/html' } });
  assert.equal(page.status, 500);
  assert.match(await page.text(), /without its web pages/);
  assert.equal(await (await fetch(`${bare.url}/pull/${pushed.answer.id}?raw=1`)).text(), 'once');
});

test('a link from another site opens the dashboard, but the site can neither frame nor fetch it', async () => {
  // Use node:http, because `fetch` does not allow setting these headers.
  const status = (path: string, headers: Record<string, string>) =>
    new Promise<number>((done, fail) => {
      const clientRequest = request(
        relay.url + path,
        { headers: { 'Sec-Fetch-Site': 'cross-site', ...headers } },
        (answer) => {
          answer.resume();
          done(answer.statusCode!);
        },
      );
      clientRequest.once('error', fail);
      clientRequest.end();
    });
  const visit = { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' };
  assert.equal(await status('/ui/share/x', visit), 200);
  assert.equal(await status('/ui/', { ...visit, 'Sec-Fetch-Dest': 'iframe' }), 403);
  assert.equal(await status('/ui/', { 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'script' }), 403);
});

test('a relay without a build says so, and how to make one', async () => {
  await using bare = await startRelay({ server: { dashboard: filesIn(join(folder, 'nowhere')) } });
  const answer = await fetch(`${bare.url}/ui/`);
  assert.equal(answer.status, 500);
  assert.match((await answer.json()).hint, /npm run build/);
});
