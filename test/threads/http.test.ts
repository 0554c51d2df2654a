import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { type RelayUnderTest, startRelay, type Wire } from '../http/relay-under-test.ts';

describe('threads over HTTP', () => {
  let relay: RelayUnderTest;
  before(async () => {
    relay = await startRelay();
  });
  after(() => relay[Symbol.asyncDispose]());

  const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const json = body !== undefined && !(body instanceof Uint8Array) && !(body instanceof FormData);
    const response = await fetch(relay.url + path, {
      method,
      headers: { ...(json ? { 'Content-Type': 'application/json' } : {}), ...headers },
      body: (json ? JSON.stringify(body) : body) as BodyInit,
    });
    const text = await response.text();
    let parsed: Wire = text;
    try {
      parsed = JSON.parse(text);
    } catch {}
    return { status: response.status, headers: response.headers, json: parsed, text };
  };
  const newThread = async (name = 'n') => (await call('POST', '/threads', { name })).json.thread_id as string;
  const fact = (id: string) => ({ op: 'add', path: '/facts/-', value: { id, key: 'k', value: 'v' } });

  it('answers in the format that existing clients rely on', async () => {
    const response = await call('POST', '/threads', { name: 'first' });
    assert.equal(response.status, 201);
    assert.deepEqual(Object.keys(response.json), ['thread_id', 'name', 'state_ref', 'created_at']);
    assert.equal(response.json.state_ref, 'v1');
    const id = response.json.thread_id;
    const patched = await call('POST', `/threads/${id}/state/patch`, [fact('f1')]);
    assert.deepEqual([patched.status, patched.json.version, patched.json.state_ref], [200, 2, 'v2']);
    const info = await call('GET', `/threads/${id}`);
    assert.deepEqual(
      [info.json.state_version, info.json.artifact_count, info.json.hop_count, info.json.name],
      [2, 0, 0, 'first'],
    );
    const listed = await call('GET', '/v1/threads');
    assert.deepEqual(Object.keys(listed.json.threads[0]), [
      'thread_id',
      'name',
      'created_at',
      'by',
      'hop_count',
    ]);
    const header = await call('GET', `/threads/${id}/state/header`);
    assert.deepEqual(Object.keys(header.json), [
      '$schema',
      'thread_id',
      'version',
      'top_facts',
      'top_constraints',
      'open_questions',
      'next_steps',
      'artifact_refs',
      'last_actions',
      'metrics',
    ]);
    assert.deepEqual(Object.keys(header.json.metrics), [
      'cache_hits',
      'cache_misses',
      'tokens_estimate',
      'tokens_avoided',
      'hop_count',
    ]);
    const content = { name: 'notes.md', type: 'markdown', mime: 'text/markdown', content: '# Hi\n' };
    const artifact = await call('POST', `/threads/${id}/artifacts`, content);
    assert.equal(artifact.status, 201);
    for (const field of [
      'ref',
      'thread_id',
      'type',
      'mime',
      'name',
      'size',
      'hash',
      'preview',
      'provenance',
      'created_at',
    ]) {
      assert.ok(field in artifact.json, field);
    }
    assert.deepEqual(artifact.json.preview, { text: '# Hi\n', line_count: 1, truncated: false, size: 5 });
    const { artifacts } = (await call('GET', `/threads/${id}/artifacts`)).json;
    assert.equal(artifacts[0].ref, artifact.json.ref);
    const { events } = (await call('GET', `/threads/${id}/events`)).json;
    assert.deepEqual(Object.keys(events[0]), ['id', 'thread_id', 'type', 'payload', 'timestamp']);
    const caps = (await call('GET', '/cap/list')).json.capabilities;
    assert.deepEqual(Object.keys(caps[0]), [
      'name',
      'description',
      'args_schema',
      'cacheable',
      'cache_ttl_sec',
    ]);
    const invoked = await call('POST', '/cap/invoke', {
      capability: 'retrieval.search',
      thread_id: id,
      args: { query: 'hi' },
    });
    assert.deepEqual(Object.keys(invoked.json), [
      'capability',
      'preview',
      'artifact_ref',
      'cache_hit',
      'cache_key',
      'duration_ms',
    ]);
    const report = await call('POST', `/reports/${id}`, { format: 'md' });
    assert.deepEqual(Object.keys(report.json), [
      'artifact_ref',
      'format',
      'size',
      'thread_id',
      'token_savings',
    ]);
    const rendered = await call('GET', `/render/${id}?format=openai`);
    assert.equal(rendered.json.messages[0].role, 'system');
    assert.equal((await call('DELETE', `/threads/${id}`)).status, 204);
    assert.equal((await call('GET', `/threads/${id}`)).status, 404);
  });

  it('takes If-Match and Idempotency-Key from the headers', async () => {
    const id = await newThread();
    const path = `/threads/${id}/state/patch`;
    const first = await call('POST', path, [fact('a')], { 'If-Match': 'v1', 'Idempotency-Key': 'k' });
    assert.equal(first.json.version, 2);
    assert.deepEqual(
      (await call('POST', path, [fact('a')], { 'If-Match': 'v1', 'Idempotency-Key': 'k' })).json,
      first.json,
    );
    const stale = await call('POST', path, [fact('b')], { 'If-Match': 'v1' });
    assert.deepEqual([stale.status, stale.json.code], [409, 'version_conflict']);
    assert.match(stale.json.error, /v2/);
    assert.equal((await call('GET', `/threads/${id}/state?at=v1`)).json.facts.length, 0);
    const { json } = await call('GET', `/threads/${id}/state/diff?from=v1&to=v2`);
    assert.deepEqual([json.from, json.to, json.ops.length], ['v1', 'v2', 1]);
  });

  it('rejects bad input with a reason and keeps working', async () => {
    const id = await newThread();
    const cases: [string, string, unknown, number][] = [
      ['POST', `/threads/${id}/state/patch`, { op: 'add' }, 400],
      ['POST', `/threads/${id}/state/patch`, [{ op: 'remove', path: '/nope' }], 400],
      ['POST', `/threads/${id}/state/patch`, [{ op: 'add', path: '/facts/-', value: {} }], 422],
      ['POST', `/threads/${id}/state/patch`, undefined, 400],
      ['POST', '/threads', { name: 5 }, 400],
      ['GET', '/threads/not-a-uuid', undefined, 404],
      ['GET', '/threads/550e8400-e29b-41d4-a716-446655440000', undefined, 404],
      ['GET', `/threads/${id}/state?at=x`, undefined, 400],
      ['GET', `/threads/${id}/state?at=v9`, undefined, 404],
      ['GET', `/threads/${id}/state/diff`, undefined, 400],
      ['GET', `/threads/${id}/events?after=x`, undefined, 400],
      ['GET', `/threads/${id}/artifacts/${'0'.repeat(26)}`, undefined, 404],
      ['GET', `/threads/${id}/artifacts/..%2f..%2fetc/content`, undefined, 404],
      ['POST', `/threads/${id}/artifacts`, { name: 'x' }, 400],
      ['POST', `/threads/${id}/artifacts`, { content: 'x', type: 'a poem' }, 400],
      ['POST', `/threads/${id}/artifacts`, { content: '!', encoding: 'base64' }, 400],
      ['POST', '/cap/invoke', { capability: 'http.fetch', thread_id: id, args: {} }, 404],
      ['POST', `/reports/${id}`, { format: 'pdf' }, 400],
      ['POST', '/threads/import', Buffer.from('not a zip'), 400],
    ];
    for (const [method, path, body, status] of cases) {
      const answer = await call(method, path, body);
      assert.equal(answer.status, status, `${method} ${path} ${answer.text}`);
      assert.deepEqual(Object.keys(answer.json), ['error', 'code', 'hint']);
    }
  });

  it('accepts an artifact as JSON, form or raw bytes, of any size', async () => {
    const id = await newThread();
    const bytes = randomBytes(3_000_000);
    const hash = createHash('sha256').update(bytes).digest('hex');
    const raw = await call('POST', `/threads/${id}/artifacts?name=data.bin`, new Uint8Array(bytes), {
      'Content-Type': 'application/octet-stream',
    });
    assert.deepEqual([raw.status, raw.json.hash, raw.json.type], [201, hash, 'binary']);
    for (const order of ['before', 'after']) {
      const form = new FormData();
      if (order === 'before') form.set('type', 'tool_output');
      form.set('file', new Blob([bytes]), 'naïve "file".log');
      if (order === 'after') form.set('type', 'tool_output');
      form.set('source_refs', 'a, b');
      const response = await call('POST', `/threads/${id}/artifacts`, form);
      assert.equal(response.status, 201, response.text);
      assert.deepEqual(
        [response.json.hash, response.json.type, response.json.name, response.json.provenance.source_refs],
        [hash, 'tool_output', 'naïve "file".log', ['a', 'b']],
      );
    }
    const longText = 'é "quoted" \\ line\n'.repeat(300_000);
    const json = await call('POST', `/threads/${id}/artifacts`, {
      content: longText,
      name: 'long.txt',
      type: 'text',
    });
    assert.equal(json.json.hash, createHash('sha256').update(longText).digest('hex'));
    assert.equal(json.json.name, 'long.txt');
    const base64 = await call('POST', `/threads/${id}/artifacts`, {
      content: 'AAEC',
      encoding: 'base64',
      name: 'b.bin',
    });
    assert.equal(base64.json.size, 3);
    const content = await fetch(`${relay.url}/threads/${id}/artifacts/${raw.json.ref}/content`, {
      headers: { Accept: 'application/octet-stream' },
    });
    assert.equal(
      createHash('sha256')
        .update(new Uint8Array(await content.arrayBuffer()))
        .digest('hex'),
      hash,
    );
    assert.equal(content.headers.get('etag'), `"${hash}"`);
    const part = await fetch(`${relay.url}/threads/${id}/artifacts/${raw.json.ref}?raw=1`, {
      headers: { Range: 'bytes=10-19' },
    });
    assert.deepEqual([part.status, part.headers.get('content-range')], [206, 'bytes 10-19/3000000']);
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(10, 20));
  });

  it('rejects an invalid form', async () => {
    const id = await newThread();
    const type = 'multipart/form-data; boundary=b';
    const part = (head: string, body: string) =>
      `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
    for (const body of [
      'nothing',
      part('name="file"; filename="a"', 'x'),
      `${part('name="other"', 'x')}--b--`,
      `${part('name="file"; filename="a"', 'x')}${part('name="file"; filename="b"', 'y')}--b--`,
      '--b\r\n\r\nno head\r\n--b--',
      `--b\r\nContent-Disposition: form-data; name="${'x'.repeat(20_000)}"`,
    ]) {
      const answer = await call('POST', `/threads/${id}/artifacts`, Buffer.from(body), {
        'Content-Type': type,
      });
      assert.equal(answer.status, 400, `${body.slice(0, 60)} ${answer.text}`);
    }
    const fine = await call(
      'POST',
      `/threads/${id}/artifacts`,
      Buffer.from(`preamble\r\n${part('name="file"; filename="a.txt"', '')}--b--`),
      {
        'Content-Type': type,
      },
    );
    assert.deepEqual([fine.status, fine.json.size], [201, 0]);
    assert.equal((await call('GET', `/threads/${id}`)).json.artifact_count, 1);
  });

  it('serves no content that a browser would run', async () => {
    const id = await newThread();
    const { json } = await call('POST', `/threads/${id}/artifacts`, {
      content: '<script>alert(1)</script>',
      name: 'x.html',
    });
    const page = await call('GET', `/threads/${id}/artifacts/${json.ref}/content`, undefined, {
      Accept: 'text/html',
    });
    assert.equal(page.headers.get('content-type'), 'text/plain; charset=utf-8');
    assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
    assert.match(page.headers.get('content-security-policy') ?? '', /sandbox/);
  });

  it('streams events live, and again from the last one seen', async () => {
    const id = await newThread();
    const stop = new AbortController();
    const stream = await fetch(`${relay.url}/threads/${id}/events`, {
      headers: { Accept: 'text/event-stream', 'Last-Event-ID': '1' },
      signal: stop.signal,
    });
    assert.match(stream.headers.get('content-type') ?? '', /^text\/event-stream/);
    await call('POST', `/threads/${id}/state/patch`, [fact('f1')]);
    let text = '';
    for await (const chunk of stream.body!) {
      text += Buffer.from(chunk).toString();
      if (text.includes('state.patch.applied')) break;
    }
    stop.abort();
    assert.match(text, /id: 2\nevent: state\.patch\.applied\ndata: \{"id":"2"/);
  });
});
