import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WireRelay } from '../../test/sdk/wire-relay.ts';
import { isRelayError, RelayError } from '../base/errors.ts';
import { ContextRelay } from './context-relay.ts';
import { httpRelay } from './http-relay.ts';
import { connection } from './options.ts';

const KEY = 'cr_live_0123456789abcdef';

test('no call on a pointer of another host sends the key', async () => {
  await using own = await WireRelay.start();
  await using other = await WireRelay.start();
  const foreign = await new ContextRelay({ baseUrl: other.url }).push('theirs');
  other.seen.length = 0;
  const relay = new ContextRelay({ baseUrl: own.url, apiKey: KEY });
  assert.equal(await relay.pull(foreign), 'theirs');
  await relay.pull(foreign, { lines: '1' });
  await relay.pullBytes(foreign);
  await relay.peek(foreign);
  await relay.cost(foreign);
  await relay.delete(foreign);
  assert.equal(other.seen.length, 6);
  assert.ok(!JSON.stringify(other.seen.map((seen) => seen.headers)).includes(KEY));
  assert.equal(own.seen.length, 0);
});

test('a redirect is not followed with a key, and never for a push', async () => {
  await using own = await WireRelay.start();
  await using other = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: own.url, apiKey: KEY });
  const url = await relay.push('x');
  for (const status of [301, 302, 303, 307, 308]) {
    own.trouble = (seen, response) => {
      response.writeHead(status, { Location: `${other.url}${seen.path}` }).end();
      return true;
    };
    const isRedirectError = (error: unknown) =>
      isRelayError(error, 'bad_request') && error.message.includes(other.url);
    await assert.rejects(relay.pull(url), isRedirectError);
    await assert.rejects(relay.peek(url), isRedirectError);
    await assert.rejects(relay.delete(url), isRedirectError);
    await assert.rejects(relay.push('y'), isRedirectError);
    await assert.rejects(new ContextRelay({ baseUrl: own.url }).push('y'), isRedirectError);
  }
  assert.equal(other.seen.length, 0);
});

test('without a key, a pull follows a redirect', async () => {
  await using own = await WireRelay.start();
  await using other = await WireRelay.start();
  const moved = new URL(await new ContextRelay({ baseUrl: other.url }).push('moved')).pathname;
  own.trouble = (_, response) => {
    response.writeHead(301, { Location: other.url + moved }).end();
    return true;
  };
  assert.equal(await new ContextRelay({ baseUrl: own.url }).pull(own.url + moved), 'moved');
});

test('pointers with the public address are requested at the base URL, with the key', async () => {
  await using own = await WireRelay.start();
  await using elsewhere = await WireRelay.start();
  own.publicUrl = elsewhere.url;
  const relay = new ContextRelay({ baseUrl: own.url, apiKey: KEY });
  const url = await relay.push('x');
  assert.ok(url.startsWith(elsewhere.url));
  assert.equal(await relay.pull(url), 'x');
  const aliased = new ContextRelay({ baseUrl: own.url, apiKey: KEY, ownBases: [`${elsewhere.url}/`] });
  assert.equal(await aliased.pull(url), 'x');
  assert.equal(elsewhere.seen.length, 0);
  assert.ok(own.headers('authorization').every((header) => header === `Bearer ${KEY}`));
});

test('the same origin with another path, an alias, and a bare id belong to the own relay', async () => {
  await using own = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: `${own.url}/`, apiKey: KEY });
  const { url, id } = await relay.pushDetailed('x');
  assert.equal(await relay.pull(id), 'x');
  assert.equal(await relay.pull(url.replace('/pull/', '/v1/pull/')), 'x');
  await assert.rejects(relay.pull(url.replace('/pull/', '/elsewhere/pull/')), (error) =>
    isRelayError(error, 'not_found'),
  );
  assert.equal(own.seen.at(-1)!.path, `/elsewhere/pull/${id}`);
  assert.ok(own.headers('authorization').every((header) => header === `Bearer ${KEY}`));
});

test('with the relay option, own pointers use no network and other pointers are requested without the key', async () => {
  await using other = await WireRelay.start();
  const foreign = await new ContextRelay({ baseUrl: other.url }).push('theirs');
  other.seen.length = 0;
  const inner = await WireRelay.start();
  const innerRelay = httpRelay({ baseUrl: inner.url });
  const here = 'http://127.0.0.1:7474';
  inner.publicUrl = here;
  const relay = new ContextRelay({ relay: innerRelay, ownBases: [here], apiKey: KEY });
  const url = await relay.push('mine');
  assert.ok(url.startsWith(`${here}/pull/`));
  assert.equal(await relay.pull(url), 'mine');
  assert.equal(await relay.pull(foreign), 'theirs');
  assert.deepEqual(other.headers('authorization'), [undefined]);
  await inner[Symbol.asyncDispose]();
});

test('a key is sent unchanged or rejected, and never shown', () => {
  assert.throws(
    () => new ContextRelay({ baseUrl: 'http://h', apiKey: 'cr_live_\u2026broken' }),
    (error) => error instanceof RelayError && !error.message.includes('broken'),
  );
  assert.doesNotThrow(() => new ContextRelay({ baseUrl: 'http://h', apiKey: `${KEY}\n` }));
});

test('an invalid base URL is rejected at once, without showing secrets in it', () => {
  for (const baseUrl of ['', 'relay', 'ftp://h', 'http://me:hunter2@h']) {
    assert.throws(
      () => new ContextRelay({ baseUrl }),
      (error) => isRelayError(error, 'bad_request') && !error.message.includes('hunter2'),
    );
  }
});

test('address and key come from the environment, and the key is used only with that address', () => {
  const before = { ...process.env };
  const target = (options: Parameters<typeof connection>[0]) => {
    const { baseUrl, apiKey } = connection(options);
    return { baseUrl, apiKey };
  };
  const set = (url?: string, key?: string) => {
    delete process.env.CONTEXTRELAY_URL;
    delete process.env.CONTEXTRELAY_API_KEY;
    if (url) process.env.CONTEXTRELAY_URL = url;
    if (key) process.env.CONTEXTRELAY_API_KEY = key;
  };
  try {
    set();
    assert.deepEqual(target({}), { baseUrl: 'http://127.0.0.1:7474', apiKey: undefined });
    set('https://mine', KEY);
    assert.deepEqual(target({}), { baseUrl: 'https://mine', apiKey: KEY });
    assert.deepEqual(target({ baseUrl: 'https://mine/sub' }), {
      baseUrl: 'https://mine/sub',
      apiKey: KEY,
    });
    assert.deepEqual(target({ baseUrl: 'https://other' }), {
      baseUrl: 'https://other',
      apiKey: undefined,
    });
    assert.deepEqual(target({ baseUrl: 'https://other', apiKey: 'k' }), {
      baseUrl: 'https://other',
      apiKey: 'k',
    });
    set(undefined, KEY);
    assert.deepEqual(target({ baseUrl: 'https://other' }), { baseUrl: 'https://other', apiKey: KEY });
  } finally {
    process.env = before;
  }
});
