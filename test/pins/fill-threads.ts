import type { Ask, Names } from './fill-store.ts';
import { BINARY } from './fill-store.ts';

const EMAIL = `From: Ann <ann@example.org>
To: Bob <bob@example.org>
Subject: The survey
Date: Mon, 05 Jan 2026 10:00:00 +0000

The numbers of the survey are in.
`;
const HTML = '<!doctype html><title>Survey</title><h1>Survey</h1><p>All <b>good</b>.</p><script>x()</script>';
const MARKDOWN = '# Findings\n\nThe lighthouse was painted in 1887.\n\n- one\n- two\n';
const LOG = Array.from({ length: 8000 }, (_, i) => `${i} ok: step finished without trouble`).join('\n');

/** Creates a thread with all kinds of content, a deleted thread and an empty thread. */
export async function fillThreads(ann: Ask, names: Names): Promise<void> {
  const create = async (key: string, name: string) => {
    names[key] = (await ann({ method: 'POST', path: '/threads', body: { name } })).thread_id;
  };
  await create('thread', 'the survey');
  await create('bare', 'nothing in it');
  await create('deleted', 'soon gone');
  const at = `/threads/${names.thread}`;
  await fillState(ann, at);
  await fillArtifacts(ann, at, names);
  await fillEvents(ann, at, names);
  const artifact = { content: 'gone with its thread', name: 'gone.txt' };
  await ann({ method: 'POST', path: `/threads/${names.deleted}/artifacts`, body: artifact });
  await ann({ method: 'DELETE', path: `/threads/${names.deleted}` });
}

/** Applies patches with all kinds of operations, and enough of them for a snapshot. */
async function fillState(ann: Ask, at: string): Promise<void> {
  const patch = (ops: object[], headers = {}) =>
    ann({
      method: 'POST',
      path: `${at}/state/patch`,
      body: JSON.stringify(ops),
      headers: { 'Content-Type': 'application/json', ...headers },
    });
  const add = (list: string, value: object) => ({ op: 'add', path: `/${list}/-`, value });
  await patch([
    add('facts', { id: 'f1', key: 'colour', value: 'red' }),
    add('facts', { id: 'f2', key: 'count', value: { n: 7, of: [1, 2] } }),
    add('constraints', { id: 'c1', description: 'Never on a Sunday.', severity: 'hard' }),
    add('open_questions', { id: 'q1', question: 'Who pays?' }),
  ]);
  await patch([{ op: 'replace', path: '/facts/0/value', value: 'blue' }], {
    'If-Match': 'v2',
    'Idempotency-Key': 'fixture-patch-1',
  });
  await patch([
    add('decisions', { id: 'd1', description: 'Paint it.', reason_codes: ['rust'], confidence: 0.75 }),
    add('plan', { id: 'p1', step: 'Buy paint.', status: 'done' }),
    add('plan', { id: 'p2', step: 'Paint.' }),
    { op: 'add', path: '/session_summary', value: 'About a lighthouse.' },
  ]);
  await patch([
    { op: 'test', path: '/plan/1/id', value: 'p2' },
    { op: 'copy', from: '/facts/1', path: '/facts/2' },
    { op: 'replace', path: '/facts/2/id', value: 'f3' },
    { op: 'move', from: '/facts/0', path: '/facts/2' },
    { op: 'remove', path: '/open_questions/0' },
  ]);
  const filling = 'much to say of it, and every time again; '.repeat(180);
  await patch([add('facts', { id: 'long', key: 'long', value: '' })]);
  for (let i = 1; i <= 45; i++) {
    await patch([{ op: 'replace', path: '/facts/3/value', value: `${i}: ${filling}` }]);
  }
  await patch([{ op: 'replace', path: '/facts/3/value', value: 'short again' }]);
  // This patch is too large for a log entry, so its operations are stored in a blob. It does not change the final state.
  const much = 'x'.repeat(600_000);
  await patch([
    add('facts', { id: 'big', key: 'big', value: much }),
    { op: 'replace', path: '/facts/4/value', value: `${much}!` },
    { op: 'replace', path: '/facts/4/value', value: 'big no more' },
  ]);
  const actions = Array.from({ length: 60 }, (_, i) => add('last_actions', { description: `action ${i}` }));
  await patch(actions);
  await ann({ method: 'POST', path: `${at}/state/compact` });
  await patch([add('facts', { id: 'last', key: 'after the compaction', value: true })]);
}

async function fillArtifacts(ann: Ask, at: string, names: Names): Promise<void> {
  const put = async (name: string, body: object, headers = {}) => {
    const artifact = await ann({ method: 'POST', path: `${at}/artifacts`, body, headers });
    names[`artifact-${name}`] = artifact.ref;
  };
  await put('markdown', { content: MARKDOWN, name: 'findings.md' }, { 'Idempotency-Key': 'fixture-art-1' });
  await put('json', { content: '{"rows":[{"a":1},{"a":2}],"total":2}', name: 'rows.json' });
  await put('html', { content: HTML, name: 'page.html' });
  await put('email', { content: EMAIL, name: 'mail.eml' });
  await put('text', { content: 'plain words', name: 'plain.txt', source_refs: [names['artifact-json']] });
  await put('binary', {
    content: Buffer.from(BINARY).toString('base64'),
    encoding: 'base64',
    name: 'data.bin',
  });
  await put('log', { content: LOG, name: 'run.log', type: 'tool_output' });
  await ann({ path: `${at}/artifacts/${names['artifact-markdown']}` });
}

async function fillEvents(ann: Ask, at: string, names: Names): Promise<void> {
  const post = (path: string, body: object, headers = {}) => ann({ method: 'POST', path, body, headers });
  const event = { type: 'survey.counted', payload: { votes: 12, by: ['ann', 'bob'] } };
  await post(`${at}/events`, event);
  const billed = {
    model: 'recorded',
    billed_input: 100,
    billed_output: 20,
    prompt_tokens: 90,
    patch: 'none',
  };
  await post(`${at}/events`, { type: 'prompt.answered', payload: billed });
  const week = 7 * 24 * 3600;
  const letter = { to_capability: 'painter', payload: { colour: 'white' }, note: 'please', ttl: week };
  await post(`${at}/envelopes`, letter, { 'Idempotency-Key': 'fixture-envelope-1' });
  await post(`${at}/envelopes`, { to_capability: 'buyer', payload: ['brush'], type: 'order', ttl: week });
  const invoke = {
    capability: 'retrieval.search',
    thread_id: names.thread,
    args: { query: 'lighthouse' },
  };
  names['artifact-found'] = (await post('/cap/invoke', invoke)).artifact_ref;
  await post('/cap/invoke', invoke);
  names['artifact-report'] = (await post(`/reports/${names.thread}`, { format: 'md' })).artifact_ref;
  await ann({ path: `${at}/state/header` });
  const hold = { token: 'hold-token', holder: 'ann at her desk', ttl: 3600 };
  await post(`${at}/hold`, hold);
}
