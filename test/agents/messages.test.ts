import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../src/base/errors.ts';
import { AGENT_RECIPIENTS, CLAIM_MS, CONVERSATION_MESSAGES } from '../../src/base/limits.ts';
import type { Session } from '../../src/contract/agents.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { overlaps } from '../../src/domain/agents/claims.ts';
import { BASE, openTestCore } from '../channels/core.ts';

const SESSION: Session = {
  client: 'codex',
  session: 's1',
  folder: '/projects/hono',
  machine: 'laptop',
  reach: 'now',
  busy: false,
  inbound: 'known',
  named: false,
};
const NAMED = { ...SESSION, named: true };

const refused = (code: string) => (error: unknown) => isRelayError(error) && error.code === code;

test('a session keeps its name while it lives; afterwards the next session gets the name', async () => {
  await using under = openTestCore();
  const { relay } = under;
  assert.equal((await relay.agents.enter('codex-hono', SESSION)).name, 'codex-hono');
  const second = { ...SESSION, session: 's2' };
  assert.equal((await relay.agents.enter('codex-hono', second)).name, 'codex-hono-2');
  assert.equal((await relay.agents.enter('codex-hono', { ...SESSION, busy: true })).name, 'codex-hono');
  const { agents } = await relay.agents.list();
  assert.deepEqual(
    agents.map(({ name, kind, state, alive, session }) => [name, kind, state, alive, session?.reach]),
    [
      ['codex-hono', 'session', 'working', true, 'now'],
      ['codex-hono-2', 'session', 'idle', true, 'now'],
    ],
  );
  await relay.agents.leave('codex-hono', 's1');
  const ended = (await relay.agents.list()).agents[0]!;
  assert.deepEqual([ended.alive, ended.state, ended.session?.reach], [false, 'silent', 'start']);
  const third = { ...SESSION, session: 's3' };
  assert.equal((await relay.agents.enter('codex-hono', third)).name, 'codex-hono');
});

test('a message has a receipt at each stage, and a reply reaches its sender', async () => {
  await using under = openTestCore();
  const [anna, bert] = [under.as('anna'), under.as('bert')];
  await anna.agents.enter('anna', NAMED);
  await bert.agents.enter('bert', { ...NAMED, session: 's2' });
  const { messages } = await anna.agents.send('bert', 'please review');
  const { id, conversation } = messages[0]!;
  const state = async () => (await anna.agents.conversation(conversation)).messages[0]!;
  assert.equal((await state()).state, 'queued');

  const batch = await bert.agents.take('bert');
  assert.deepEqual(
    batch.messages.map(({ text, from }) => [text, from]),
    [['please review', 'anna']],
  );
  assert.deepEqual((await bert.agents.take('bert')).messages, [], 'another process does not get it too');
  assert.equal((await state()).state, 'queued', 'taken is not shown');
  await bert.agents.mark('bert', { ids: [id], as: 'shown', route: 'hook' });
  const { state: messageState, route } = await state();
  assert.deepEqual([messageState, route], ['shown', 'hook']);
  await bert.agents.mark('bert', { ids: [id], as: 'read' });
  assert.equal((await state()).state, 'read');

  const reply = await bert.agents.send(null, 'fine', { reply_to: id });
  assert.deepEqual(
    reply.messages.map(({ to, conversation: of }) => [to, of]),
    [['anna', conversation]],
  );
  assert.equal((await state()).state, 'answered');
  const listed = (await anna.agents.conversations()).conversations;
  assert.deepEqual(
    listed.map(({ agents, messages: count }) => [agents, count]),
    [[['anna', 'bert'], 2]],
  );
});

test('a message that was taken but not shown is delivered again', async () => {
  await using under = openTestCore();
  await under.relay.agents.enter('bert', NAMED);
  await under.relay.agents.send('bert', 'one');
  assert.equal((await under.relay.agents.take('bert')).messages.length, 1);
  under.advance(31_000);
  assert.equal((await under.relay.agents.take('bert')).messages.length, 1);
  const { id } = (await under.relay.agents.messages('bert')).messages[0]!;
  await under.relay.agents.mark('bert', { ids: [id], as: 'sent', route: 'codex-queue' });
  under.advance(31_000);
  assert.deepEqual((await under.relay.agents.take('bert')).messages, [], 'the client has it in its queue');
});

