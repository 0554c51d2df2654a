import assert from 'node:assert/strict';
import { request } from 'node:http';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { type Failure, pushJson, pushRaw, type RelayUnderTest, startRelay } from './relay-under-test.ts';

let relay: RelayUnderTest;
before(async () => {
  relay = await startRelay();
});
after(async () => {
  await relay[Symbol.asyncDispose]();
  assert.deepEqual(
    relay.log.filter((event) => event.level === 'error'),
    [],
  );
});

/** Checks a refusal: its body explains it, and nothing is left in the store. */
async function refused(status: number, code: string, response: Response): Promise<Failure> {
  const failure = (await response.json()) as Failure;
  assert.equal(response.status, status, JSON.stringify(failure));
  assert.equal(failure.code, code);
  assert.deepEqual(Object.keys(failure).sort(), ['code', 'error', 'hint']);
  assert.ok(failure.error.length > 0 && failure.hint.length > 0 && !failure.error.includes('{'));
  const usage = await relay.engine.usage();
  assert.equal(usage.blobs.count, 0, 'a body was left behind');
  return failure;
}

const post = (body: BodyInit | null, headers: Record<string, string> = {}, query = '') =>
  fetch(`${relay.url}/push${query}`, { method: 'POST', body, headers });
const json = (body: string) => post(body, { 'Content-Type': 'application/json' });
const big = (rest: string) => `{"pad":"${'p'.repeat(10)}","data":"${'d'.repeat(1_100_000)}"${rest}`;

const BAD_JSON: [string, string, number, string][] = [
  ['no JSON at all', 'hello', 400, 'bad_json'],
  ['half of an object', '{"data":"x"', 400, 'bad_json'],
  ['null', 'null', 400, 'bad_request'],
  ['an array', '["data"]', 400, 'bad_request'],
  ['a string', '"data"', 400, 'bad_request'],
  ['no data', '{"metadata":{}}', 400, 'bad_request'],
  ['data that is null', '{"data":null}', 400, 'bad_request'],
  ['data that is an object', '{"data":{}}', 400, 'bad_request'],
  ['data that is a number', '{"data":5}', 400, 'bad_request'],
  ['empty data', '{"data":""}', 400, 'empty_payload'],
  ['half of a surrogate pair', '{"data":"\\ud800"}', 400, 'bad_request'],
  ['a channel that is a number', '{"data":"x","channel":5}', 400, 'bad_request'],
  ['a channel that is too long', `{"data":"x","channel":"${'c'.repeat(257)}"}`, 400, 'bad_request'],
  ['a channel with a NUL', '{"data":"x","channel":"a\\u0000b"}', 400, 'bad_request'],
  ['metadata that is an array', '{"data":"x","metadata":[]}', 400, 'bad_request'],
  ['metadata that is text', '{"data":"x","metadata":"m"}', 400, 'bad_request'],
  ['metadata that is too large', `{"data":"x","metadata":{"m":"${'m'.repeat(20_000)}"}}`, 413, 'too_large'],
  [
    'metadata that is too deep',
    `{"data":"x","metadata":${'{"a":'.repeat(80)}1${'}'.repeat(80)}}`,
    400,
    'bad_request',
  ],
  ['a ttl of zero', '{"data":"x","ttl":0}', 400, 'bad_request'],
  ['a ttl of 3651 days', '{"data":"x","ttl":315446400}', 400, 'bad_request'],
  ['a ttl that is text', '{"data":"x","ttl":"60"}', 400, 'bad_request'],
  ['max_pulls of a half', '{"data":"x","max_pulls":0.5}', 400, 'bad_request'],
  ['max_pulls below one', '{"data":"x","max_pulls":0}', 400, 'bad_request'],
  ['an unknown visibility', '{"data":"x","visibility":"world"}', 400, 'bad_request'],
  ['a large body cut short', big(''), 400, 'bad_json'],
  ['a large body with data twice', big(',"data":"x"}'), 400, 'bad_json'],
  ['a large body with a bad ttl behind the data', big(',"ttl":-1}'), 400, 'bad_request'],
  ['a large body with junk behind', big('} trailing'), 400, 'bad_json'],
  [
    'a large body whose data is an object',
    `{"pad":"${'p'.repeat(100)}","data":{"x":"${'d'.repeat(1_100_000)}"}}`,
    400,
    'bad_request',
  ],
  ['a large body with a bad escape', `{"data":"${'d'.repeat(1_100_000)}\\x"}`, 400, 'bad_json'],
  ['a large body with half a pair', `{"data":"${'d'.repeat(1_100_000)}\\ud800"}`, 400, 'bad_request'],
  [
    'a large body with a bare line feed in a string',
    `{"data":"${'d'.repeat(1_100_000)}\n"}`,
    400,
    'bad_json',
  ],
  [
    'large fields beside the data',
    `{"metadata":{"m":"${'m'.repeat(1_100_000)}"},"data":"x"}`,
    413,
    'too_large',
  ],
  ['very deep JSON', `${'['.repeat(500_000)}`, 400, 'bad_json'],
];
for (const [name, body, status, code] of BAD_JSON) {
  test(`a push of ${name} is refused with ${status} ${code}`, async () => {
    await refused(status, code, await json(body));
  });
}

