import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { type Failure, pushRaw, type RelayUnderTest, startRelay } from './relay-under-test.ts';

let relay: RelayUnderTest;
let text: string;
let json: string;
let binary: string;
before(async () => {
  relay = await startRelay();
  const lines = Array.from({ length: 100 }, (_, i) => `line ${i + 1}`).join('\n');
  text = (await pushRaw(relay, lines)).answer.url;
  json = (await pushRaw(relay, '{"users":[{"name":"Zoë"},{"name":"Li"}],"a/b":{"~":7}}')).answer.url;
  binary = (await pushRaw(relay, Uint8Array.of(0xff, 0xfe, 0x00))).answer.url;
});
after(() => relay[Symbol.asyncDispose]());

test('lines returns only these lines, and the total number', async () => {
  const response = await fetch(`${text}?lines=10-12`);
  assert.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.equal(await response.text(), 'line 10\nline 11\nline 12');
  assert.match(decodeURIComponent(response.headers.get('relay-part')!), /10-12/);
  assert.equal(await (await fetch(`${text}?lines=-1`)).text(), 'line 100');
});

test('grep answers matching lines with their numbers', async () => {
  assert.equal(
    await (await fetch(`${text}?grep=${encodeURIComponent('^line 9\\d$')}`))
      .text()
      .then((t) => t.split('\n')[0]),
    '90:line 90',
  );
  const around = await (await fetch(`${text}?grep=line%2050&context=1`)).text();
  assert.equal(around.trimEnd(), '49-line 49\n50:line 50\n51-line 51');
});

test('json answers the value behind a pointer', async () => {
  assert.equal((await (await fetch(`${json}?json=/users/1`)).text()).trim(), '{\n  "name": "Li"\n}');
  assert.equal((await (await fetch(`${json}?json=${encodeURIComponent('/a~1b/~0')}`)).text()).trim(), '7');
  const missing = await fetch(`${json}?json=/users/7`);
  assert.equal(missing.status, 400);
  assert.match(((await missing.json()) as Failure).error, /7/);
});

test('outline answers a shape with line numbers', async () => {
  const outline = await (await fetch(`${json}?outline=1`)).text();
  assert.match(outline, /users/);
});

test('cost returns the counted tokens of the whole payload and of a part', async () => {
  const whole = (await (await fetch(`${text}?cost=1`)).json()) as Record<string, unknown>;
  assert.equal(whole.tokenizer, 'o200k_base');
  assert.equal(whole.estimated, false);
  assert.equal(whole.bytes, 791);
  const part = (await (await fetch(`${text}?lines=1&cost=1`)).json()) as Record<string, number>;
  assert.ok(part.tokens! < Number(whole.tokens));
  const peeked = await fetch(text.replace('/pull/', '/peek/'));
  assert.equal(peeked.headers.get('relay-tokens'), `${whole.tokens}; o200k_base`);
});

test('?excerpt=N returns the most important lines of a push; for an encrypted push the client makes them', async () => {
  const log = Array.from({ length: 9000 }, (_, i) => `2026-11-01 INFO request ${i} done, no error`);
  log[6000] = '2026-11-01 ERROR payment 88213 failed';
  const { answer } = await pushRaw(relay, log.join('\n'), '?excerpt=300');
  assert.match(answer.excerpt!, /^6001 2026-11-01 ERROR payment 88213 failed$/m);
  assert.match(answer.excerpt!, /^9000 2026/m);
  const client = new ContextRelay({ baseUrl: relay.url });
  const encrypted = await client.pushDetailed(log.join('\n'), { encrypted: true, excerpt: 300 });
  assert.match(encrypted.excerpt!, /^6001 2026-11-01 ERROR payment/m);
  const wrong = await pushRaw(relay, 'x', '?excerpt=0');
  assert.equal(wrong.response.status, 400);
});

test('?count=1 counts at the push', async () => {
  const { answer } = await pushRaw(relay, 'hello world', '?count=1');
  assert.deepEqual((answer as unknown as { tokens: unknown }).tokens, {
    tokens: 2,
    tokenizer: 'o200k_base',
    estimated: false,
  });
});

const BAD: [string, string, number, string][] = [
  ['lines that run backwards', '?lines=9-3', 400, 'bad_part'],
  ['lines that are no numbers', '?lines=a-b', 400, 'bad_part'],
  ['two parts at once', '?lines=1&grep=x', 400, 'bad_part'],
  ['a broken pattern', '?grep=%5B', 400, 'bad_part'],
  ['too much context', '?grep=x&context=1000', 400, 'bad_part'],
  ['a pointer without its slash', '?json=users', 400, 'bad_part'],
];
for (const [name, query, status, code] of BAD) {
  test(`${name} is refused`, async () => {
    const response = await fetch(`${text}${query}`);
    assert.equal(response.status, status);
    assert.equal(((await response.json()) as Failure).code, code);
  });
}

test('a pattern that would cause catastrophic backtracking in other engines is answered', async () => {
  const { answer } = await pushRaw(relay, `${'a'.repeat(50_000)}!`);
  const response = await fetch(`${answer.url}?grep=${encodeURIComponent('(a+)+$')}`);
  assert.equal(response.status, 200);
});

test('parts of binary payloads are refused', async () => {
  const response = await fetch(`${binary}?lines=1`);
  assert.equal(response.status, 422);
  assert.equal(((await response.json()) as Failure).code, 'not_text');
});
