import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { hkdfSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { extraData } from '../../test/extra-data.ts';
import { systemEnv } from '../base/env.ts';
import { isRelayError } from '../base/errors.ts';
import { PAYLOAD_BYTES, STORED_BYTES } from '../base/limits.ts';
import { fernetDecrypt, fernetEncrypt, fernetKeyCheck, generateFernetKey, isFernetKey } from './fernet.ts';

// The example of the public Fernet specification.
const KEY = 'cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=';
const TOKEN =
  'gAAAAAAdwJ6wAAECAwQFBgcICQoLDA0ODy021cpGVWKZ_eEwCGM4BLLF_5CV9dOPmrhuVUPgJobwOz7JcbmrR64jVmpU4IwqDA==';
const MADE_AT = 499162800_000;
const IV = Uint8Array.from({ length: 16 }, (_, i) => i);

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const bytes = (source: string) => new TextEncoder().encode(source);
const failed = (error: unknown) => isRelayError(error, 'decrypt_failed');

test('the example of the specification encrypts and decrypts correctly', async () => {
  assert.equal(await fernetEncrypt(KEY, bytes('hello'), { now: MADE_AT, iv: IV }), TOKEN);
  assert.equal(text(await fernetDecrypt(KEY, TOKEN)), 'hello');
  assert.equal(text(await fernetDecrypt(KEY, bytes(TOKEN))), 'hello');
});

test('a token with any changed byte is rejected', async () => {
  for (let i = 0; i < TOKEN.length; i++) {
    const changed = TOKEN.slice(0, i) + (TOKEN[i] === 'A' ? 'B' : 'A') + TOKEN.slice(i + 1);
    await assert.rejects(fernetDecrypt(KEY, changed), failed, `at ${i}`);
  }
});

test('text that is not a token is rejected with the same error', async () => {
  const wrong = [
    '',
    'hello',
    TOKEN.slice(0, -1),
    TOKEN.slice(0, -2),
    `${TOKEN}\n`,
    `${TOKEN}====`,
    TOKEN.slice(4),
    `é${TOKEN}`,
  ];
  for (const token of wrong)
    await assert.rejects(fernetDecrypt(KEY, token), failed, JSON.stringify(token.slice(0, 9)));
  await assert.rejects(fernetDecrypt(KEY, new Uint8Array([0xff, 0x00])), failed);
});

test('a token is rejected with another key', async () => {
  await assert.rejects(fernetDecrypt(generateFernetKey(systemEnv), TOKEN), failed);
});

test('a damaged key is reported without showing the key', async () => {
  for (const key of ['', 'short', KEY.slice(0, -2), `${KEY}AAAA`, KEY.replace('_', '/'), `${KEY} `]) {
    await assert.rejects(fernetDecrypt(key, TOKEN), (error) => {
      return isRelayError(error, 'bad_key') && (key === '' || !error.message.includes(key));
    });
  }
});

test('a key without its padding still works', async () => {
  assert.equal(text(await fernetDecrypt(KEY.replace('=', ''), TOKEN)), 'hello');
});

test('keys are 32 random bytes in padded base64url, and tokens of the same text differ', async () => {
  const key = generateFernetKey(systemEnv);
  assert.match(key, /^[\w-]{43}=$/);
  assert.notEqual(key, generateFernetKey(systemEnv));
  const tokens = [1, 2].map(() => fernetEncrypt(key, bytes('same'), { now: 0 }));
  assert.notEqual(await tokens[0], await tokens[1]);
});

test('the largest payload comes back, and its token fits what a relay stores', async () => {
  const key = generateFernetKey(systemEnv);
  const payload = new Uint8Array(PAYLOAD_BYTES);
  for (let i = 0; i < payload.length; i += 4093) payload[i] = i % 251;
  const token = await fernetEncrypt(key, payload, { now: 0 });
  assert.ok(token.length <= STORED_BYTES);
  assert.equal(Buffer.compare(await fernetDecrypt(key, token), payload), 0);
});

const vectors = extraData('vectors/fernet');
interface Vector {
  desc?: string;
  token: string;
  now: string;
  iv: number[];
  src: string;
  secret: string;
}

test('the public test vectors pass', async (t) => {
  if ('missing' in vectors) return t.skip(vectors.missing);
  const read = (name: string) => JSON.parse(readFileSync(join(vectors.path, name), 'utf8')) as Vector[];
  for (const v of read('generate.json')) {
    const token = await fernetEncrypt(v.secret, bytes(v.src), {
      now: Date.parse(v.now),
      iv: new Uint8Array(v.iv),
    });
    assert.equal(token, v.token);
  }
  for (const v of read('verify.json')) {
    assert.equal(text(await fernetDecrypt(v.secret, v.token)), v.src);
  }
  for (const v of read('invalid.json')) {
    // Skip vectors about the age of a token, because `fernetDecrypt` does not check the age.
    if (/expired|far-future/.test(v.desc ?? '')) continue;
    await assert.rejects(fernetDecrypt(v.secret, v.token), failed, v.desc);
  }
});

const python = (script: string, input: string) =>
  spawnSync('python3', ['-c', script], { input, encoding: 'utf8' });
const hasPython = python('import cryptography.fernet', '').status === 0;

test("Python's cryptography reads our tokens and we read its", {
  skip: !hasPython && 'python3 with the package cryptography is not on this machine',
}, async () => {
  const key = generateFernetKey(systemEnv);
  const source = `naïve 東京 😀 ${'x'.repeat(100_000)}`;
  const script = [
    'import sys, json',
    'from cryptography.fernet import Fernet',
    'given = json.load(sys.stdin)',
    'f = Fernet(given["key"])',
    'text = f.decrypt(given["token"].encode()).decode()',
    'json.dump({"text": text, "token": f.encrypt(text[::-1].encode()).decode()}, sys.stdout)',
  ].join('\n');
  const token = await fernetEncrypt(key, bytes(source), { now: systemEnv.now() });
  const answer = python(script, JSON.stringify({ key, token }));
  assert.equal(answer.status, 0, answer.stderr);
  const { text: read, token: theirs } = JSON.parse(answer.stdout) as { text: string; token: string };
  assert.equal(read, source);
  assert.equal(text(await fernetDecrypt(key, theirs)), [...source].reverse().join(''));
});

test('a key of zeros is rejected, with or without padding', async () => {
  for (const zeros of [`${'A'.repeat(43)}=`, 'A'.repeat(43)]) {
    assert.equal(isFernetKey(zeros), false);
    await assert.rejects(fernetDecrypt(zeros, TOKEN), (error) => isRelayError(error, 'bad_key'));
    await assert.rejects(fernetEncrypt(zeros, bytes('x'), { now: 0 }), (error) =>
      isRelayError(error, 'bad_key'),
    );
    await assert.rejects(fernetKeyCheck(zeros), (error) => isRelayError(error, 'bad_key'));
  }
});

test('the check value of a key is 8 bytes of its HKDF-SHA256', async () => {
  const secret = Buffer.from(KEY, 'base64url');
  const check = Buffer.from(hkdfSync('sha256', secret, '', 'contextrelay key check', 8)).toString('hex');
  assert.equal(await fernetKeyCheck(KEY), check);
  assert.equal(check, 'f711e4be97ed8786');
});
