import assert from 'node:assert/strict';
import { createServer, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { filesIn } from '../../src/app/serve/dashboard-files.ts';
import { noBrowser, openBrowser } from '../browser/chromium.ts';
import { pushJson, type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { buildPages } from '../ui/dashboard.ts';
import { until } from '../until.ts';
import { type HostilePage, PAGE_REQUESTS } from './page-requests.ts';

const skip = noBrowser;
/** Path and status of each request that reached the proxy between browser and relay. */
const proxied: { path: string; status: number }[] = [];
let pages: Awaited<ReturnType<typeof buildPages>>;
let relay: RelayUnderTest;
let between: Server;
let attacker: Server;
let browser: Browser;
let target: string;
let page: HostilePage = { html: '' };

before(async () => {
  if (skip) return;
  pages = await buildPages();
  relay = await startRelay({ server: { dashboard: filesIn(pages.folder) } });
  between = watching(relay.url, proxied);
  attacker = createServer((incoming, answer) => {
    const url = new URL(incoming.url!, 'http://x');
    if (url.pathname === '/redirect') answer.writeHead(302, { Location: url.searchParams.get('to')! }).end();
    else answer.writeHead(200, { 'Content-Type': 'text/html', ...page.headers }).end(page.html);
  });
  for (const server of [between, attacker]) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  }
  target = `http://127.0.0.1:${portOf(between)}`;
  browser = await openBrowser(
    '--host-resolver-rules=MAP attacker.example 127.0.0.1',
    '--disable-popup-blocking',
  );
});
after(async () => {
  await browser?.close();
  for (const server of [between, attacker]) {
    server?.closeAllConnections();
    server?.close();
  }
  await relay?.[Symbol.asyncDispose]();
  pages?.remove();
});

for (const from of ['attacker.example', '127.0.0.1']) {
  for (const [name, pageFor] of Object.entries(PAGE_REQUESTS)) {
    test(`${name}, from a page of ${from}: takes no task, uses up no pull, stores nothing`, {
      skip,
    }, async () => {
      const { answer: once } = await pushJson(relay, { data: 'read me once', max_pulls: 1 });
      const { answer: task } = await pushJson(relay, { data: 'work', channel: 'agent-tasks' });
      const before = await relay.engine.usage();
      const paths = {
        events: '/channels/agent-tasks/events?group=bridges&since=all',
        socket: '/ws/agent-tasks?group=bridges&since=all',
        raw: `/pull/${once.id}?raw=1`,
        part: `/pull/${once.id}?lines=1`,
        publish: '/channels/agent-tasks?count=1',
      };
      const tab = await browser.newPage();
      const vias = Object.keys(paths).map((what) => `${what}-${name}-${from}`.replace(/[^\w-]/g, '_'));
      const pages = Object.values(paths).map((path, i) => pageFor(`${target}${path}&via=${vias[i]}`));
      const all = { html: pages.map(({ html }) => html).join('\n') };
      for (const each of pages[0]!.once ? pages : [all]) {
        page = each;
        // Do not wait for the page to load: an event stream in a frame never ends, and the page may navigate away.
        await tab.goto(`http://${from}:${portOf(attacker)}/`, { waitUntil: 'commit' }).catch(() => {});
        const expectedVias = each === all ? vias : [vias[pages.indexOf(each)]!];
        await until(() => expectedVias.every((via) => proxied.some(({ path }) => path.includes(via))));
      }
      const passed = proxied.filter(
        ({ path, status }) => vias.some((via) => path.includes(via)) && status !== 403,
      );
      assert.deepEqual(passed, []);
      await tab.close();
      const { groups } = (await (await fetch(`${relay.url}/channels/agent-tasks`)).json()) as {
        groups: unknown[];
      };
      assert.deepEqual(groups, []);
      assert.equal((await relay.engine.usage()).blobs.count, before.blobs.count);
      assert.equal(await (await fetch(`${relay.url}/pull/${once.id}?raw=1`)).text(), 'read me once');
      assert.equal((await fetch(`${relay.url}/pull/${task.id}?raw=1`)).status, 200);
    });
  }
}

test('a user who follows a link on another site gets the page, which uses up no pull', { skip }, async () => {
  const { answer } = await pushJson(relay, { data: 'read me once', max_pulls: 1 });
  page = { html: `<a id="a" href="${target}/pull/${answer.id}">x</a>` };
  const tab = await browser.newPage();
  await tab.goto(`http://attacker.example:${portOf(attacker)}/`);
  await tab.click('#a');
  await tab.getByRole('button', { name: 'Show it (uses one pull)' }).click();
  await tab.getByText('read me once').waitFor();
  await tab.close();
});

test('prefetches of a foreign page are refused, also for the page of a pointer', {
  skip,
}, async () => {
  const { answer } = await pushJson(relay, { data: 'x', max_pulls: 1 });
  page = {
    html: `<link rel="prefetch" href="${target}/pull/${answer.id}?ahead"><link rel="prefetch" as="document" href="${target}/pull/${answer.id}">`,
  };
  const tab = await browser.newPage();
  await tab.goto(`http://attacker.example:${portOf(attacker)}/`);
  await until(() => proxied.filter(({ path }) => path.includes(answer.id)).length === 2);
  assert.deepEqual(
    proxied.filter(({ path }) => path.includes(answer.id)).map(({ status }) => status),
    [403, 403],
  );
  await tab.close();
});

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Starts a proxy that forwards everything unchanged, including sockets, and records each request in `seen`. */
function watching(relayUrl: string, answeredRequests: { path: string; status: number }[]): Server {
  const { port, hostname } = new URL(relayUrl);
  const server = createServer((incoming, answer) => {
    const { method, url: path = '/', headers } = incoming;
    const out = request({ host: hostname, port, method, path, headers }, (response) => {
      answeredRequests.push({ path, status: response.statusCode! });
      answer.writeHead(response.statusCode!, response.headers);
      response.pipe(answer);
    });
    answer.on('close', () => out.destroy());
    out.on('error', () => answer.destroy());
    incoming.pipe(out);
  });
  server.on('upgrade', (incoming, socket) => {
    const out = connect(Number(port), hostname, () => {
      const lines = incoming.rawHeaders.map((text, i) => (i % 2 === 0 ? `${text}: ` : `${text}\r\n`));
      out.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\n${lines.join('')}\r\n`);
      socket.pipe(out);
    });
    out.once('data', (head: Buffer) =>
      answeredRequests.push({ path: incoming.url!, status: Number(head.toString().slice(9, 12)) }),
    );
    out.pipe(socket);
    socket.on('error', () => out.destroy());
    out.on('error', () => socket.destroy());
  });
  return server;
}
