import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { systemEnv } from '../../src/base/env.ts';
import { type ErrorCode, isRelayError } from '../../src/base/errors.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { fernetEncrypt, fernetKeyCheck, generateFernetKey } from '../../src/formats/fernet.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { pushJson, pushRaw, type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';

let relay: RelayUnderTest;
before(async () => {
  relay = await startRelay();
});
after(() => relay[Symbol.asyncDispose]());

/** Each call creates a new client, because a client does not count a second pull of the same payload. */
const clients: { readonly [where: string]: () => ContextRelay } = {
  'over HTTP': () => new ContextRelay({ baseUrl: relay.url, counter: ownTextWork }),
  'on the store': () =>
    new ContextRelay({
      relay: relay.core.relay(LOCAL_CALLER, relay.url),
      ownBases: [relay.url],
      counter: ownTextWork,
    }),
};

const refused = (code: ErrorCode) => (error: unknown) => isRelayError(error, code);
const withoutKey = (url: string) => url.split('#')[0]!;
const ZERO = `${'A'.repeat(43)}=`;

type Try = (client: ContextRelay, url: string) => Promise<unknown>;
const PULLS: { readonly [how: string]: Try } = {
  text: (client, url) => client.pull(url),
  bytes: (client, url) => client.pullBytes(url),
  range: (client, url) => client.pullBytes(url, { range: { start: 0, end: 3 } }),
  stream: (client, url) => client.pullStream(url),
  lines: (client, url) => client.pull(url, { lines: '1' }),
  outline: (client, url) => client.pullPart(url, { outline: true }),
  cost: (client, url) => client.cost(url),
  'cost of lines': (client, url) => client.cost(url, { lines: '1' }),
};

for (const [where, open] of Object.entries(clients)) {
  describe(where, () => {
    test('a pull that cannot succeed uses up no pull', async () => {
      const url = await open().push('for one reader', { encrypted: true, maxPulls: 1 });
      const wrong: [string, ErrorCode][] = [
        [withoutKey(url), 'key_missing'],
        [url.slice(0, -4), 'bad_key'],
        [`${withoutKey(url)}#key=`, 'bad_key'],
        [`${withoutKey(url)}#key=${ZERO}`, 'bad_key'],
        [`${withoutKey(url)}#key=${generateFernetKey(systemEnv)}`, 'decrypt_failed'],
      ];
      for (const [attempt, code] of wrong) {
        for (const [how, pull] of Object.entries(PULLS)) {
          await assert.rejects(pull(open(), attempt), refused(code), `${how} with ${code}`);
        }
      }
      assert.equal(await open().pull(url), 'for one reader');
      await assert.rejects(open().pull(url), refused('not_found'));
    });

    for (const encrypted of [true, false]) {
      const kind = encrypted ? 'encrypted' : 'plain';
      test(`an outline, a cost, a search without a match and a range out of bounds use up no pull of a ${kind} payload`, async () => {
        const url = await open().push('# Title\n\nfor one reader\n', { encrypted, maxPulls: 1 });
        const pullsLeft = async () => (await open().inspect(url)).pulls_left;
        for (let round = 0; round < 3; round++) {
          assert.match((await open().pullPart(url, { outline: true })).text, /Title/);
          assert.ok((await open().cost(url)).tokens > 3);
          assert.ok((await open().cost(url, { lines: '3' })).tokens > 1);
          const search = await open().pullPart(url, { grep: 'nothing like it' });
          assert.equal(search.text, '');
          assert.equal(search.about, '0 matches in 3 lines');
          await assert.rejects(open().pullPart(url, { lines: '900-' }), refused('bad_part'));
          const range = { start: 900, end: 901 };
          await assert.rejects(open().pullBytes(url, { range }), refused('range_not_satisfiable'));
          assert.equal(await pullsLeft(), 1);
        }
        assert.equal(await open().pull(url, { grep: 'reader' }), '3:for one reader');
        assert.equal(await pullsLeft(), 0);
        for (const [how, pull] of Object.entries(PULLS)) {
          // Skip the cost of a plain payload: the record contains the cost, so it can be read after the last pull.
          if (how.startsWith('cost') && !encrypted) continue;
          await assert.rejects(pull(open(), url), refused('not_found'), how);
        }
      });
    }

    test('a look at an encrypted payload reserves the pull, so that it counts once', async () => {
      const url = await open().push('for two readers', { encrypted: true, maxPulls: 2 });
      await open().pullPart(url, { outline: true });
      assert.equal(await open().pull(url), 'for two readers');
      assert.equal(await open().pull(url, { lines: '1' }), 'for two readers');
      await assert.rejects(open().pull(url), refused('not_found'));
    });

    test('for a pointer without a key check, the format of the key is checked', async () => {
      const key = generateFernetKey(systemEnv);
      const token = await fernetEncrypt(key, new TextEncoder().encode('from afar'), { now: systemEnv.now() });
      const url = await open().push(token, { maxPulls: 1 });
      for (const bad of [key.slice(0, -4), ZERO]) {
        await assert.rejects(open().pull(`${url}#key=${bad}`), refused('bad_key'));
      }
      assert.equal(await open().pull(`${url}#key=${key}`), 'from afar');
    });

    test('a peek returns the key check separately from the metadata', async () => {
      const url = await open().push('x', { encrypted: true, metadata: { topic: 'plain' } });
      const info = await open().inspect(url);
      assert.equal(info.key_check, await fernetKeyCheck(url.split('#key=')[1]!));
      assert.deepEqual(info.metadata, { topic: 'plain' });
      assert.equal('key_check' in (await open().inspect(await open().push('x'))), false);
    });
  });
}

describe('on the wire', () => {
  const CHECK = '0123456789abcdef';
  const peek = (id: string) => fetch(`${relay.url}/peek/${id}`);

  test('the key check is a field of the envelope, a header of a raw push, and a header of a peek', async () => {
    const json = await pushJson(relay, { data: 'x', key_check: CHECK });
    const raw = await pushRaw(relay, 'x', '', { 'Relay-Key-Check': CHECK });
    for (const { id } of [json.answer, raw.answer]) {
      const peeked = await peek(id);
      assert.equal(peeked.headers.get('relay-key-check'), CHECK);
      assert.deepEqual(await peeked.json(), {});
    }
    const large = await pushJson(relay, { data: 'x'.repeat(2 * 1024 * 1024), key_check: CHECK });
    assert.equal((await peek(large.answer.id)).headers.get('relay-key-check'), CHECK);
  });

  test('anything but 16 hexadecimal digits is refused', async () => {
    for (const key_check of ['', 'short', CHECK.toUpperCase(), `${CHECK}00`, 7, {}]) {
      const { response } = await pushJson(relay, { data: 'x', key_check });
      assert.equal(response.status, 400, JSON.stringify(key_check));
    }
  });

  test('a push repeated with its key check returns the same pointer, and with another check is refused', async () => {
    const again = { 'Idempotency-Key': 'checked' };
    const first = await pushJson(relay, { data: 'x', key_check: CHECK }, again);
    const second = await pushJson(relay, { data: 'x', key_check: CHECK }, again);
    assert.equal(second.answer.id, first.answer.id);
    const other = await pushJson(relay, { data: 'x', key_check: CHECK.replace('0', '1') }, again);
    assert.equal(other.response.status, 409);
    const without = await pushJson(relay, { data: 'x' }, again);
    assert.equal(without.response.status, 409);
  });

  test('ciphertext has neither parts nor a token cost', async () => {
    const url = await clients['over HTTP']!().push('secret', { encrypted: true, maxPulls: 1 });
    for (const query of ['lines=1', 'grep=g', 'outline=1', 'cost=1', 'lines=1&cost=1']) {
      const response = await fetch(`${withoutKey(url)}?${query}`);
      assert.equal(response.status, 400, query);
      assert.equal(((await response.json()) as { code: string }).code, 'key_missing', query);
    }
    assert.match(await (await fetch(`${withoutKey(url)}?raw=1`)).text(), /^gAAAAA/);
  });
});
