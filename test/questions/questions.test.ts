import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJsonObject } from '../../src/base/json.ts';
import { ANSWER_CHARS, QUESTIONS_KEPT } from '../../src/base/limits.ts';
import { RELAY_TENANT, SCOPES } from '../../src/contract/caller.ts';
import { allRecords } from '../../src/domain/records.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { openTestCore } from '../channels/core.ts';
import { startRelay } from '../http/relay-under-test.ts';
import { startGuarded } from '../keys/guarded-relay.ts';
import { until } from '../until.ts';

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

test('answering needs its own scope, which a key has only if its creator named it', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const agent = await relay.key({ name: 'agent' });
  assert.ok(!agent.scopes.includes('answer'));
  const person = await relay.key({ name: 'ann', scopes: ['threads', 'answer'] });
  const response = await relay.ask('POST', '/questions', {
    key: agent,
    body: { question: 'Deploy?', choices: ['yes', 'no'], who: ['ann'] },
  });
  assert.equal(response.status, 201, response.text);
  const { id } = response.json;
  const answer = (key: typeof agent, text: string) =>
    relay.ask('POST', `/questions/${id}/answer`, { key, body: { answer: text } });
  assert.equal((await answer(agent, 'yes')).status, 403);
  assert.equal((await relay.ask('POST', `/questions/${id}/link`, { key: agent })).status, 403);
  const other = await relay.key({ name: 'bob', scopes: ['threads', 'answer'] });
  assert.match((await answer(other, 'yes')).text, /Only ann may answer/);
  assert.match((await answer(person, 'maybe')).text, /must be one of: yes, no/);
  const done = await answer(person, 'yes');
  assert.deepEqual([done.json.status, done.json.answer, done.json.answered_by], ['answered', 'yes', 'ann']);
  assert.equal((await answer(person, 'no')).status, 409);
  const stranger = await relay.key({ name: 'x', tenant: 'other', scopes: ['threads', 'answer'] });
  assert.equal((await answer(stranger, 'yes')).status, 404);
});

test('the first of many concurrent answers counts, and the thread has one event with its author and time', async () => {
  await using relay = await startRelay();
  const client = new ContextRelay({ baseUrl: relay.url });
  const thread = await client.threads.create({ name: 'run' });
  const input = { question: 'Ship it?', thread_id: thread.id, step: 'ship', idempotency_key: 'same' };
  const question = await client.questions.ask(input);
  assert.equal((await client.questions.ask(input)).id, question.id);
  const tries = await Promise.allSettled(
    ['a', 'b', 'c', 'd'].map((answer) => client.questions.answer(question.id, { answer })),
  );
  assert.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1);
  const { answer, answered_at } = await client.questions.get(question.id);
  const events = (await Array.fromAsync(thread.events())).filter(({ type }) => type.startsWith('question.'));
  assert.deepEqual(
    events.map(({ type, payload }) => [type, payload.step, payload.answer, payload.answered_at]),
    [
      ['question.asked', 'ship', undefined, undefined],
      ['question.answered', 'ship', answer, answered_at],
    ],
  );
  await assert.rejects(thread.record('question.answered', {}), /reserved/);
});

test('a link shows a form, only the form answers, and the link works once', async () => {
  await using relay = await startRelay();
  const client = new ContextRelay({ baseUrl: relay.url });
  const hostile = '<script>alert(1)</script>';
  const question = await client.questions.ask({ question: hostile, choices: ['go "on"', 'stop'] });
  const { url } = await client.questions.link(question.id);
  const second = await client.questions.link(question.id);
  const page = await fetch(url);
  const html = await page.text();
  assert.equal(page.status, 200);
  assert.ok(!html.includes('<script>'));
  assert.match(html, /value="go &#34;on&#34;"/);
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  assert.equal((await client.questions.get(question.id)).status, 'open');
  const send = (to: string, answer: string) =>
    fetch(to, { method: 'POST', headers: FORM, body: new URLSearchParams({ answer, comment: 'ok' }) });
  assert.equal((await send(url, 'other')).status, 400);
  assert.equal((await send(url, 'go "on"')).status, 200);
  const done = await client.questions.get(question.id);
  assert.deepEqual(
    [done.answer, done.comment, done.via, done.answered_by],
    ['go "on"', 'ok', 'link', 'link'],
  );
  for (const used of [url, second.url]) {
    assert.equal((await fetch(used)).status, 410);
    assert.equal((await send(used, 'stop')).status, 410);
  }
  assert.equal((await fetch(`${relay.url}/answer/cr_answer_unknown`)).status, 410);
  const token = url.split('/').at(-1)!;
  for (const path of ['/questions', '/threads', '/pointers', `/questions/${question.id}`]) {
    const answer = await fetch(relay.url + path, { headers: { Authorization: `Bearer ${token}` } });
    // A relay without keys answers everybody, so the token of the link neither helps nor harms.
    assert.equal(answer.status, 200, path);
  }
});

