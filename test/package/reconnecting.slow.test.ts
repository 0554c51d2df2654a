import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { build } from 'esbuild';
import { noBrowser, openBrowser } from '../browser/chromium.ts';
import { until } from '../until.ts';
import { fetchNode } from './fixtures.ts';
import { type Installation, install } from './installation.ts';
import { outsideEnv, type Running, run, serve } from './processes.ts';

/** Source of a module that subscribes to a channel, with and without a group, and passes messages to a callback. */
const FOLLOW = `
import { ContextRelay } from 'contextrelay';
export const follow = async (baseUrl, group, report) => {
  const relay = new ContextRelay({ baseUrl });
  const news = relay.subscribe('news', ({ msg }) => report('news ' + msg));
  await news.ready;
  relay.subscribe('news', ({ msg }) => report('work ' + msg), { group, since: 'all' });
  report('ready');
};`;

const NODES = { 20: '20', 22: '22.16.0', 24: '24' };
const fetched = await Promise.all(
  Object.entries(NODES).map(async ([name, version]) => [name, await fetchNode(version)] as const),
);
/** The Node versions to test, with their paths. */
const nodes = fetched.flatMap(([name, fixture]) => ('node' in fixture ? [{ name, node: fixture.node }] : []));
nodes.push({ name: '26', node: process.execPath });

/** A running program that subscribes to the channel; `lines` is its output so far. */
interface Follower extends AsyncDisposable {
  readonly name: string;
  lines(): Promise<string[]>;
}

describe('a subscription survives restarts of the relay: no message is lost or delivered twice', () => {
  let installation: Installation;
  let server: Running;
  const site = createServer();
  let expected: string[] = [];
  const followers: Follower[] = [];
  const env = () => outsideEnv({ RELAY_HOME: installation.home, CONTEXTRELAY_URL: server.url });
  const up = (port: string) =>
    serve(process.execPath, [installation.relay, 'up', '--port', port], {
      env: outsideEnv({ RELAY_HOME: installation.home, RELAY_CORS_ORIGINS: originOf(site) }),
    });
  /** Publishes on the local store, so that publishing works with and without the server. */
  const publish = async (msg: string) => {
    const args = [installation.relay, 'publish', 'news', msg];
    const { code, stderr } = await run(process.execPath, args, {
      env: outsideEnv({ RELAY_HOME: installation.home }),
    });
    assert.equal(code, 0, stderr);
    expected.push(`news ${msg}`, `work ${msg}`);
  };
  const settled = async () => {
    const { groups } = (await (await fetch(`${server.url}/channels/news`)).json()) as {
      groups: { backlog: number; leases: unknown[] }[];
    };
    return groups.every(({ backlog, leases }) => backlog + leases.length === 0);
  };

  before(async () => {
    installation = await install();
    await once(site.listen(0, '127.0.0.1'), 'listening');
    server = await up('0');
    const script = installation.write(
      'follow.js',
      `${FOLLOW}\nawait follow('${server.url}', process.argv[2], console.log);`,
    );
    for (const { name, node } of nodes) {
      followers.push(program(`the SDK on Node ${name}`, node, [script, `sdk-${name}`], env()));
      if (name === '20') continue;
      const watch = ['watch', 'news', '--group', `watch-${name}`, '--since', 'all'];
      followers.push(program(`relay watch on Node ${name}`, node, [installation.relay, ...watch], env()));
      const bridge = ['bridge', 'start', '--exec', 'cat', '--name', `node-${name}`];
      followers.push(program(`a bridge on Node ${name}`, node, [installation.relay, ...bridge], env()));
    }
    if (!noBrowser) followers.push(await page(installation, site, server.url));
    for (const { name } of nodes) {
      if (name === '20') continue;
      await until(async () => (await lines(`a bridge on Node ${name}`)).length > 0);
    }
    for (const each of followers.filter(isSdk)) await until(async () => (await each.lines())[0] === 'ready');
    expected = [];
    await publish('first');
    await until(everyoneHas);
    await until(settled);
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      server.child.kill(signal);
      await server.ended;
      await publish(`while away after ${signal}`);
      server = await up(new URL(server.url).port);
      await publish(`again after ${signal}`);
      await until(everyoneHas);
      await until(settled);
    }
  });
  after(async () => {
    for (const each of followers) await each[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
    site.close();
    installation[Symbol.dispose]();
  });

  const isSdk = ({ name }: Follower) => name.startsWith('the SDK');
  const lines = async (name: string) =>
    (await followers.find((each) => each.name === name)?.lines()) ?? assert.fail(`${name} was not started`);
  const everyoneHas = async () => {
    for (const each of followers) {
      if (each.name.startsWith('a bridge')) continue;
      const expectedLines = isSdk(each) ? expected.length + 1 : expected.length / 2;
      if ((await each.lines()).length < expectedLines) return false;
    }
    return true;
  };

  const sdkSaw = async (name: string) => {
    const saw = (await lines(name)).filter((line) => line !== 'ready');
    const by = (kind: string) => (line: string) => line.startsWith(kind);
    for (const kind of ['news', 'work']) assert.deepEqual(saw.filter(by(kind)), expected.filter(by(kind)));
  };

  for (const [name, fixture] of [...fetched, ['26', {}] as const]) {
    const skip = 'reason' in fixture && fixture.reason;
    test(`the SDK on Node ${name}`, { skip }, () => sdkSaw(`the SDK on Node ${name}`));
    if (name === '20') continue;
    test(`relay watch on Node ${name}`, { skip }, async () => {
      const messages = expected.filter((line) => line.startsWith('news')).map((line) => line.slice(5));
      assert.deepEqual(await lines(`relay watch on Node ${name}`), messages);
    });
    test(`a bridge on Node ${name} runs the next task`, { skip }, async () => {
      const args = ['bridge', 'send', `for ${name}`, '--to', `node-${name}`, '--wait'];
      const result = await run(process.execPath, [installation.relay, ...args], { env: env() });
      assert.equal(result.code, 0, result.stderr);
      assert.match(result.stdout, new RegExp(`for ${name}`));
    });
  }

  test('the SDK in Chromium', { skip: noBrowser }, () => sdkSaw('the SDK in Chromium'));
});

function program(name: string, node: string, args: string[], env: NodeJS.ProcessEnv): Follower {
  const child = spawn(node, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text;
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  return {
    name,
    async lines() {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${name} ended: ${errors}`);
      return output.split('\n').slice(0, -1);
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/**
 * Opens a browser page of another origin that the relay allows. The page is on loopback too, because browsers block
 * sockets to loopback from other pages.
 */
async function page({ folder }: Installation, site: Server, relay: string): Promise<Follower> {
  const contents = `${FOLLOW}
window.lines = [];
follow('${relay}', 'page', (line) => window.lines.push(line));`;
  const bundled = await build({ stdin: { contents, resolveDir: folder }, bundle: true, write: false });
  const html = `<!doctype html><script>${bundled.outputFiles[0]!.text}</script>`;
  site.on('request', (_, answer) => answer.setHeader('Content-Type', 'text/html').end(html));
  const browser = await openBrowser();
  const tab = await browser.newPage();
  await tab.goto(originOf(site));
  return {
    name: 'the SDK in Chromium',
    lines: () => tab.evaluate(() => (window as unknown as { lines: string[] }).lines),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

function originOf(site: Server): string {
  return `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
}
