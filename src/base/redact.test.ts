import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redact } from './redact.ts';

const SECRET = 'Zk3vQ9xT7bLm2WcY8rNf4HsJ6pDg5AuEiOq1XtRwBnVe';

test('keys, fragments and Authorization values are removed, and the rest stays', () => {
  const lines: [text: string, clean: string][] = [
    [`GET /pull/1 Authorization: Bearer ${SECRET}`, 'GET /pull/1 Authorization: [redacted]'],
    [`{"authorization":"Basic ${SECRET}","host":"h"}`, '{"authorization":"[redacted]","host":"h"}'],
    [`sent Bearer ${SECRET} twice`, 'sent Bearer [redacted] twice'],
    [`pull https://h/pull/x#key=${SECRET}= done`, 'pull https://h/pull/x#key=[redacted] done'],
    [`using cr_live_${SECRET} now`, 'using [redacted] now'],
    [`GET /ws/c?ticket=${SECRET}&since=3`, 'GET /ws/c?ticket=[redacted]&since=3'],
    [`{"sealed_key":"${SECRET}"}`, '{"sealed_key":"[redacted]"}'],
    [`x-api-key: ${SECRET}`, 'x-api-key: [redacted]'],
    ['password=abc', 'password=[redacted]'],
    ['https://me:pw1@host/path', 'https://me:[redacted]@host/path'],
    ['GET /pull/7b0c 200 in 3 ms', 'GET /pull/7b0c 200 in 3 ms'],
  ];
  for (const [text, clean] of lines) {
    assert.equal(redact(text), clean);
    assert.equal(redact(clean), clean);
  }
});

test('all credentials of a log line are removed', () => {
  const text = redact(`a cr_live_${SECRET} b #key=${SECRET} c token ghp_${SECRET} d`);
  assert.ok(!text.includes(SECRET.slice(0, 12)), text);
});
