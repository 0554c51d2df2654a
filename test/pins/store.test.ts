import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runHere } from '../cli/in-process.ts';
import { answerTo, type Fixture } from './store-answers.ts';
import { type Answer, type Question, type ServedHome, serveHome, unpackFolder } from './store-home.ts';

/**
 * Opens a home folder of an earlier version that contains all kinds of data (see make-store.ts). It must give the same
 * answers in every version. A failure here would also happen to users with their own data.
 */

const FIXTURES = resolve(import.meta.dirname, '../fixtures');
const PACKED = readFileSync(join(FIXTURES, 'store-v1.home.gz'));
const ANSWERS = join(FIXTURES, 'store-v1.json');
const FIXTURE: Fixture = JSON.parse(readFileSync(ANSWERS, 'utf8'));
const { now, names, asked } = FIXTURE;
const THREAD = 'd2a415d9-682d-415f-bf67-8d0023bf9bfd';
const ANN = 'cr_live_f1N3oP8YXTO8HX6A21GjFJNY9xglqGcERkUUH7dx';
const A2A = { 'A2A-Version': '1.0', 'Content-Type': 'application/json' };

/** Unpacks a copy of the home and sets the time shortly after its creation, when nothing has expired. */
function oldHome(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'relay-old-home-'));
  t.after(() => rmSync(home, { recursive: true, force: true, maxRetries: 10 }));
  unpackFolder(PACKED, home);
  t.mock.timers.enable({ apis: ['Date'], now });
  return home;
}

type AskAnn = (question: Question) => Promise<Answer>;

/** Returns a function that sends requests with the API key of Ann. */
function asAnn(served: ServedHome): AskAnn {
  return (question) => served.ask({ key: ANN, ...question });
}

test('the fixture has not been changed', () => {
  assert.equal(
    createHash('sha256').update(PACKED).digest('hex'),
    '2dd4a8e7ef9eb7a7bc258e478c86eadfde8e981e1d9bcb4207452e3d340e9529',
  );
  assert.equal(new Date(now).toISOString(), '2026-11-16T10:49:24.365Z');
  assert.equal(asked.length, 149);
  assert.equal(names.thread, THREAD);
});

test('every request gets the same answer as when the home was created', async (t) => {
  const home = oldHome(t);
  await using served = await serveHome(home);
  await assertAnswers(served, FIXTURE, ANSWERS);
  const again = await asAnn(served)({ path: `/pull/${names.limited}` });
  assert.equal(again.status, 404, 'it was pulled once before and twice now, which is all');
  assert.deepEqual(served.log, []);
  await t.test('contents, hashes, states and sequence numbers are unchanged', () =>
    assertContents(asAnn(served)),
  );
});

async function assertAnswers(served: ServedHome, fixture: Fixture, file: string): Promise<void> {
  const answers = [];
  for (const { answer: _, ...planned } of fixture.asked)
    answers.push({ ...planned, answer: await answerTo(served, fixture.keys, planned) });
  // Rewrite the answers after an intended change. The home itself is never recreated.
  if (process.env.UPDATE_PINS === '1')
    writeFileSync(file, `${JSON.stringify({ ...fixture, asked: answers }, null, 2)}\n`);
  for (const [i, { as, about, method = 'GET', path, answer }] of fixture.asked.entries())
    assert.deepEqual(answers[i]!.answer, answer, `${i}, ${about}: ${method} ${path} as ${as}`);
}

async function assertContents(ask: AskAnn): Promise<void> {
  const sha256 = async (path: string) =>
    createHash('sha256')
      .update((await ask({ path })).bytes)
      .digest('hex');
  const large = '3bf7299699a7ea048a483974dfe583172f82143932451f939412520b8bb15350';
  const binary = '455e84c00904b592bba56711613663e9a5deb2a6345b33892c8cbbe16980fadd';
  assert.equal(await sha256('/pull/24d18e66-524b-46f5-a16a-c97920ac739a?raw=1'), large);
  assert.equal(await sha256('/pull/37de8266-aaca-45f9-bafa-e853d0c22f34?raw=1'), binary);
  assert.equal(
    (await ask({ path: '/peek/24d18e66-524b-46f5-a16a-c97920ac739a' })).about['relay-sha256'],
    large,
  );
  const artifacts = `/threads/${THREAD}/artifacts`;
  assert.equal(await sha256(`${artifacts}/01a1e3f9c5178d172516ca37d2/content`), binary);
  const { json: state } = await ask({ path: `/threads/${THREAD}/state` });
  assert.deepEqual(
    [state.version, state.last_actions.length, state.artifacts.length, state.session_summary.slice(0, 61)],
    [65, 50, 9, 'About a lighthouse.\nCompacted after v54: 10 actions on 2026-1'],
  );
  assert.deepEqual(
    state.facts.map(({ id, value }: { id: string; value: unknown }) => [id, value]),
    [
      ['f2', { n: 7, of: [1, 2] }],
      ['f3', { n: 7, of: [1, 2] }],
      ['f1', 'blue'],
      ['long', 'short again'],
      ['big', 'big no more'],
      ['last', true],
    ],
  );
  const { json: work } = await ask({ path: '/channels/work/events?since=all', take: 5 });
  assert.deepEqual(
    work.map(({ seq }: { seq: number }) => seq),
    [72, 76, 79, 85, 113],
  );
}