test('JSON that is not UTF-8 is refused, large or small', async () => {
  for (const padding of ['', 'd'.repeat(1_100_000)]) {
    const bytes = Buffer.concat([Buffer.from(`{"data":"${padding}`), Buffer.of(0xff), Buffer.from('"}')]);
    await refused(400, 'bad_json', await post(bytes, { 'Content-Type': 'application/json' }));
  }
});

test('an empty body is refused', async () => {
  await refused(400, 'empty_payload', await post(''));
  await refused(400, 'empty_payload', await post(null));
});

const BAD_QUERY = ['?ttl=abc', '?ttl=-1', '?ttl=1e9', '?max_pulls=x', '?max_pulls=1.5', '?visibility=all'];
for (const query of BAD_QUERY) {
  test(`a raw push with ${query} is refused`, async () => {
    await refused(400, 'bad_request', await post('x', {}, query));
  });
}

test('a broken Relay-Metadata header is refused', async () => {
  await refused(400, 'bad_request', await post('x', { 'Relay-Metadata': '!!!' }));
  await refused(400, 'bad_request', await post('x', { 'Relay-Metadata': btoa('[1]') }));
});

test('an Idempotency-Key that is too long is refused', async () => {
  await refused(400, 'bad_request', await post('x', { 'Idempotency-Key': 'k'.repeat(300) }));
});

test('a declared length above the limit is refused before the body is read', async () => {
  const { port } = new URL(relay.url);
  const answer = await new Promise<{ status: number; body: string }>((resolve, reject) => {
    const out = request({
      port,
      host: '127.0.0.1',
      path: '/push',
      method: 'POST',
      headers: { 'Content-Length': 40_000_000, 'Content-Type': 'text/plain' },
    });
    out.on('response', async (response) => {
      let body = '';
      for await (const chunk of response) body += chunk;
      resolve({ status: response.statusCode!, body });
      out.destroy();
    });
    out.on('error', reject);
    out.write('only the first few bytes');
  });
  assert.equal(answer.status, 413);
  assert.equal(JSON.parse(answer.body).code, 'too_large');
});

test('an endless body without a length is refused at the limit', async () => {
  let sentBytes = 0;
  const body = new ReadableStream({
    async pull(controller) {
      // Yield to the server, which uses the same event loop. Stop after 60 MB, so that the test ends even without a
      // limit.
      await new Promise((resolve) => setImmediate(resolve));
      if (sentBytes >= 60_000_000) return controller.close();
      sentBytes += 1_000_000;
      controller.enqueue(new Uint8Array(1_000_000).fill(97));
    },
  });
  const response = await fetch(`${relay.url}/push`, {
    method: 'POST',
    body,
    duplex: 'half',
  } as RequestInit).catch(() => null);
  // There is no answer if the connection is reset while the client is still sending.
  if (response) await refused(413, 'too_large', response);
  assert.ok(sentBytes < 60_000_000, `${sentBytes} bytes were taken`);
  assert.equal((await relay.engine.usage()).blobs.count, 0);
});

