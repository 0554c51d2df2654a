import type { Pinned } from '../exchange.ts';

/** Headers of the Python client, which uses urllib and sends a content type with every request. */
const PYTHON = {
  'Accept-Encoding': 'identity',
  'Content-Type': 'application/json',
  Accept: 'application/json',
  'User-Agent': 'Python-urllib/3.12',
  Connection: 'close',
};
/** Headers of the TypeScript client, which uses fetch and sends a content type with every request. */
const FETCH = {
  'content-type': 'application/json',
  accept: 'application/json',
  'accept-language': '*',
  'sec-fetch-mode': 'cors',
  'user-agent': 'node',
  'accept-encoding': 'gzip, deflate',
};
/** Headers of the command line, which is written in Go. */
const GO = { 'User-Agent': 'Go-http-client/1.1', 'Accept-Encoding': 'gzip' };
const GO_JSON = { ...GO, 'Content-Type': 'application/json' };
const BOUNDARY = '5c6b3a7d9e1f20418293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7';
const GO_FORM = { ...GO, 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` };
const UPLOAD = [
  `--${BOUNDARY}`,
  'Content-Disposition: form-data; name="file"; filename="notes.md"',
  'Content-Type: application/octet-stream',
  '',
  '# My Notes\nHello, relay.\n',
  `--${BOUNDARY}`,
  'Content-Disposition: form-data; name="type"',
  '',
  'markdown',
  `--${BOUNDARY}--`,
  '',
].join('\r\n');

const NOBODY = '00000000-0000-4000-8000-000000000000';
const ID = '{{thread.thread_id}}';
const T = `/threads/${ID}`;
const PATCH =
  '[{"op": "add", "path": "/artifacts/-", "value": {"ref": "{{analysis.ref}}", "type": "markdown"}}, {"op": "add", "path": "/facts/-", "value": {"id": "f1", "key": "phase", "value": "done"}}]';
const SEARCH = `{"capability": "retrieval.search", "thread_id": "${ID}", "args": {"query": "analysis"}}`;

/** Requests of the Go relay's clients and command line. */
export const oldGoRelay: readonly Pinned[] = [
  { name: 'Python: health', send: 'GET /health', headers: PYTHON, fixed: true },
  { name: 'Python: version', send: 'GET /version', headers: PYTHON, fixed: true },
  {
    name: 'Python: thread_new',
    as: 'thread',
    send: 'POST /threads',
    headers: PYTHON,
    body: '{"name": "my-run"}',
  },
  { name: 'Python: thread_new without a name', send: 'POST /threads', headers: PYTHON, body: '{"name": ""}' },
  { name: 'Python: thread_list', send: 'GET /threads', headers: PYTHON },
  { name: 'Python: thread_get', send: `GET ${T}`, headers: PYTHON },
  { name: 'Python: thread_get of what is gone', send: `GET /threads/${NOBODY}`, headers: PYTHON },
  { name: 'Python: thread_get with a malformed id', send: 'GET /threads/my-run', headers: PYTHON },
  {
    name: 'Python: artifact_put',
    as: 'analysis',
    send: `POST ${T}/artifacts`,
    headers: PYTHON,
    body: '{"name": "analysis.md", "type": "markdown", "mime": "text/plain", "content": "# Analysis\\n..."}',
  },
  { name: 'Python: artifact_get', send: `GET ${T}/artifacts/{{analysis.ref}}`, headers: PYTHON },
  { name: 'Python: artifact_content', send: `GET ${T}/artifacts/{{analysis.ref}}?raw=1`, headers: PYTHON },
  { name: 'Python: artifact_list', send: `GET ${T}/artifacts`, headers: PYTHON },
  { name: 'Python: state_patch', send: `POST ${T}/state/patch`, headers: PYTHON, body: PATCH },
  {
    name: 'Python: state_header, with the order of top_facts and their at and by',
    send: `GET ${T}/state/header`,
    headers: PYTHON,
  },
  { name: 'Python: state_full', send: `GET ${T}/state`, headers: PYTHON },
  { name: 'Python: cap_list', send: 'GET /cap/list', headers: PYTHON },
  { name: 'Python: cap_invoke', send: 'POST /cap/invoke', headers: PYTHON, body: SEARCH },
  { name: 'Python: cap_invoke from the cache', send: 'POST /cap/invoke', headers: PYTHON, body: SEARCH },
  {
    name: 'Python: cap_invoke with a key for retries',
    send: 'POST /cap/invoke',
    headers: PYTHON,
    body: `${SEARCH.slice(0, -1)}, "idempotency_key": "once"}`,
  },
  { name: 'Python: report', send: `POST /reports/${ID}`, headers: PYTHON, body: '{"format": "md"}' },
  { name: 'Python: events', as: 'events', send: `GET ${T}/events`, headers: PYTHON },
  { name: 'Python: tail', send: `GET ${T}/events?after={{events.events.0.id}}`, headers: PYTHON },
  {
    name: 'TypeScript: threadNew',
    as: 'second',
    send: 'POST /threads',
    headers: FETCH,
    body: '{"name":"ts-run"}',
  },
  {
    name: 'TypeScript: artifactPut',
    as: 'spec',
    send: 'POST /threads/{{second.thread_id}}/artifacts',
    headers: FETCH,
    body: '{"name":"spec.md","type":"markdown","mime":"text/plain","content":"# Notes\\nrelay token"}',
  },
  {
    name: 'TypeScript: statePatch',
    send: 'POST /threads/{{second.thread_id}}/state/patch',
    headers: FETCH,
    body: '[{"op":"add","path":"/facts/-","value":{"id":"f1","key":"language","value":"TypeScript"}},{"op":"add","path":"/decisions/-","value":{"id":"d1","description":"Use artifact refs","reason_codes":["token_reduction"],"confidence":0.99}},{"op":"add","path":"/artifacts/-","value":{"ref":"{{spec.ref}}","type":"markdown","name":"spec.md"}}]',
  },
  {
    name: 'TypeScript: stateHeader',
    send: 'GET /threads/{{second.thread_id}}/state/header',
    headers: FETCH,
  },
  {
    name: 'TypeScript: artifactContent',
    send: 'GET /threads/{{second.thread_id}}/artifacts/{{spec.ref}}?raw=1',
    headers: FETCH,
  },
  {
    name: 'TypeScript: report',
    send: 'POST /reports/{{second.thread_id}}',
    headers: FETCH,
    body: '{"format":"json"}',
  },
  {
    name: 'TypeScript: an error',
    send: 'POST /cap/invoke',
    headers: FETCH,
    body: '{"capability":"nope","thread_id":"{{second.thread_id}}","args":{}}',
  },
  {
    name: 'Go: artifact put of a file',
    as: 'upload',
    send: `POST ${T}/artifacts`,
    headers: GO_FORM,
    body: UPLOAD,
  },
  { name: 'Go: artifact get', send: `GET ${T}/artifacts/{{upload.ref}}?raw=1`, headers: GO },
  {
    name: 'Go: the content as octets',
    send: `GET ${T}/artifacts/{{upload.ref}}/content`,
    headers: { ...GO, Accept: 'application/octet-stream' },
  },
  {
    name: 'Go: state patch',
    send: `POST ${T}/state/patch`,
    headers: GO_JSON,
    body: '[{"op":"add","path":"/facts/-","value":{"id":"f2","key":"k","value":"v"}}]',
  },
  {
    name: 'Go: a patch that does not apply',
    send: `POST ${T}/state/patch`,
    headers: GO_JSON,
    body: '[{"op":"remove","path":"/facts/9"}]',
  },
  {
    name: 'Go: cap invoke',
    send: 'POST /cap/invoke',
    headers: GO_JSON,
    body: `{"capability":"retrieval.search","thread_id":"${ID}","args":{"query":"hello"}}`,
  },
  { name: 'Go: report as JSON', send: `POST /reports/${ID}`, headers: GO_JSON, body: '{"format":"json"}' },
  { name: 'Go: render for OpenAI', send: `GET /render/${ID}?format=openai`, headers: GO },
  { name: 'Go: render for Anthropic', send: `GET /render/${ID}?format=anthropic`, headers: GO },
  { name: 'Go: health', send: 'GET /health', headers: GO, fixed: true },
  { name: 'Go: the web page that is no longer there', send: 'GET /ui/', headers: GO, fixed: true },
];
