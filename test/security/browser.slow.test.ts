import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { filesIn } from '../../src/app/serve/dashboard-files.ts';
import { noBrowser, openBrowser } from '../browser/chromium.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { startGuarded } from '../keys/guarded-relay.ts';
import { buildPages } from '../ui/dashboard.ts';

const skip = noBrowser;
let pages: Awaited<ReturnType<typeof buildPages>>;
let relay: RelayUnderTest;
let evil: Server;
let evilUrl: string;
let browser: Browser;

before(async () => {
  if (skip) return;
  pages = await buildPages();
  relay = await startRelay({ server: { dashboard: filesIn(pages.folder) } });
  evil = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>evil</title>');
  });
  await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
  evilUrl = `http://127.0.0.1:${(evil.address() as AddressInfo).port}`;
  // Prepare DNS rebinding: the attacker's host name resolves to loopback.
  browser = await openBrowser('--host-resolver-rules=MAP rebound.example 127.0.0.1');
});
after(async () => {
  await browser?.close();
  evil?.closeAllConnections();
  evil?.close();
  await relay?.[Symbol.asyncDispose]();
  pages?.remove();
});

async function stored(): Promise<number> {
  const { blobs, entries } = await relay.engine.usage();
  return blobs.count + entries;
}

test('a foreign page can neither post, nor read, nor subscribe', { skip }, async () => {
  const page = await browser.newPage();
  await page.goto(evilUrl);
  const before = await stored();
  const outcome = await page.evaluate(async (url) => {
    const reach = (path: string, init?: RequestInit) =>
      fetch(url + path, init).then(
        (response) => `${response.type} ${response.status}`,
        () => 'failed',
      );
    const socket = () =>
      new Promise((resolve) => {
        const ws = new WebSocket(`${url.replace('http', 'ws')}/ws/c?since=all`);
        ws.onopen = () => resolve('open');
        ws.onerror = () => resolve('refused');
      });
    const script = () =>
      new Promise((resolve) => {
        const element = document.createElement('script');
        element.src = `${url}/channels`;
        element.onload = () => resolve('loaded');
        element.onerror = () => resolve('refused');
        document.head.append(element);
      });
    return {
      simple: await reach('/push', { method: 'POST', body: 'x', mode: 'no-cors' }),
      plain: await reach('/push', { method: 'POST', body: 'x' }),
      json: await reach('/channels/c', {
        method: 'POST',
        body: '{"msg":1}',
        headers: { 'Content-Type': 'application/json' },
      }),
      read: await reach('/channels'),
      remove: await reach('/pull/00000000-0000-4000-8000-000000000000', { method: 'DELETE' }),
      socket: await socket(),
      script: await script(),
    };
  }, relay.url);
  assert.deepEqual(outcome, {
    // The page cannot see the answer. The test checks below that nothing was stored.
    simple: 'opaque 0',
    plain: 'failed',
    json: 'failed',
    read: 'failed',
    remove: 'failed',
    socket: 'refused',
    script: 'refused',
  });
  await page.setContent(
    `<form method="post" enctype="text/plain" action="${relay.url}/push"><input name="a" value="b"></form>`,
  );
  await Promise.all([
    page.waitForNavigation(),
    page.evaluate(() => document.querySelector('form')!.submit()),
  ]);
  assert.match((await page.textContent('body'))!, /foreign_origin/);
  assert.equal(await stored(), before);
  await page.close();
});

test('with keys a foreign page can read why it is refused, and which option would allow it', {
  skip,
}, async () => {
  await using guarded = await startGuarded();
  const { key } = await guarded.key();
  const page = await browser.newPage();
  await page.goto(evilUrl);
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const init = { method: 'POST', headers, body: '{"data":"x"}' };
  const answer = await page.evaluate(
    ([url, init]) => fetch(url, init).then(async (r) => `${r.status} ${await r.text()}`, String),
    [`${guarded.url}/push`, init] as const,
  );
  assert.match(answer, /^403 /);
  assert.ok(answer.includes(JSON.stringify(`"cors_origins": ["${evilUrl}"]`).slice(1, -1)), answer);
  assert.equal((await guarded.engine.usage()).blobs.count, 0);
  await page.close();
});

