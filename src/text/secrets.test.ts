import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { SECRET_FINDINGS, SECRET_SCAN_CHARS } from '../base/limits.ts';
import { findSecrets, maskSecrets } from './secrets.ts';

/**
 * Characters of fake secrets. The secrets are assembled from parts, so that secret scanners do not report
 * this file.
 */
const LETTERS = 'Zk3vQ9xT7bLm2WcY8rNf4HsJ6pDg5AuEiOq1XtRwBnVe';
const HEX = '3f9a1c7e5b2d8046'.repeat(4);
const some = (length: number) => LETTERS.repeat(8).slice(0, length);

const CREDENTIALS: Record<string, string[]> = {
  'private key': ['RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED ', ''].map(
    (type) => `-----BEGIN ${type}PRIVATE KEY-----`,
  ),
  'AWS access key': [`AKIA${'Q4ZT7NWXPLM2VKRB'}`],
  'GitHub token': [`ghp_${some(36)}`, `ghs_${some(36)}`, `github_pat_${some(82)}`],
  'GitLab token': [`glpat-${some(20)}`],
  'Slack token': [`xoxb-${some(40)}`, `xapp-1-${some(40)}`],
  'Slack webhook': [`https://hooks.slack.com/services/T0${'A1B2C3D4'}/B0${'E5F6G7H8'}/${some(24)}`],
  'Stripe key': [`sk_live_${some(24)}`, `rk_test_${some(24)}`],
  'Anthropic key': [`sk-ant-api03-${some(90)}`],
  'OpenAI key': [`sk-proj-${some(100)}`, `sk-${some(48)}`],
  'Google API key': [`AIza${some(35)}`],
  'npm token': [`npm_${some(36)}`],
  'JSON Web Token': [`eyJ${some(20)}.eyJ${some(40)}.${some(43)}`],
  'ContextRelay key': [`cr_live_${some(32)}`],
  'encryption key in a pointer': [`https://relay.example/pull/x#key=${some(43)}=`],
  'password in a URL': [`postgres://app:${'t0pS3cr3t!'}@db.internal/main`],
  'password or key': [
    `API_KEY=${some(24)}`,
    `  "clientSecret": "${some(32)}",`,
    `db_password = '${'hunter2hunter9!'}'`,
    `aws_secret_access_key = ${some(40)}`,
    `token: ${HEX.slice(0, 40)}`,
    `encryption_key => "${HEX}"`,
  ],
  'bearer token': [`Authorization: Bearer ${some(40)}`],
};

test('credentials of every known format are found, with kind and line', () => {
  for (const [kind, samples] of Object.entries(CREDENTIALS)) {
    for (const sample of samples) {
      const found = findSecrets(`first\nsecond line\n  some text ${sample} and more\nlast`);
      assert.ok(
        found.some((one) => one.kind === kind && one.line === 3),
        `${kind}: ${sample} gave ${JSON.stringify(found)}`,
      );
    }
  }
});

test('a finding never contains the secret', () => {
  for (const samples of Object.values(CREDENTIALS)) {
    for (const sample of samples) {
      for (const one of findSecrets(sample)) assert.deepEqual(Object.keys(one).sort(), ['kind', 'line']);
    }
  }
});

test('a masked text has no secret and is otherwise unchanged', () => {
  for (const samples of Object.values(CREDENTIALS)) {
    for (const sample of samples) {
      const masked = maskSecrets(`before ${sample}`);
      assert.deepEqual(findSecrets(masked), [], masked);
      assert.match(masked, /^before .*\[redacted\]/);
    }
  }
  const key = `-----BEGIN ${'EC '}PRIVATE KEY-----\n${some(64)}\n-----END ${'EC '}PRIVATE KEY-----`;
  assert.equal(maskSecrets(`a ${key} b`), 'a [redacted] b');
  assert.equal(maskSecrets(`a ${key.slice(0, 60)}`), 'a [redacted]');
  assert.equal(maskSecrets(`db_password = '${'hunter2hunter9!'}', next`), "db_password = '[redacted]', next");
});

test('placeholders, code and prose are not secrets', () => {
  const harmless = [
    'api_key: your-api-key-here',
    'API_KEY=<your key 12345678>',
    'OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    'aws_access_key_id = AKIAIOSFODNN7EXAMPLE',
    'const apiKey = process.env.OPENAI_API_KEY2;',
    'password: String(input.password1)',
    'password = getPassword(user42)',
    'token = tokens[index1].value',
    `secret: $${'{{ secrets.DEPLOY_KEY_2024 }}'}`,
    'export API_KEY="$(cat ~/.key1)"',
    'tokenizer: "o200k_base_2024_05_13"',
    'tokens: 123456789012345678901234',
    'The password must have at least 8 characters.',
    'the bearer understands-that-this-is-prose',
    'Passwords: 12345678 is the most common one',
    'token: string | undefined',
    'secret: keyof typeof SECRETS_V2',
    'PASSWORD_FILE=/run/secrets/db_password_2',
    'postgres://user:password@localhost:5432/db',
    `postgres://user:$${'{PASSWORD}'}@localhost/db`,
    'http://localhost:7474/pull/7b0c1c5e-58f1-4d0e-9d4c-2f6f8c3d9a11',
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=',
    'commit 3f9a1c7e5b2d80463f9a1c7e5b2d80463f9a1c7e',
    'class="sk-fading-circle-sk-circle1-sk-circle2"',
    'eyJhbGciOiJIUzI1NiJ9 alone is a header and no token',
    '-----BEGIN PUBLIC KEY-----',
    '-----BEGIN CERTIFICATE-----',
  ];
  for (const text of harmless) {
    assert.deepEqual(findSecrets(text), [], text);
    assert.equal(maskSecrets(text), text);
  }
});

test('the lockfile and the sources of this project have none', () => {
  for (const file of [
    '../../package-lock.json',
    './secrets.ts',
    '../base/errors.ts',
    '../base/redact.ts',
    '../formats/fernet.ts',
  ]) {
    assert.deepEqual(findSecrets(readFileSync(new URL(file, import.meta.url), 'utf8')), [], file);
  }
});

test('each kind is reported once per line, and the number is limited', () => {
  const key = CREDENTIALS['ContextRelay key']![0];
  assert.deepEqual(findSecrets(`${key} ${key}`), [{ kind: 'ContextRelay key', line: 1 }]);
  assert.equal(findSecrets(`${key}\n`.repeat(1000)).length, SECRET_FINDINGS);
});

test('only the beginning of a long text is searched', () => {
  assert.deepEqual(findSecrets(`${'x '.repeat(SECRET_SCAN_CHARS / 2)}${CREDENTIALS['npm token']![0]}`), []);
});
