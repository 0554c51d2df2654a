import type { Pinned } from '../exchange.ts';

const metadata = Buffer.from('{"author":"Zoë"}').toString('base64url');
const file = '/files/notes/src/main.ts';

/** Requests about files and spaces. */
export const fileRequests: readonly Pinned[] = [
  { name: 'no spaces yet', send: 'GET /files' },
  {
    name: 'write a file',
    send: `PUT ${file}?keep=2`,
    body: 'const one = 1;\nconst two = 2;\n',
    headers: { 'Content-Type': 'text/typescript', 'Relay-Metadata': metadata, 'If-None-Match': '*' },
  },
  { name: 'only if there is none', send: `PUT ${file}`, body: 'x', headers: { 'If-None-Match': '*' } },
  { name: 'read it', send: `GET ${file}`, headers: { Accept: '*/*' } },
  { name: 'look at it', send: `HEAD ${file}` },
  { name: 'what is known of it', send: `GET ${file}?info=1` },
  { name: 'a range', send: `GET ${file}`, headers: { Range: 'bytes=6-8' } },
  { name: 'a range beyond it', send: `GET ${file}`, headers: { Range: 'bytes=99-' } },
  { name: 'known already', send: `GET ${file}`, headers: { 'If-None-Match': '*' } },
  { name: 'some lines', send: `GET ${file}?lines=2` },
  { name: 'its price', send: `GET ${file}?cost=1` },
  { name: 'overwrite it', send: `PUT ${file}?ttl=3600`, body: 'new', headers: { 'If-Match': 'v1' } },
  { name: 'overwrite another version', send: `PUT ${file}`, body: 'x', headers: { 'If-Match': '"v1-x"' } },
  { name: 'its history', send: `GET ${file}?log=1` },
  { name: 'an earlier version', send: `GET ${file}?version=1` },
  { name: 'a version that never was', send: `GET ${file}?version=9` },
  { name: 'a version that is none', send: `GET ${file}?version=x` },
  {
    name: 'write several',
    send: 'POST /files/notes/write',
    json: {
      files: [
        { path: 'a.md', content: '# A' },
        { path: 'b.bin', content: 'AP8=', encoding: 'base64' },
        { path: '../c', content: 'x' },
      ],
    },
  },
  { name: 'the spaces', send: 'GET /files' },
  { name: 'list the space', send: 'GET /files/notes?limit=2' },
  { name: 'list one folder', send: 'GET /files/notes?delimiter=/' },
  { name: 'list below a prefix', send: 'GET /files/notes?prefix=src/' },
  { name: 'read several', send: 'POST /files/notes/read', json: { paths: ['a.md', 'b.bin', 'none'] } },
  { name: 'delete another version', send: `DELETE ${file}`, headers: { 'If-Match': 'v1' } },
  { name: 'delete it', send: `DELETE ${file}`, headers: { 'If-Match': 'v2' } },
  { name: 'it is gone', send: `GET ${file}` },
  { name: 'delete several', send: 'POST /files/notes/delete', json: { prefix: '' } },
  { name: 'delete nothing in particular', send: 'POST /files/notes/delete', json: {} },
  { name: 'a path that leads out', send: 'GET /files/notes/..%2Fother%2Fa' },
  { name: 'a path that is no UTF-8', send: 'GET /files/notes/%E0%A4' },
  { name: 'a space that is none', send: 'PUT /files/%20/a', body: 'x' },
  { name: 'another method', send: `PATCH ${file}`, body: 'x', fixed: true },
];
