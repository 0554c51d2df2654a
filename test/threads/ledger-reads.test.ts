import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import type { Stats } from '../../src/contract/threads.ts';
import { runHere } from '../cli/in-process.ts';
import { temporaryHome } from '../cli/program.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { overHttp } from '../mcp/clients.ts';

/** Tests that every interface counts the tokens of reads that are not part of a prompt. */

const CONTENT = 'The quick brown fox jumps over the lazy dog.\n'.repeat(300);
const home = temporaryHome();
let relay: RelayUnderTest;
before(async () => {
  relay = await startRelay();
});
after(async () => {
  await relay[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

const tokens = (text: string) => encode(text).length;
const ask = async (method: string, path: string, body?: unknown) => {
  const init = body === undefined ? {} : { body: JSON.stringify(body), headers: JSON_BODY };
  return (await fetch(relay.url + path, { method, ...init })).text();
};
const JSON_BODY = { 'Content-Type': 'application/json' };

async function newThread(): Promise<{ id: string; ref: string; path: string }> {
  const { thread_id: id } = JSON.parse(await ask('POST', '/threads', { name: 'n' }));
  const path = `/threads/${id}`;
  const { ref } = JSON.parse(await ask('POST', `${path}/artifacts`, { name: 'fox.txt', content: CONTENT }));
  await ask('POST', `${path}/state/patch`, [
    { op: 'add', path: '/facts/-', value: { id: 'f', key: 'animal', value: 'fox' } },
  ]);
  return { id, ref, path };
}

/** Returns the thread's token counts that are not zero. */
async function readCosts(id: string): Promise<Partial<Stats['breakdown']>> {
  const { breakdown } = JSON.parse(await ask('GET', `/threads/${id}/stats`)) as Stats;
  return Object.fromEntries(Object.entries(breakdown).filter(([, figure]) => figure > 0));
}

test('over HTTP a read costs its answer, and a pull its content', async () => {
  const { id, ref, path } = await newThread();
  const texts = {
    headers: await ask('GET', `${path}/state/header`),
    states: await ask('GET', `${path}/state`),
    previews: await ask('GET', `${path}/artifacts/${ref}`),
    listings: await ask('GET', `${path}/artifacts`),
    searches: await ask('GET', `${path}/search?q=fox`),
  };
  const pulled = await ask('GET', `${path}/artifacts/${ref}?raw=1`);
  assert.deepEqual(await readCosts(id), {
    headers: tokens(texts.headers),
    header_reads: 1,
    states: tokens(texts.states),
    state_reads: 1,
    previews: tokens(texts.previews),
    preview_reads: 1,
    listings: tokens(texts.listings),
    listing_reads: 1,
    searches: tokens(texts.searches),
    search_reads: 1,
    pulls: tokens(pulled),
    pull_reads: 1,
  });
});

test('HEAD requests, reads that no model sees, reports and exports cost nothing', async () => {
  const { id, ref, path } = await newThread();
  for (const place of ['/state/header', '/state', '/artifacts', `/artifacts/${ref}`, '/search?q=fox']) {
    await ask('HEAD', path + place);
    await ask('GET', `${path}${place}${place.includes('?') ? '&' : '?'}counted=0`);
  }
  const raw = `${path}/artifacts/${ref}?raw=1`;
  const head = await fetch(relay.url + raw, { method: 'HEAD' });
  assert.equal(head.headers.get('content-length'), String(CONTENT.length));
  await ask('GET', `${raw}&counted=0`);
  await ask('POST', `/reports/${id}`, {});
  await ask('GET', `${path}/export`);
  assert.deepEqual(await readCosts(id), {});
  const { events } = JSON.parse(await ask('GET', `${path}/events`));
  const pulls = events.filter(({ type }: { type: string }) => type === 'artifact.pulled');
  assert.deepEqual(
    pulls.map(({ payload }: { payload: object }) => 'counted' in payload),
    [true],
    'that somebody has read it is an event all the same',
  );
});

test('the output of a piped command is counted as printed', async () => {
  const { id, ref } = await newThread();
  const run = async (...args: string[]) => {
    const ran = await runHere([...args, '--thread', id], {
      home: home.home,
      env: { CONTEXTRELAY_URL: relay.url },
    });
    assert.equal(ran.code, 0, ran.stderr);
    return tokens(args.includes('fox.txt') ? ran.stdout : ran.stdout.trimEnd());
  };
  const listings = (await run('artifact', 'list')) + (await run('artifact', 'list', '--json'));
  const expected = {
    headers: await run('state', 'header'),
    header_reads: 1,
    states: await run('state', 'get', '/facts'),
    state_reads: 1,
    previews: await run('artifact', 'get', ref.slice(0, 20), '--preview'),
    preview_reads: 1,
    listings,
    listing_reads: 2,
    searches: await run('artifact', 'search', 'fox'),
    search_reads: 1,
    pulls: await run('artifact', 'get', 'fox.txt'),
    pull_reads: 1,
  };
  assert.deepEqual(await readCosts(id), expected);
});

test('the answer of a tool is counted as returned', async () => {
  const { id, ref } = await newThread();
  await using mcp = await overHttp(relay.url, '2025-11-25');
  const call = async (name: string, args: object) => tokens(await mcp.call(name, { thread_id: id, ...args }));
  const expected = {
    headers: await call('thread_header', {}),
    header_reads: 1,
    searches: await call('artifact_search', { query: 'fox' }),
    search_reads: 1,
    pulls: await call('artifact_get', { ref }),
    pull_reads: 1,
  };
  assert.deepEqual(await readCosts(id), expected);
});