test('DNS rebinding gives a page no access', { skip }, async () => {
  const page = await browser.newPage();
  const { port } = new URL(relay.url);
  const response = await page.goto(`http://rebound.example:${port}/channels`);
  assert.equal(response!.status(), 403);
  assert.match((await page.textContent('body'))!, /foreign_origin/);
  await page.close();
});

const OWNED = "document.documentElement.setAttribute('data-owned','1');alert(1)";
const PAYLOADS = {
  html: `<!doctype html><script>${OWNED}</script><img src=x onerror="${OWNED}">`,
  svg: `<svg xmlns="http://www.w3.org/2000/svg" onload="${OWNED}"><script>${OWNED}</script></svg>`,
  xml: `<?xml version="1.0"?><x:script xmlns:x="http://www.w3.org/1999/xhtml">${OWNED}</x:script>`,
  markdown: `[x](javascript:${OWNED})<script>${OWNED}</script>`,
  utf7: `+ADw-script+AD4-${OWNED}+ADw-/script+AD4-`,
};

/** Waits until the page of a pointer has fetched and rendered the payload. */
async function waitForPayload(page: Page): Promise<void> {
  await page.getByRole('region', { name: 'Payload', exact: true }).waitFor();
  await page.waitForLoadState('networkidle');
}

async function unharmed(page: Page): Promise<void> {
  assert.equal(await page.evaluate(() => document.documentElement.getAttribute('data-owned')), null);
}

test("no payload, name or metadata is ever run as code, on the pointer's page or raw", { skip }, async () => {
  const page = await browser.newPage();
  const dialogs: string[] = [];
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  for (const [kind, data] of Object.entries(PAYLOADS)) {
    for (const type of ['text/html', 'image/svg+xml']) {
      const response = await fetch(`${relay.url}/push`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ data, content_type: type, channel: data, metadata: { [data]: data } }),
      });
      assert.equal(response.status, 200, await response.clone().text());
      const { id } = (await response.json()) as { id: string };
      for (const path of [`/pull/${id}`, `/pull/${id}?raw=1`, `/peek/${id}`, `/pull/${id}?grep=script`]) {
        await page.goto(relay.url + path);
        if (path === `/pull/${id}`) await waitForPayload(page);
        await unharmed(page);
        assert.deepEqual(dialogs, [], `${kind} as ${type} at ${path}`);
      }
    }
  }
  const encoded = encodeURIComponent(PAYLOADS.html);
  for (const path of [
    `/${encoded}`,
    `/channels/${encoded}`,
    `/pull/${encoded}`,
    `/channels?after=${encoded}`,
  ]) {
    await page.goto(relay.url + path);
    await unharmed(page);
  }
  assert.deepEqual(dialogs, []);
  await page.close();
});

test('the page of a pointer cannot be framed, and sends nothing to other hosts', { skip }, async () => {
  const response = await fetch(`${relay.url}/push`, {
    method: 'POST',
    body: '<img src="http://127.0.0.1:9/x">',
  });
  const { id } = (await response.json()) as { id: string };
  const framing = await browser.newPage();
  await framing.goto(evilUrl);
  const framed = await framing.evaluate(async (url) => {
    const frame = document.createElement('iframe');
    frame.src = url;
    document.body.append(frame);
    await new Promise((resolve) => {
      frame.onload = resolve;
    });
    try {
      return frame.contentDocument === null ? 'hidden' : 'seen';
    } catch {
      return 'hidden';
    }
  }, `${relay.url}/pull/${id}`);
  assert.equal(framed, 'hidden');
  const inside = framing.frames().find((frame) => frame !== framing.mainFrame())!;
  assert.doesNotMatch(await inside.content(), /ContextRelay/);
  await framing.close();
  const page = await browser.newPage();
  const origins: string[] = [];
  page.on('request', (request) => origins.push(new URL(request.url()).origin));
  await page.goto(`${relay.url}/pull/${id}`);
  await waitForPayload(page);
  assert.deepEqual([...new Set(origins)], [relay.url]);
  await page.close();
});