for (const size of [50_000, 5_000_000]) {
  test(`an upload of ${size} bytes that is cut off leaves nothing, and the server goes on`, async () => {
    const { port } = new URL(relay.url);
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        socket.write(`POST /push HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${size}\r\n\r\n`);
        socket.write(Buffer.alloc(size / 2, 97), () => setTimeout(() => socket.destroy(), 50));
      });
      socket.on('close', () => resolve());
      socket.on('error', () => resolve());
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal((await relay.engine.usage()).blobs.count, 0);
    assert.equal((await fetch(`${relay.url}/health`)).status, 200);
  });
}

const PATHS = [
  '/pull/',
  '/pull',
  '/pull/a/b',
  '/peek/',
  '/nowhere',
  '/v1',
  '/push/x',
  '/%ff',
  '/pull/%E0%A4%A',
];
for (const path of PATHS) {
  test(`GET ${path} is 404 with a body that helps`, async () => {
    const response = await fetch(`${relay.url}${path}`);
    const failure = (await response.json()) as Failure;
    assert.equal(response.status, 404, JSON.stringify(failure));
    assert.ok(failure.hint.length > 0);
  });
}

test('raw requests that are not HTTP, or have no host, are refused and the server goes on', async () => {
  const { port } = new URL(relay.url);
  const say = (text: string) =>
    new Promise<string>((resolve) => {
      let response = '';
      const socket = connect(Number(port), '127.0.0.1', () => socket.end(text));
      socket.on('data', (chunk) => {
        response += chunk;
      });
      socket.on('close', () => resolve(response));
      socket.on('error', () => resolve(response));
    });
  assert.match(await say('nonsense\r\n\r\n'), /^HTTP\/1.1 400/);
  assert.match(await say('GET /health HTTP/1.1\r\n\r\n'), /^HTTP\/1.1 400/);
  assert.match(
    await say('GET /../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n'),
    /^HTTP\/1.1 404/,
  );
  assert.equal((await fetch(`${relay.url}/health`)).status, 200);
});

test('good input still works after all that', async () => {
  const { answer } = await pushJson(relay, { data: 'ok' });
  assert.equal(JSON.parse(await (await fetch(answer.url)).text()).data, 'ok');
  await fetch(answer.url, { method: 'DELETE' });
  const { answer: other } = await pushRaw(relay, 'ok');
  await fetch(other.url, { method: 'DELETE' });
});

test('a query that the schema forbids is refused', async () => {
  const refused = async (method: string, path: string) => {
    const response = await fetch(relay.url + path, { method, ...(method === 'POST' ? { body: 'x' } : {}) });
    return [response.status, ((await response.json()) as Failure).code];
  };
  assert.deepEqual(await refused('POST', '/push?channel='), [400, 'bad_request']);
  assert.deepEqual(await refused('GET', '/shares?thread_id='), [400, 'bad_request']);
  assert.deepEqual(await refused('GET', '/shares?thread_id=no-uuid'), [400, 'bad_request']);
});

test('the OpenAPI document allows null options in a JSON push, as older clients send them, but not in a query', async () => {
  const options = {
    channel: null,
    metadata: null,
    ttl: null,
    max_pulls: null,
    visibility: null,
    key_check: null,
  };
  const { response } = await pushJson(relay, { data: 'x', ...options });
  assert.equal(response.status, 200);
  const { paths } = await (await fetch(`${relay.url}/openapi.json`)).json();
  const { requestBody, parameters } = paths['/push'].post;
  const { properties } = requestBody.content['application/json'].schema;
  for (const name of Object.keys(options)) assert.match(JSON.stringify(properties[name]), /"null"/, name);
  assert.doesNotMatch(JSON.stringify(parameters), /"null"/);
});