/** Repeats requests of every kind with their original idempotency keys, and asserts that nothing is created twice. */
async function assertRepeats(ask: AskAnn): Promise<void> {
  const repeat = async (path: string, key: string, body: unknown) => {
    const headers = { 'Idempotency-Key': key, 'Content-Type': 'application/json' };
    return (await ask({ method: 'POST', path, headers, body: JSON.stringify(body) })).json;
  };
  const pushed = await repeat('/push', 'fixture-push-1', { data: 'only once', ttl: 2_592_000 });
  assert.equal(pushed.id, '88a02466-7afa-4d24-b12b-86ac7ce57582');
  const signal = { msg: { kind: 'object', list: [1, 2] } };
  assert.equal((await repeat('/channels/news', 'fixture-signal-1', signal)).seq, 59);
  const at = `/threads/${THREAD}`;
  const ops = [{ op: 'replace', path: '/facts/0/value', value: 'blue' }];
  assert.equal((await repeat(`${at}/state/patch`, 'fixture-patch-1', ops)).state_ref, 'v3');
  const content = '# Findings\n\nThe lighthouse was painted in 1887.\n\n- one\n- two\n';
  const artifact = await repeat(`${at}/artifacts`, 'fixture-art-1', { content, name: 'findings.md' });
  assert.equal(artifact.ref, '01a1e3f9c4c162a72e422b384f');
  const letter = { to_capability: 'painter', payload: { colour: 'white' }, note: 'please', ttl: 604_800 };
  await repeat(`${at}/envelopes`, 'fixture-envelope-1', letter);
  assert.equal((await ask({ path: `${at}/envelopes` })).json.envelopes.length, 2);
  const message = { messageId: 'message-a2a-submitted', role: 'ROLE_USER' };
  const parts = [{ text: 'an A2A task that waits' }];
  const body = JSON.stringify({
    message: { ...message, parts },
    configuration: { returnImmediately: true },
  });
  const response = await ask({ method: 'POST', path: '/a2a/relay/message:send', headers: A2A, body });
  assert.equal(response.json.task.id, '7136354b-ce1b-4d8e-a88a-cc3f3cd14dce');
  const invoke = { capability: 'retrieval.search', thread_id: THREAD, args: { query: 'lighthouse' } };
  const uncached = (await ask({ method: 'POST', path: '/cap/invoke', body: invoke })).json;
  // The cached answer is older than the report, so the first search runs. The second search gets the cached answer.
  const cached = (await ask({ method: 'POST', path: '/cap/invoke', body: invoke })).json;
  assert.deepEqual([uncached.cache_hit, cached.cache_hit], [false, true]);
}

test('a home of the last version before 0.3.0 gives the same answers as when it was created', async (t) => {
  const packed = readFileSync(join(FIXTURES, 'store-v2.home.gz'));
  assert.equal(
    createHash('sha256').update(packed).digest('hex'),
    '3f8a7df5ff50dc1c4761c69d9b5a267193205056bd822ef61f3d5a002b329911',
  );
  const path = join(FIXTURES, 'store-v2.json');
  const fixture: Fixture = JSON.parse(readFileSync(path, 'utf8'));
  assert.equal(fixture.asked.length, 193);
  const home = mkdtempSync(join(tmpdir(), 'relay-old-home-'));
  t.after(() => rmSync(home, { recursive: true, force: true, maxRetries: 10 }));
  unpackFolder(packed, home);
  t.mock.timers.enable({ apis: ['Date'], now: fixture.now });
  await using served = await serveHome(home);
  await assertAnswers(served, fixture, path);
  assert.deepEqual(served.log, []);
});