test('only the asker and people who may answer can create links, and nobody can for another person', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const scopes = ['threads', 'answer'] as const;
  const [asker, ann, bob] = await Promise.all(
    ['asker', 'ann', 'bob'].map((name) => relay.key({ name, scopes: [...scopes] })),
  );
  const body = { question: 'Deploy?', who: ['ann', 'eve'] };
  const { id } = (await relay.ask('POST', '/questions', { key: asker, body })).json;
  const link = (key: typeof asker, o: object) => relay.ask('POST', `/questions/${id}/link`, { key, body: o });
  assert.match((await link(bob, { name: 'ann' })).text, /Only ann, eve may answer/);
  assert.equal((await link(bob, {})).status, 403);
  assert.equal((await link(ann, { name: 'eve' })).status, 403);
  assert.equal((await link(asker, { name: 'bob' })).status, 403);
  assert.equal((await link(asker, { name: 'eve' })).status, 201);
  const { path } = (await link(ann, {})).json;
  const answer = new URLSearchParams({ answer: 'yes' });
  await fetch(new URL(path, relay.url), { method: 'POST', headers: FORM, body: answer });
  const done = (await relay.ask('GET', `/questions/${id}`, { key: asker })).json;
  assert.deepEqual([done.answer, done.answered_by, done.via], ['yes', 'ann', 'link']);
});

test('a link ends when the key that created it is revoked, and outlives a rotation', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const admin = await relay.key({ name: 'admin', scopes: [...SCOPES] });
  const asker = await relay.key({ name: 'asker', scopes: ['threads', 'answer'] });
  const { id } = (await relay.ask('POST', '/questions', { key: asker, body: { question: 'Deploy?' } })).json;
  const { path } = (await relay.ask('POST', `/questions/${id}/link`, { key: asker, body: {} })).json;
  const status = async () => (await fetch(new URL(path, relay.url))).status;
  assert.equal(await status(), 200);
  const rotated = await relay.ask('POST', `/keys/${asker.id}/rotate`, { key: admin, body: { grace: 0 } });
  assert.equal(await status(), 200, rotated.text);
  await relay.ask('DELETE', `/keys/${rotated.json.id}`, { key: admin });
  assert.equal(await status(), 410);
  const answer = new URLSearchParams({ answer: 'yes' });
  const response = await fetch(new URL(path, relay.url), { method: 'POST', headers: FORM, body: answer });
  assert.equal(response.status, 410);
});

test('a default and a step have a maximum length, and ended questions make room for new ones', async () => {
  await using under = openTestCore();
  const { questions } = under.relay;
  for (const long of [{ default: 'x'.repeat(ANSWER_CHARS + 1) }, { step: 'x'.repeat(1_000) }])
    await assert.rejects(questions.ask({ question: 'q', ...long }), /at most/);
  const { id } = await questions.ask({ question: 'q' });
  await questions.withdraw(id);
  const { records } = under.engine;
  const prefix = `ten.${RELAY_TENANT}/questions/`;
  const { value } = (await records.get(prefix + id))!;
  assert.ok(isJsonObject(value));
  for (let n = 1; n <= QUESTIONS_KEPT; n++) {
    const older = `q_${n.toString(16).padStart(26, '0')}`;
    await records.put(prefix + older, { ...value, id: older, asked: n });
  }
  await questions.ask({ question: 'q' });
  const keys = await Array.fromAsync(allRecords(records, prefix), ({ key }) => key);
  assert.equal(keys.length, QUESTIONS_KEPT);
  assert.ok(keys.includes(prefix + id), 'the oldest ones were deleted');
});

test('the token of a link is no key: it opens nothing on a relay with keys', async () => {
  await using relay = await startGuarded();
  const person = await relay.key({ name: 'ann', scopes: ['threads', 'answer'] });
  const { id } = (await relay.ask('POST', '/questions', { key: person, body: { question: 'A?' } })).json;
  const { path } = (await relay.ask('POST', `/questions/${id}/link`, { key: person })).json;
  const token = path.split('/').at(-1);
  for (const at of ['/questions', '/threads', `/questions/${id}`])
    assert.equal((await relay.ask('GET', at, { key: token })).status, 401);
  assert.equal((await relay.ask('GET', path)).status, 200);
  const foreign = { ...FORM, Origin: 'https://evil.example' };
  assert.equal((await relay.ask('POST', path, { body: 'answer=x', headers: foreign })).status, 403);
  assert.equal((await relay.ask('POST', path, { body: 'answer=x', headers: FORM })).status, 200);
});

test('the default becomes the answer when the time is over, and a question without one expires', async () => {
  await using relay = await startRelay();
  const client = new ContextRelay({ baseUrl: relay.url });
  const o = { timeout: 1, choices: ['yes', 'no'] };
  const answered = await client.ask('Go on?', { ...o, default: 'no' });
  assert.deepEqual([answered.answer, answered.answered_by], ['no', 'timeout']);
  const links: string[] = [];
  const onAsked = async ({ id }: { id: string }) => {
    links.push((await client.questions.link(id)).url);
  };
  await assert.rejects(client.ask('Go on?', { ...o, onAsked }), /Nobody answered: the question has expired/);
  assert.equal((await fetch(links[0]!)).status, 410);
});

test('a client that stops waiting withdraws its question', async () => {
  await using relay = await startRelay();
  const client = new ContextRelay({ baseUrl: relay.url });
  const stop = new AbortController();
  const waiting = client.ask('Anybody?', { signal: stop.signal });
  const open = async () => (await client.questions.list()).questions;
  await until(async () => (await open()).length === 1);
  stop.abort();
  await assert.rejects(waiting, /wait for the answer was canceled/);
  assert.deepEqual(await open(), []);
});
