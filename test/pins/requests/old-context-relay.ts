import type { Pinned } from '../exchange.ts';

/** Headers of the Python client: the defaults of `requests`. The bodies below have the format of `json.dumps`. */
const PYTHON = {
  'User-Agent': 'python-requests/2.32.3',
  'Accept-Encoding': 'gzip, deflate',
  Accept: '*/*',
  Connection: 'keep-alive',
};
const PYTHON_JSON = { ...PYTHON, 'Content-Type': 'application/json' };
/** Headers that `fetch` of Node sends. */
const FETCH = {
  accept: '*/*',
  'accept-language': '*',
  'sec-fetch-mode': 'cors',
  'user-agent': 'node',
  'accept-encoding': 'gzip, deflate',
};
const CURL = { 'User-Agent': 'curl/8.5.0', Accept: '*/*' };
const NOBODY = '00000000-0000-4000-8000-000000000000';
const TOKEN = `gAAAAA${'b'.repeat(94)}`;

/** Requests of the original ContextRelay's clients to a self-hosted relay. */
export const oldContextRelay: readonly Pinned[] = [
  {
    name: 'Python: push',
    as: 'pushed',
    send: 'POST /push',
    headers: PYTHON_JSON,
    body: '{"data": "h\\u00e4llo \\ud83d\\ude00"}',
  },
  {
    name: 'Python: push to a channel with metadata',
    as: 'full',
    send: 'POST /push',
    headers: PYTHON_JSON,
    body: '{"data": "[intro findings]", "channel": "report-channel", "metadata": {"section": "intro", "rows": 3}}',
  },
  {
    name: 'Python: push what is encrypted',
    as: 'secret',
    send: 'POST /push',
    headers: PYTHON_JSON,
    body: `{"data": "${TOKEN}", "metadata": {"summary": "db schema"}}`,
  },
  { name: 'Python: pull', send: 'GET /pull/{{pushed.id}}', headers: PYTHON },
  { name: 'Python: pull with metadata', send: 'GET /pull/{{full.id}}', headers: PYTHON },
  { name: 'Python: pull what is encrypted', send: 'GET /pull/{{secret.id}}', headers: PYTHON },
  { name: 'Python: peek', send: 'GET /peek/{{full.id}}', headers: PYTHON },
  { name: 'Python: peek without metadata', send: 'GET /peek/{{pushed.id}}', headers: PYTHON },
  { name: 'Python: pull what is gone', send: `GET /pull/${NOBODY}`, headers: PYTHON },
  { name: 'Python: peek at what is gone', send: `GET /peek/${NOBODY}`, headers: PYTHON },
  { name: 'Python: push nothing', send: 'POST /push', headers: PYTHON_JSON, body: '{"data": ""}' },
  {
    name: 'TypeScript: push',
    as: 'fetched',
    send: 'POST /push',
    headers: { ...FETCH, 'content-type': 'application/json' },
    body: '{"data":"from fetch","channel":"task-done","metadata":{"role":"implementation"}}',
  },
  { name: 'TypeScript: pull', send: 'GET /pull/{{fetched.id}}', headers: FETCH },
  { name: 'TypeScript: peek', send: 'GET /peek/{{fetched.id}}', headers: FETCH },
  {
    name: 'curl: push a form by mistake',
    as: 'curled',
    send: 'POST /push',
    headers: { ...CURL, 'Content-Type': 'application/x-www-form-urlencoded' },
    body: 'plain words',
  },
  {
    name: 'curl: push JSON',
    send: 'POST /push',
    headers: { ...CURL, 'Content-Type': 'application/json' },
    body: '{"data":"hello","channel":null}',
  },
  {
    name: 'curl: push a file',
    send: 'POST /push',
    headers: { ...CURL, 'Content-Type': 'text/markdown' },
    body: '# A file\n',
  },
  { name: 'curl: pull', send: 'GET /pull/{{curled.id}}', headers: CURL },
  { name: 'curl: is it running', send: 'GET /', headers: CURL, fixed: true },
  { name: 'curl: a channel without an upgrade', send: 'GET /ws/report-channel', headers: CURL },
];

const KEYED = { ...PYTHON, Authorization: 'Bearer {{admin.key}}' };

/** Requests of the Python client to the managed cloud: the address has `/v1`, and there is a key. */
export const oldManagedClient: readonly Pinned[] = [
  {
    name: 'Python with a key: push',
    as: 'pushed',
    send: 'POST /v1/push',
    headers: { ...KEYED, 'Content-Type': 'application/json' },
    body: '{"data": "for the cloud", "metadata": {"pr": "PR-441"}}',
  },
  { name: 'Python with a key: pull the URL as it came', send: 'GET /pull/{{pushed.id}}', headers: KEYED },
  { name: 'Python with a key: pull through the gateway', send: 'GET /v1/pull/{{pushed.id}}', headers: KEYED },
  { name: 'Python with a key: peek', send: 'GET /peek/{{pushed.id}}', headers: KEYED },
  { name: 'Python without a key: pull', send: 'GET /pull/{{pushed.id}}', headers: PYTHON },
  {
    name: 'Python without a key: push',
    send: 'POST /v1/push',
    headers: PYTHON_JSON,
    body: '{"data": "x"}',
  },
];