test('work continues where it stopped, and new data is stored', async (t) => {
  const home = oldHome(t);
  const at = `/threads/${THREAD}`;
  let id = '';
  {
    await using served = await serveHome(home);
    const ask = asAnn(served);
    const post = async (path: string, body: unknown) => ask({ method: 'POST', path, body });
    const claim = { seq: 85, token: 110 };
    assert.deepEqual((await post('/channels/work/groups/crew/ack', claim)).json, { seq: 85 });
    const { json: claimed } = await ask({
      path: '/channels/work/events?group=crew&since=all&prefetch=2',
      take: 2,
    });
    assert.deepEqual(
      claimed.map(({ seq, attempt }: { seq: number; attempt: number }) => [seq, attempt]),
      [
        [79, 2],
        [113, 1],
      ],
    );
    const done = await post(`/tasks/${names['a2a-hooked']}/done`, { summary: 'after all' });
    assert.equal(done.json.status, 'done');
    const task = await ask({ path: `/a2a/relay/tasks/${names['a2a-hooked']}`, headers: A2A });
    assert.equal(task.json.status.state, 'TASK_STATE_COMPLETED');
    const pushed = await post('/push', { data: 'something new', channel: 'news', metadata: { new: true } });
    id = pushed.json.id;
    assert.equal(pushed.json.expires_at, '2026-11-17T10:49:24.365Z');
    const ops = [{ op: 'add', path: '/facts/-', value: { id: 'new', key: 'new', value: 'fact' } }];
    const headers = { 'Content-Type': 'application/json', 'If-Match': 'v65' };
    const patch = { method: 'POST', path: `${at}/state/patch`, headers, body: JSON.stringify(ops) };
    assert.equal((await ask(patch)).json.state_ref, 'v66');
    await post(`${at}/artifacts`, { content: 'the lighthouse keeper', name: 'keeper.txt' });
  }
  await using served = await serveHome(home);
  const ask = asAnn(served);
  assert.deepEqual((await ask({ path: `/pull/${id}` })).json, {
    data: 'something new',
    metadata: { new: true },
  });
  const { json: news } = await ask({ path: '/channels/news/events?since=62', take: 1 });
  assert.equal(news[0].url, `https://relay.example/pull/${id}`);
  const { json: state } = await ask({ path: `${at}/state` });
  assert.deepEqual([state.version, state.facts.at(-1).value], [67, 'fact']);
  const { json: search } = await ask({ path: `${at}/search?q=keeper` });
  assert.equal(search.hits[0].name, 'keeper.txt');
  assert.equal((await ask({ method: 'POST', path: `${at}/replay` })).json.matches, true);
  const legible = join(home, 'threads', THREAD);
  assert.equal(JSON.parse(readFileSync(join(legible, 'state.json'), 'utf8')).version, 67);
  const lines = readFileSync(join(legible, 'events.log'), 'utf8').trimEnd().split('\n');
  assert.equal(lines.length, (await ask({ path: at })).json.event_count);
  assert.equal(JSON.parse(lines[0]!).type, 'thread.created');
  await t.test('requests repeated with their idempotency keys return the original results', () =>
    assertRepeats(ask),
  );
});

test('commands find the data that earlier commands stored', async (t) => {
  const home = oldHome(t);
  const stdoutOf = async (...args: string[]) => {
    const { code, stdout, stderr } = await runHere(args, { home });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  assert.equal(await stdoutOf('pull', names.encrypted!), 'nobody but us knows');
  assert.equal(await stdoutOf('pull', names.sealed!), 'sealed to the channel');
  assert.equal(await stdoutOf('pull', names.local!), 'pushed without a server');
  const key = await stdoutOf('channel', 'key', 'show', 'sealed');
  assert.equal(key.trim(), '0TrWikZuvXWf9cOFymX-ZrFxUezLD-OdH98p2fpVSjA=');
  const pipeline = JSON.parse(await stdoutOf('pipeline', 'show', names.run!, '--json'));
  assert.equal(pipeline.status, 'done');
  assert.equal(
    await stdoutOf('artifact', 'get', '01a1e3f9c509c9cdbc7484a34a', '--thread', THREAD),
    'plain words',
  );
  assert.ok(!existsSync(join(home, 'threads', names.deleted!)));
});
