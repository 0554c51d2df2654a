import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FILES_TYPE } from '../../src/contract/file-bodies.ts';
import type { FileInfo, FileRefused } from '../../src/contract/files.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { type Failure, startRelay } from '../http/relay-under-test.ts';

const utf8 = new TextEncoder();
const body = (line: object, ...contents: string[]) =>
  utf8.encode(`${JSON.stringify(line)}\n${contents.join('')}`);

function write(url: string, requestBody: Uint8Array<ArrayBuffer>): Promise<Response> {
  return fetch(`${url}/files/s/write`, {
    method: 'POST',
    body: requestBody,
    headers: { 'Content-Type': FILES_TYPE },
  });
}

test('several files are written and read as bytes below one line of JSON', async () => {
  await using relay = await startRelay();
  const files = [
    { path: 'a', bytes: 3, metadata: { n: 1 } },
    { path: '../b', bytes: 2 },
    { path: 'c', bytes: 0, content_type: 'text/plain' },
    { path: 'd', bytes: 4, if_match: 'v1' },
  ];
  const response = await write(relay.url, body({ files }, 'o\nn', 'no', '', 'gone'));
  const answer = (await response.json()) as { files: (FileInfo | FileRefused)[] };
  assert.deepEqual(
    answer.files.map((file) => ('code' in file ? file.code : file.size)),
    [3, 'bad_request', 0, 'file_changed'],
  );
  const readResponse = await fetch(`${relay.url}/files/s/read`, {
    method: 'POST',
    body: JSON.stringify({ paths: ['a', 'c', 'd'] }),
    headers: { 'Content-Type': 'application/json', Accept: FILES_TYPE },
  });
  assert.equal(readResponse.headers.get('content-type'), FILES_TYPE);
  const [line, ...rest] = (await readResponse.text()).split('\n');
  const { files: fileInfos, ...more } = JSON.parse(line!);
  assert.deepEqual([fileInfos[0].path, fileInfos[0].bytes, fileInfos[0].metadata], ['a', 3, { n: 1 }]);
  assert.deepEqual(
    [fileInfos[1].path, fileInfos[1].bytes, fileInfos[1].content_type],
    ['c', 0, 'text/plain'],
  );
  assert.deepEqual([rest.join('\n'), more], ['o\nn', { missing: ['d'], left: [] }]);
});

test('a body that does not have the announced bytes is rejected, and nothing is written', async () => {
  await using relay = await startRelay();
  const bad: [string, Uint8Array<ArrayBuffer>, number, string][] = [
    ['too few bytes', body({ files: [{ path: 'a', bytes: 4 }] }, 'abc'), 400, 'bad_request'],
    ['too many bytes', body({ files: [{ path: 'a', bytes: 2 }] }, 'abc'), 400, 'bad_request'],
    ['a negative number', body({ files: [{ path: 'a', bytes: -1 }] }), 400, 'bad_request'],
    ['no number', body({ files: [{ path: 'a' }] }), 400, 'bad_request'],
    ['no files', body({ paths: ['a'] }), 400, 'bad_request'],
    ['a file that is a text', body({ files: ['a'] }), 400, 'bad_request'],
    ['no line', utf8.encode('abc'), 400, 'bad_request'],
    ['no JSON', utf8.encode('abc\n'), 400, 'bad_json'],
    ['more than 2 MiB', new Uint8Array(2 * 1024 * 1024 + 1), 413, 'too_large'],
  ];
  for (const [what, requestBody, status, code] of bad) {
    const response = await write(relay.url, requestBody);
    const failure = (await response.json()) as Failure;
    assert.deepEqual([response.status, failure.code], [status, code], what);
  }
  assert.equal((await relay.engine.usage()).blobs.count, 0);
});

test('the SDK reads and writes several files of an older relay in JSON', async () => {
  await using relay = await startRelay();
  const types: (string | null)[] = [];
  const older: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    types.push(headers.get('content-type'));
    headers.delete('accept');
    if (headers.get('content-type') === FILES_TYPE) headers.set('content-type', 'application/json');
    return fetch(input, { ...init, headers });
  };
  const space = new ContextRelay({ baseUrl: relay.url, fetch: older }).files.space('s');
  const binary = new Uint8Array([0, 255]);
  await space.write([
    { path: 'a', content: 'ü' },
    { path: 'b', content: binary },
  ]);
  await space.write([{ path: 'c', content: 'c' }]);
  assert.deepEqual(types, [FILES_TYPE, 'application/json; charset=utf-8', 'application/json; charset=utf-8']);
  const contents = await space.read(['a', 'b', 'c']);
  assert.deepEqual(
    [contents.get('a')!.text(), contents.get('b')!.bytes, contents.get('c')!.text()],
    ['ü', binary, 'c'],
  );
});