test('an unknown name is refused with the nearest names, unless the message is queued', async () => {
  await using under = openTestCore();
  const { relay } = under;
  await relay.agents.enter('codex-hono', SESSION);
  await relay.agents.enter('claude-hono', { ...SESSION, session: 's2' });
  await assert.rejects(relay.agents.send('codex-hon', 'x'), (error: Error) => {
    assert.match(error.message, /no agent called "codex-hon"\. Did you mean codex-hono/);
    return refused('unknown_agent')(error);
  });
  await relay.agents.send('late', 'wait for me', { queue: true });
  await relay.agents.enter('late', { ...NAMED, session: 's3' });
  assert.equal((await relay.agents.take('late')).messages[0]?.text, 'wait for me');
  await under.as('codex-hono').agents.send('*', 'to all');
  assert.equal((await relay.agents.messages('claude-hono')).messages.length, 1);
  assert.equal((await relay.agents.messages('codex-hono')).messages.length, 0, 'not to itself');
});

test('a session is shown only messages of senders that it knows', async () => {
  await using under = openTestCore();
  const [anna, bert] = [under.as('anna'), under.as('bert')];
  await anna.agents.enter('anna', SESSION);
  await bert.agents.enter('bert', { ...SESSION, session: 's2' });
  await anna.agents.send('bert', 'hello');
  assert.deepEqual((await bert.agents.take('bert')).messages, []);
  assert.deepEqual((await bert.agents.enter('bert', { ...SESSION, session: 's2' })).held, ['anna']);
  assert.equal((await bert.agents.messages('bert')).messages[0]?.held, true);
  await under.as('local').agents.send('bert', 'a person writes');
  assert.deepEqual(
    (await bert.agents.take('bert')).messages.map(({ text }) => text),
    ['a person writes'],
  );
  await bert.agents.send('anna', 'who are you?');
  assert.deepEqual(
    (await bert.agents.take('bert')).messages.map(({ text }) => text),
    ['hello'],
  );

  await bert.agents.enter('bert', { ...SESSION, session: 's2', inbound: 'none' });
  await under.as('local').agents.send('bert', 'again');
  assert.deepEqual((await bert.agents.take('bert')).messages, []);
  await bert.agents.enter('bert', { ...SESSION, session: 's2', inbound: 'all' });
  assert.equal((await bert.agents.take('bert')).messages.length, 1);
});

test('a conversation stops at its limit until a person allows more', async () => {
  await using under = openTestCore();
  const [anna, bert] = [under.as('anna'), under.as('bert')];
  await anna.agents.enter('anna', NAMED);
  await bert.agents.enter('bert', { ...NAMED, session: 's2' });
  let last = (await anna.agents.send('bert', '1')).messages[0]!;
  for (let count = 2; count <= CONVERSATION_MESSAGES; count++) {
    const next = last.to === 'bert' ? bert : anna;
    last = (await next.agents.send(null, String(count), { reply_to: last.id })).messages[0]!;
  }
  const more = () => bert.agents.send(null, 'more', { reply_to: last.id });
  await assert.rejects(more(), refused('conversation_limit'));
  await anna.agents.proceed(last.conversation);
  await more();
});

test('a long text travels as a pointer with an excerpt, and a repeated send is one message', async () => {
  await using under = openTestCore();
  const { relay } = under;
  await relay.agents.enter('bert', NAMED);
  const long = Array.from({ length: 2_000 }, (_, line) => `line ${line} of the report`).join('\n');
  const o = { idempotency_key: 'once' };
  const [first] = (await relay.agents.send('bert', long, o)).messages;
  const [again] = (await relay.agents.send('bert', long, o)).messages;
  assert.equal(again!.id, first!.id);
  assert.ok(first!.text.length < 4_000 && first!.text.includes('of the report'), first!.text);
  const { body } = await relay.pointers.pull(first!.url!.slice(-36));
  assert.equal(await new Response(body as BodyInit).text(), long);
  assert.equal((await relay.agents.messages('bert')).messages.length, 1);
  await assert.rejects(relay.agents.send('bert', 'other', o), refused('idempotency_conflict'));
});

test('a key with a channel prefix cannot answer in the name of an agent outside its prefix', async () => {
  await using under = openTestCore();
  const anna = under.as('anna');
  const { messages } = await anna.agents.send('bert', 'urgent', { queue: true });
  const bound = { ...LOCAL_CALLER, keyId: 'key_1', name: 'k', channelPrefix: '@anna', agent: 'bert' };
  const relay = under.core.relay(bound, BASE);
  await relay.agents.send('anna', 'done', { reply_to: messages[0]!.id });
  const waiting = await under.as('bert').agents.messages('bert');
  assert.deepEqual(
    waiting.messages.map(({ text, state }) => [text, state]),
    [['urgent', 'queued']],
  );
});

