import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { systemEnv } from '../../src/base/env.ts';
import { isRelayError } from '../../src/base/errors.ts';
import { fernetEncrypt, generateFernetKey } from '../../src/formats/fernet.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { runHere } from '../cli/in-process.ts';
import { atTerminal, temporaryHome } from '../cli/program.ts';
import { type OriginalServer, startOriginal } from './original-server.ts';

const TEXT = 'first\nsecond "quoted" é🙂\nthird\n';

describe('a pointer of the original server, which sends no Relay-* headers', () => {
  let original: OriginalServer;
  before(async () => {
    original = await startOriginal();
  });
  after(() => original[Symbol.asyncDispose]());
  const elsewhere = () => new ContextRelay({ baseUrl: 'http://127.0.0.1:9', apiKey: 'cr_live_x' });
  const ownClient = () => new ContextRelay({ baseUrl: original.url, apiKey: 'cr_live_x' });

  it('can be pulled as text, as bytes, as a stream, as a range and as a part', async () => {
    const url = original.url + original.put(TEXT, { topic: 'survey' });
    for (const client of [elsewhere(), ownClient()]) {
      assert.equal(await client.pull(url), TEXT);
      assert.deepEqual(Buffer.from(await client.pullBytes(url)).toString(), TEXT);
      assert.equal(await new Response(await client.pullStream(url)).text(), TEXT);
      const range = await client.pullBytes(url, { range: { start: 2, end: 8 } });
      assert.equal(Buffer.from(range).toString(), 'rst\nse');
      assert.equal((await client.pullPart(url, { lines: '2' })).text.trim(), 'second "quoted" é🙂');
      assert.match(await client.pull(url, { grep: 'thi' }), /third/);
    }
  });

  it('can be peeked at, and unknown fields are null', async () => {
    const url = original.url + original.put(TEXT, { topic: 'survey' });
    assert.deepEqual(await elsewhere().peek(url), { topic: 'survey' });
    const { id, metadata, ...unknown } = await elsewhere().inspect(url);
    assert.equal(id, url.slice(-36));
    assert.deepEqual(metadata, { topic: 'survey' });
    assert.deepEqual([...new Set(Object.values(unknown))], [null]);
    assert.ok(!original.requests.some(({ path }) => path === `/pull/${id}`));
  });

  it('is decrypted with the key in its URL', async () => {
    const key = generateFernetKey(systemEnv);
    const token = await fernetEncrypt(key, new TextEncoder().encode(TEXT), { now: Date.now() });
    const url = `${original.url}${original.put(token)}#key=${key}`;
    assert.equal(await elsewhere().pull(url), TEXT);
  });

  it('is not found after it was deleted', async () => {
    const url = `${original.url}/pull/${crypto.randomUUID()}`;
    await assert.rejects(elsewhere().pull(url), (error) => isRelayError(error, 'not_found'));
    await assert.rejects(elsewhere().peek(url), (error) => isRelayError(error, 'not_found'));
  });

  it('may be any URL that answers with an envelope; other answers are an error', async () => {
    const url = original.url + original.put(TEXT, { topic: 'survey' }).replace('/pull/', '/elsewhere/');
    original.requests.length = 0;
    assert.equal(await elsewhere().pull(url), TEXT);
    assert.equal(await elsewhere().pull(url, { lines: '1' }), 'first');
    const info = await elsewhere().inspect(url);
    assert.deepEqual(
      [info.id, info.metadata, info.size, info.expires_at],
      [url, { topic: 'survey' }, Buffer.byteLength(TEXT), null],
    );
    assert.deepEqual(
      original.requests.filter(({ key }) => key !== undefined),
      [],
    );
    await assert.rejects(elsewhere().pull(`${original.url}/page`), /not a relay.*\{data, metadata\}/);
    await assert.rejects(elsewhere().delete(url), (error) => isRelayError(error, 'bad_url'));
    await assert.rejects(elsewhere().receipts(url), (error) => isRelayError(error, 'bad_url'));
    await assert.rejects(elsewhere().pull('ftp://host/x'), (error) => isRelayError(error, 'bad_url'));
  });

  it('can be read on the command line, which marks unknown fields', async () => {
    using place = temporaryHome();
    const { home } = place;
    const url = original.url + original.put(TEXT, { topic: 'survey' });
    for (const pointer of [url, url.replace('/pull/', '/elsewhere/')]) {
      const pulled = await runHere(['pull', pointer], { home });
      assert.deepEqual([pulled.code, pulled.stdout], [0, TEXT], pulled.stderr);
      const peeked = await runHere(['peek', pointer], { home });
      assert.deepEqual([peeked.code, peeked.stdout], [0, '{"topic":"survey"}\n'], peeked.stderr);
    }
    const { stdout, code } = await atTerminal(`$relay peek ${url}`, { home });
    assert.equal(code, 0, stdout);
    assert.match(stdout, /size +unknown/);
    assert.match(stdout, /expires +unknown/);
    assert.match(stdout, /topic +survey/);
    assert.doesNotMatch(stdout, /null|NaN|undefined|1970/);
  });
});
