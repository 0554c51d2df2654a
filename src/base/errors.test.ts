import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERRORS, type ErrorCode, EXIT, isErrorCode, isRelayError, RelayError } from './errors.ts';

test('statuses and exit codes that clients rely on are unchanged', () => {
  const pinned: Partial<Record<ErrorCode, [status: number, exit: number]>> = {
    bad_request: [400, 2],
    bad_json: [400, 2],
    empty_payload: [400, 2],
    decrypt_failed: [400, 4],
    unauthorized: [401, 4],
    over_quota: [402, 4],
    forbidden: [403, 4],
    not_found: [404, 3],
    method_not_allowed: [405, 2],
    conflict: [409, 1],
    idempotency_conflict: [409, 1],
    too_large: [413, 4],
    range_not_satisfiable: [416, 2],
    rate_limited: [429, 4],
    internal: [500, 1],
    unreachable: [503, 5],
    busy: [503, 5],
    store_full: [507, 1],
  };
  for (const [code, [status, exit]] of Object.entries(pinned)) {
    const error = new RelayError(code as ErrorCode);
    assert.deepEqual([error.status, error.exit], [status, exit], code);
  }
});

test('exit codes are 0 to 6 with one meaning each', () => {
  assert.deepEqual(EXIT, {
    ok: 0,
    failed: 1,
    usage: 2,
    notFound: 3,
    refused: 4,
    unreachable: 5,
    incomplete: 6,
  });
});

test('every row has a valid code, a status, a message and a hint', () => {
  for (const [code, row] of Object.entries(ERRORS)) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/);
    assert.ok(row.status >= 400 && row.status < 600, `${code} has the status ${row.status}`);
    const { exit } = new RelayError(code as ErrorCode);
    assert.ok(exit >= 1 && exit <= 5, `${code} has the exit code ${exit}`);
    assert.ok(row.message.trim() === row.message && row.message.length > 0, `${code} has a message`);
    assert.ok(row.hint.trim() === row.hint && row.hint.length > 0, `${code} has a hint`);
  }
});

test('details fill the message and the hint', () => {
  const error = new RelayError('too_large', { what: 'a payload', limit: 26_214_400 });
  assert.equal(error.message, 'Too large: a payload is limited to 26,214,400 bytes (25 MiB).');
  assert.equal(new RelayError('bad_usage', { what: 'x', command: 'push' }).hint, 'See relay push --help.');
});

test('a detail is inserted unchanged, even if it contains $& or {name}', () => {
  assert.equal(new RelayError('bad_request', { what: '$& {what} $1' }).message, '$& {what} $1');
  assert.equal(
    new RelayError('not_found', {}).message.startsWith('Not found: {what}'),
    true,
    'the placeholder of a missing detail stays',
  );
  assert.equal(new RelayError('bad_request', { what: 0 }).message, '0');
});

test('a hint in the details overrides the hint of the table', () => {
  assert.equal(new RelayError('busy', { what: 'x', hint: 'Wait.' }).hint, 'Wait.');
  assert.equal(new RelayError('busy', { what: 'x', hint: 7 }).hint, ERRORS.busy.hint);
});

test('the command line and MCP tools get their own hints instead of HTTP terms', () => {
  const error = new RelayError('bad_part', { what: 'x' });
  assert.match(error.hint, /lines=10-40/);
  assert.match(error.hintFor('cli'), /--lines 10-40/);
  assert.equal(new RelayError('busy', {}).hintFor('mcp'), ERRORS.busy.hint);
  assert.equal(
    new RelayError('bad_part', { hint: 'There are 12 lines.' }).hintFor('cli'),
    'There are 12 lines.',
  );
  // A remote relay sends the hint of its own table. It must be replaced with the hint for the command line.
  const { hint } = new RelayError('version_conflict', { current: 'v7' });
  assert.equal(
    new RelayError('version_conflict', { hint }).hintFor('cli'),
    new RelayError('version_conflict', {}).hintFor('cli'),
  );
});

test('no hint of the command line contains HTTP terms', () => {
  // Skip two errors: `upgrade_required` is only for HTTP clients, and `internal` refers to the log of a server.
  const { upgrade_required, internal, ...rows } = ERRORS;
  const http =
    /\b(GET|HEAD|POST|header|body|request|[Ss]end|If-Match|Retry-After|Content-Type|Bearer)\b|\b[a-z_]+=[\w/]/;
  for (const code of Object.keys(rows) as ErrorCode[]) {
    assert.doesNotMatch(new RelayError(code).hintFor('cli'), http, code);
  }
});

test('the JSON form has error, code and hint, but no details and no cause', () => {
  const error = new RelayError('busy', { what: 'locked', secret: 'cr_live_1' }, new Error('SQLITE_BUSY'));
  assert.deepEqual(JSON.parse(JSON.stringify(error)), {
    error: 'The store is busy: locked.',
    code: 'busy',
    hint: 'Try again in a moment.',
  });
  assert.equal((error.cause as Error).message, 'SQLITE_BUSY');
  assert.ok(!('cause' in new RelayError('busy')));
});

test('an error is recognized by its code', () => {
  const error: unknown = new RelayError('busy');
  assert.ok(error instanceof Error && isRelayError(error) && isRelayError(error, 'busy'));
  assert.ok(!isRelayError(error, 'conflict'));
  for (const other of [new Error('busy'), { code: 'busy' }, null, undefined, 'busy']) {
    assert.ok(!isRelayError(other));
  }
  assert.ok(isErrorCode('busy'));
  for (const other of ['Busy', 'toString', '__proto__', '', null, 7]) assert.ok(!isErrorCode(other));
});