test('a message rejects a pointer that a shell would interpret, a long key and too many recipients', async () => {
  await using under = openTestCore();
  const { relay } = under;
  for (const url of ['relay:1; rm -rf ~', 'http://x/$(id)', 'http://x/a\nb', `http://x/${'a'.repeat(3_000)}`])
    await assert.rejects(relay.agents.send('bert', 'x', { url, queue: true }), /must be a pointer/);
  await relay.agents.send('bert', 'x', { url: 'http://[::1]:8080/pull/a_b-c#key=', queue: true });
  const key = 'k'.repeat(10_000);
  await assert.rejects(relay.agents.send('bert', 'x', { idempotency_key: key, queue: true }), /longer than/);
  for (let n = 0; n <= AGENT_RECIPIENTS; n++)
    await relay.agents.enter(`agent-${n}`, { ...NAMED, session: `s${n}` });
  await assert.rejects(relay.agents.send('*', 'x'), /the limit is 100/);
});

test('messages, conversations and claims never cross tenants', async () => {
  await using under = openTestCore();
  const { relay } = under;
  await relay.agents.enter('bert', NAMED);
  const { id, conversation } = (await relay.agents.send('bert', 'x')).messages[0]!;
  await relay.agents.claim('hono', 'src/**');
  const other = under.as('eve', 'other');
  assert.deepEqual((await other.agents.list()).agents, []);
  assert.deepEqual((await other.agents.messages('bert')).messages, []);
  assert.deepEqual((await other.agents.conversations()).conversations, []);
  assert.deepEqual((await other.agents.claims()).claims, []);
  await assert.rejects(other.agents.conversation(conversation), refused('not_found'));
  await assert.rejects(other.agents.send(null, 'x', { reply_to: id }), refused('not_found'));
  await assert.rejects(other.agents.send('bert', 'x'), refused('unknown_agent'));
});

test('a claim excludes others, is renewed by its holder and lapses', async () => {
  await using under = openTestCore();
  const [anna, bert] = [under.as('anna'), under.as('bert')];
  await anna.agents.claim('hono', 'src/auth/**');
  await assert.rejects(bert.agents.claim('hono', 'src/auth/login.ts'), (error: Error) => {
    assert.match(error.message, /anna holds src\/auth\/\*\* for 15 more minutes/);
    return refused('claimed')(error);
  });
  await bert.agents.claim('hono', 'src/routes/**');
  await bert.agents.claim('other', 'src/auth/**');
  await assert.rejects(bert.agents.release('hono', 'src/auth/**'), refused('claimed'));
  under.advance(CLAIM_MS - 60_000);
  await anna.agents.enter('anna', NAMED);
  under.advance(CLAIM_MS - 60_000);
  const claims = (await anna.agents.claims({ project: 'hono' })).claims;
  assert.deepEqual(
    claims.map(({ by, what }) => [by, what]),
    [['anna', 'src/auth/**']],
  );
  under.advance(CLAIM_MS);
  await bert.agents.claim('hono', 'src/auth/**');
});

test('path patterns overlap if they can name the same file', () => {
  for (const [a, b, expected] of [
    ['src/auth/**', 'src/auth/login.ts', true],
    ['src/*.ts', 'src/app.ts', true],
    ['src/*.ts', 'src/auth/login.ts', false],
    ['src/auth', 'src/auth/login.ts', true],
    ['src/auth', 'src/author.ts', false],
    ['src/**', 'src/auth/**', true],
    ['src/a/**', 'src/b/**', false],
    ['**/login.ts', 'src/auth/login.ts', true],
    ['TODO-001', 'TODO-010', false],
    ['src/**/x.ts', 'src/x.ts', true],
    ['src/**/x.ts', 'src/a/b/x.ts', true],
    ['a*/**b*c', 'ax/y/bz/bqc', true],
    ['a*/**b*c', 'ax/y/bz/bq/c', false],
    ['a.(b)+*', 'a.(b)+c', true],
  ] as const) {
    assert.equal(overlaps(a, b), expected, `${a} ${b}`);
    assert.equal(overlaps(b, a), expected, `${b} ${a}`);
  }
});

test('a pattern with many wildcards neither blocks the relay nor is accepted as a claim', async () => {
  // A backtracking regular expression would practically never finish on this pattern.
  assert.equal(overlaps('**a'.repeat(150), `${'a'.repeat(500)}b`), false);
  await using under = openTestCore();
  await assert.rejects(under.as('anna').agents.claim('hono', '*a'.repeat(9)), refused('bad_request'));
});
