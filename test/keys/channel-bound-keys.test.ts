import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { LOCAL_CALLER, RELAY_TENANT, SCOPES } from '../../src/contract/caller.ts';
import type { CreatedKey, NewKey } from '../../src/contract/keys.ts';
import { VERBS } from '../../src/contract/relay.ts';
import { type GuardedRelay, startGuarded } from './guarded-relay.ts';

/**
 * The rule: a channel-bound key can access data on its channels and data that it created. Every verb has a row here.
 * A new verb fails until somebody has decided what a channel-bound key may do with it.
 */

let relay: GuardedRelay;
/** A key with every scope for channels that begin with `mine.`. Its tenant is the one whose admins run the relay. */
let bound: CreatedKey;
/** A key without a channel prefix. It creates the foreign data. */
let free: CreatedKey;
let foreign: Things;
let ownThings: Things;

/** Ids of test data. The pointer `loose` is on no channel. */
type Things = {
  readonly [what in
    | 'pointer'
    | 'loose'
    | 'task'
    | 'thread'
    | 'artifact'
    | 'file'
    | 'share'
    | 'key'
    | 'question'
    | 'conversation']: string;
};

const createKey = (input: Partial<NewKey>) =>
  relay.core.keys.create(LOCAL_CALLER, { name: 'test', scopes: [...SCOPES], ...input });

async function createThings(key: CreatedKey, channel: string): Promise<Things> {
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await relay.ask(method, path, { key, body });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer.json;
  };
  const thread = (await ask('POST', '/threads', { name: `thread on ${channel}` })).thread_id;
  const artifact = await ask('POST', `/threads/${thread}/artifacts`, { name: 'a', content: 'words of a' });
  await ask('POST', `/channels/${channel}`, { msg: 'hello' });
  await ask('PUT', `/files/space-${channel}/doc`, 'text');
  await ask('POST', '/inbox/ann/channels', { channel });
  // Create claims and messages only as foreign data, because a key with a channel prefix cannot create them.
  const secret = channel === 'secret';
  if (secret) await ask('POST', '/claims', { project: 'secret', what: 'secret' });
  const message = { to: 'secret-agent', text: 'secret', queue: true };
  const conversation = secret ? (await ask('POST', '/messages', message)).messages[0].conversation : '';
  return {
    pointer: (await ask('POST', '/push', { data: 'x', channel })).id,
    loose: (await ask('POST', '/push', { data: 'x' })).id,
    task: (await ask('POST', '/push', { data: 'x', channel, metadata: { done_channel: channel } })).id,
    thread,
    artifact: artifact.ref,
    file: `space-${channel}/doc`,
    share: (await ask('POST', '/shares', { thread_id: thread })).id,
    question: (await ask('POST', '/questions', { question: `${channel}?`, thread_id: thread })).id,
    conversation,
    key: (await ask('POST', '/keys', { name: 'made', channel_prefix: `${channel}.` })).id,
  };
}

before(async () => {
  relay = await startGuarded({ core: { defaultPlan: 'team' } });
  free = await createKey({ name: 'free' });
  bound = await createKey({ name: 'bound', channel_prefix: 'mine.' });
  foreign = await createThings(free, 'secret');
  ownThings = await createThings(bound, 'mine.a');
});
after(() => relay[Symbol.asyncDispose]());

type Request = readonly [method: string, path: string, body?: unknown];
type Decision =
  /** Requests that must be refused for foreign data, and accepted for the key's own data unless `own` is false. */
  | { readonly refused: (of: Things) => readonly Request[]; readonly own?: false }
  /** Requests whose answers must not contain foreign data. */
  | { readonly hides: readonly Request[] }
  /** The reason why the verb can neither name nor return foreign data. */
  | { readonly harmless: string };

const ofPointer = (method: string, path: (id: string) => string): Decision => ({
  refused: ({ pointer, loose }) => [pointer, loose].map((id) => [method, path(id)]),
});
const ofChannel = (method: string, rest: string, body?: unknown): Decision => ({
  refused: () => [[method, `/channels/secret${rest}`, body]],
  own: false,
});
const ofThread = (method: string, rest: string, body?: unknown, o: { own?: false } = {}): Decision => ({
  refused: ({ thread }) => [[method, `/threads/${thread}${rest}`, body]],
  ...o,
});
const ofArtifact = (method: string, rest = ''): Decision => ({
  refused: ({ thread, artifact }) => [[method, `/threads/${thread}/artifacts/${artifact}${rest}`]],
});
const ofFile = (method: string, query = '', body?: unknown): Decision => ({
  refused: ({ file }) => [[method, `/files/${file}${query}`, body]],
});
const FIGURES = 'figures of the tenant, which name nothing';
const VERSION_TWO = [{ op: 'add', path: '/facts/-', value: { id: 'f', key: 'k', value: 1 } }];

const DECISIONS: { readonly [verb: string]: Decision } = {
  'pointers.push': { refused: () => [['POST', '/push', { data: 'x', channel: 'secret' }]], own: false },
  'pointers.pull': ofPointer('GET', (id) => `/pull/${id}`),
  'pointers.part': ofPointer('GET', (id) => `/pull/${id}?lines=1-1`),
  'pointers.cost': ofPointer('GET', (id) => `/pull/${id}?cost=1`),
  'pointers.peek': ofPointer('GET', (id) => `/peek/${id}`),
  'pointers.list': { hides: [['GET', '/pointers']] },
  'pointers.outputs': { harmless: 'sums only what the key may list, as test/http/outputs.test.ts shows' },
  'pointers.renew': { harmless: 'passes over what is foreign, as the test of links shows' },
  'receipts.get': ofPointer('GET', (id) => `/pull/${id}/receipts`),
  'channels.list': { hides: [['GET', '/channels']] },
  'channels.inspect': ofChannel('GET', ''),
  'channels.position': ofChannel('GET', '/position'),
  'channels.publish': ofChannel('POST', '', { msg: 1 }),
  'channels.events': ofChannel('GET', '/events'),
  'channels.socket': { harmless: 'an upgrade is refused in authorization.test.ts' },
  'channels.ticket': { harmless: 'a ticket is for the same caller' },
  'channels.ack': ofChannel('POST', '/groups/g/ack', { seq: 1, token: 1 }),
  'channels.nack': ofChannel('POST', '/groups/g/nack', { seq: 1, token: 1 }),
  'channels.extend': ofChannel('POST', '/groups/g/extend', { seq: 1, token: 1 }),
  'channels.dead': ofChannel('GET', '/dead'),
  'channels.retry_dead': ofChannel('POST', '/dead/1/retry'),
  'channels.drop_dead': ofChannel('DELETE', '/dead/1'),
  'channels.set_group': ofChannel('POST', '/groups/g', {}),
  'channels.remove': ofChannel('DELETE', ''),
  'channels.remove_group': ofChannel('DELETE', '/groups/g'),
  'inbox.read': { hides: [['GET', '/inbox/ann']] },
  'inbox.mark_read': { refused: () => [['POST', '/inbox/ann/read', { cursors: { secret: 1 } }]], own: false },
  'inbox.follow': { refused: () => [['POST', '/inbox/ann/channels', { channel: 'secret' }]], own: false },
  'inbox.unfollow': { refused: () => [['DELETE', '/inbox/ann/channels/secret']], own: false },
  'threads.create': { harmless: 'makes its own' },
  'threads.list': { hides: [['GET', '/threads']] },
  'threads.get': ofThread('GET', ''),
  'threads.state': ofThread('GET', '/state'),
  'threads.header': ofThread('GET', '/state/header'),
  'threads.patch': ofThread('POST', '/state/patch', VERSION_TWO),
  'threads.revert': ofThread('POST', '/state/revert', { to: 1 }),
  'threads.diff': ofThread('GET', '/state/diff?from=1'),
  'threads.blame': ofThread('GET', '/state/blame'),
  'threads.compact': ofThread('POST', '/state/compact', {}),
  'threads.replay': ofThread('POST', '/replay', {}),
  'threads.events': ofThread('GET', '/events'),
  'threads.watch': ofThread('GET', '/events?stream=1', undefined, { own: false }),
  'threads.record': ofThread('POST', '/events', { type: 'my.own', payload: {} }),
  'threads.send': ofThread('POST', '/envelopes', { to_capability: 'x', payload: {} }),
  'threads.envelopes': ofThread('GET', '/envelopes'),
  'threads.hold': ofThread('POST', '/hold', { token: 'token-of-mine', holder: 'me', ttl: 5 }),
  'threads.release': ofThread('DELETE', '/hold?token=token-of-mine'),
  'threads.runs': { hides: [['GET', '/runs']] },
  'threads.run': ofThread('GET', '/run', undefined, { own: false }),
  'threads.stats': ofThread('GET', '/stats'),
  'threads.shown': ofThread('POST', '/shown', { what: 'headers', tokens: 1 }),
  'threads.totals': { harmless: FIGURES },
  'threads.export': ofThread('GET', '/export'),
  'threads.import': { harmless: 'makes its own' },
  'threads.render': { refused: ({ thread }) => [['POST', `/render/${thread}`, {}]] },
  'artifacts.put': ofThread('POST', '/artifacts', { name: 'b', content: 'x' }),
  'artifacts.list': ofThread('GET', '/artifacts'),
  'artifacts.get': ofArtifact('GET'),
  'artifacts.content': ofArtifact('GET', '/content'),
  'artifacts.part': ofArtifact('GET', '/part?lines=1-1'),
  'artifacts.search': ofThread('GET', '/search?q=words'),
  'artifacts.search_all': { hides: [['GET', '/search?q=words']] },
  'reports.make': { refused: ({ thread }) => [['POST', `/reports/${thread}`, {}]] },
  'capabilities.list': { harmless: 'says what there is to do' },
  'capabilities.invoke': {
    refused: ({ thread }) => [
      [
        'POST',
        '/cap/invoke',
        { capability: 'retrieval.search', thread_id: thread, args: { query: 'words' } },
      ],
    ],
  },
  'files.spaces': { hides: [['GET', '/files']] },
  'files.list': {
    hides: [
      ['GET', '/files/space-secret'],
      ['GET', '/files/space-secret?delimiter=/'],
    ],
  },
  'files.put': ofFile('PUT', '', 'mine now'),
  'files.get': ofFile('GET'),
  'files.info': ofFile('GET', '?info=1'),
  'files.log': ofFile('GET', '?log=1'),
  'files.part': ofFile('GET', '?lines=1-1'),
  'files.cost': ofFile('GET', '?cost=1'),
  'files.read': { hides: [['POST', '/files/space-secret/read', { paths: ['doc'] }]] },
  'files.write': {
    hides: [['POST', '/files/space-secret/write', { files: [{ path: 'doc', content: 'x' }] }]],
  },
  'files.remove': { hides: [['POST', '/files/space-secret/delete', { prefix: '' }]] },
  'keys.create': {
    refused: () => [
      ['POST', '/keys', { name: 'x' }],
      ['POST', '/keys', { name: 'x', channel_prefix: 'secret' }],
      ['POST', '/keys', { name: 'x', channel_prefix: 'mine.', tenant: 'other' }],
      ['POST', '/keys', { name: 'x', channel_prefix: 'mine.', plan: 'team' }],
    ],
    own: false,
  },
  'keys.self': { harmless: 'tells of the key itself' },
  'keys.list': { hides: [['GET', '/keys']] },
  'keys.rotate': { refused: ({ key }) => [['POST', `/keys/${key}/rotate`, {}]], own: false },
  'usage.get': { hides: [['GET', '/usage']] },
  'tasks.list': { hides: [['GET', '/tasks']] },
  'tasks.get': { refused: ({ task }) => [['GET', `/tasks/${task}`]] },
  'tasks.done': { refused: ({ task }) => [['POST', `/tasks/${task}/done`, {}]] },
  'tasks.fail': { refused: ({ task }) => [['POST', `/tasks/${task}/fail`, {}]], own: false },
  'tasks.cancel': { refused: ({ task }) => [['POST', `/tasks/${task}/cancel`, {}]], own: false },
  'agents.list': { hides: [['GET', '/agents']] },
  'agents.beat': { refused: () => [['POST', '/agents/spy', bridge('secret')]], own: false },
  'agents.leave': { harmless: 'a bridge on a foreign channel is refused in authorization.test.ts' },
  'agents.enter': { refused: () => [['POST', '/agents/spy/session', SESSION]], own: false },
  'agents.allow': { refused: () => [['POST', '/agents/spy/allow', { sender: 'x' }]], own: false },
  'agents.send': { refused: () => [['POST', '/messages', { to: 'spy', text: 'x' }]], own: false },
  'agents.messages': { refused: () => [['GET', '/agents/spy/messages']], own: false },
  'agents.take': { refused: () => [['POST', '/agents/spy/take', {}]], own: false },
  'agents.mark': {
    refused: () => [['POST', '/agents/spy/messages', { ids: ['x'], as: 'read' }]],
    own: false,
  },
  'agents.conversations': { hides: [['GET', '/conversations']] },
  'agents.conversation': {
    refused: ({ conversation }) => [['GET', `/conversations/${conversation}`]],
    own: false,
  },
  'agents.proceed': {
    refused: ({ conversation }) => [['POST', `/conversations/${conversation}/proceed`, {}]],
    own: false,
  },
  'agents.claims': { hides: [['GET', '/claims']] },
  'agents.claim': { refused: () => [['POST', '/claims', { project: 'p', what: 'x' }]], own: false },
  'agents.release': { refused: () => [['POST', '/claims/release', { project: 'p', what: 'x' }]], own: false },
  'activity.list': { hides: [['GET', '/activity?limit=200']] },
  'activity.watch': { harmless: 'shows what activity.list shows' },
  'activity.spending': { hides: [['GET', '/spending']] },
  'activity.figures': { harmless: FIGURES },
  'shares.create': { refused: ({ thread }) => [['POST', '/shares', { thread_id: thread }]] },
  'shares.list': { hides: [['GET', '/shares']] },
  'projects.list': { hides: [['GET', '/projects']] },
  'projects.get': { refused: () => [['GET', '/projects/any']], own: false },
  // These rows are last, because they delete the data of the other rows.
  'artifacts.delete': ofArtifact('DELETE'),
  'questions.ask': {
    refused: ({ thread }) => [['POST', '/questions', { question: 'why?', thread_id: thread }]],
  },
  'questions.list': { hides: [['GET', '/questions']] },
  'questions.get': { refused: ({ question }) => [['GET', `/questions/${question}`]] },
  'questions.link': { refused: ({ question }) => [['POST', `/questions/${question}/link`, {}]] },
  'questions.answer': {
    refused: ({ question }) => [['POST', `/questions/${question}/answer`, { answer: 'no' }]],
  },
  'questions.withdraw': { refused: ({ question }) => [['DELETE', `/questions/${question}`]], own: false },
  'shares.revoke': { refused: ({ share }) => [['DELETE', `/shares/${share}`]] },
  'threads.delete': ofThread('DELETE', ''),
  'files.delete': ofFile('DELETE'),
  'keys.revoke': { refused: ({ key }) => [['DELETE', `/keys/${key}`]] },
  'pointers.delete': ofPointer('DELETE', (id) => `/pull/${id}`),
};

const ask = ([method, path, body]: Request, key = bound) => relay.ask(method, path, { key, body });

test('every verb has a row that says what a channel-bound key may do with it', () => {
  const names = Object.values(VERBS).flatMap((part) => Object.values(part).map(({ name }) => name));
  assert.deepEqual(Object.keys(DECISIONS).sort(), [...new Set(names)].sort());
});

test('HTTP: every verb refuses foreign data to a channel-bound key', async () => {
  for (const [verb, decision] of Object.entries(DECISIONS)) {
    if (!('refused' in decision)) continue;
    for (const request of decision.refused(foreign)) {
      const { status, text } = await ask(request);
      assert.ok(
        [403, 404].includes(status),
        `${verb}: ${request.join(' ')} gave ${status} ${text.slice(0, 200)}`,
      );
    }
  }
});

test('HTTP: lists and reports show no foreign data to a channel-bound key', async () => {
  await relay.settle();
  const marks = [...Object.values(foreign), 'secret', free.id, 'thread on secret'];
  for (const [verb, decision] of Object.entries(DECISIONS)) {
    if (!('hides' in decision)) continue;
    for (const request of decision.hides) {
      const { status, text } = await ask(request);
      assert.equal(status, 200, `${verb}: ${text}`);
      const requestText = JSON.stringify(request);
      const leakedMarks = marks.filter((mark) => text.includes(mark) && !requestText.includes(mark));
      assert.deepEqual(leakedMarks, [], `${verb} tells of them`);
    }
  }
  const response = await ask(['GET', `/files/${foreign.file}`], free);
  assert.deepEqual([response.status, response.text], [200, 'text'], 'and the file is as it was');
});

test('MCP: a channel-bound key is refused foreign pointers and threads', async () => {
  const client = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { Authorization: `Bearer ${bound.key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', relay.url), { requestInit }));
  const call = async (name: string, args: { [name: string]: unknown }) =>
    (await client.callTool({ name, arguments: args })).isError === true;
  for (const [whose, refused] of [
    [foreign, true],
    [ownThings, false],
  ] as const) {
    for (const id of [whose.pointer, whose.loose])
      for (const tool of ['peek_context', 'pull_context'])
        assert.equal(await call(tool, { url: `${relay.url}/pull/${id}` }), refused, tool);
    assert.equal(await call('thread_header', { thread_id: whose.thread }), refused, 'thread_header');
    assert.equal(await call('artifact_get', { thread_id: whose.thread, ref: whose.artifact }), refused);
  }
  await client.close();
});

test('the successor of a rotated key can access what that key created, another key with the same prefix cannot', async () => {
  const old = await createKey({ name: 'old', channel_prefix: 'mine.' });
  const oldThings = await createThings(old, 'mine.old');
  const { json: next } = await ask(['POST', `/keys/${old.id}/rotate`, {}]);
  for (const [key, status] of [
    [next, 200],
    [bound, 404],
  ] as const) {
    assert.equal((await ask(['GET', `/pull/${oldThings.pointer}`], key)).status, 200, 'on their channels');
    assert.equal((await ask(['GET', `/pull/${oldThings.loose}`], key)).status, status);
    assert.equal((await ask(['GET', `/threads/${oldThings.thread}`], key)).status, status);
    assert.equal((await ask(['GET', `/files/${oldThings.file}`], key)).status, status);
  }
});

test('a channel-bound admin key is not an admin of the relay', async () => {
  assert.equal(bound.tenant, RELAY_TENANT);
  const { json } = await ask(['GET', '/keys/self']);
  assert.equal(json.admin_of_relay, false);
  assert.equal((await ask(['GET', '/usage?tenant=other'])).status, 403);
  assert.equal((await ask(['GET', '/keys?tenant=other'])).status, 403);
});

test('a channel-bound key may read pointers with a public link, but neither renew nor delete them', async () => {
  const { json } = await ask(['POST', '/push', { data: 'x', channel: 'secret', visibility: 'link' }], free);
  assert.equal((await ask(['GET', `/pull/${json.id}`])).status, 200);
  assert.equal((await ask(['DELETE', `/pull/${json.id}`])).status, 404);
  const renewed = await ask([
    'POST',
    '/pointers/renew',
    { ids: [json.id, foreign.pointer, ownThings.pointer] },
  ]);
  assert.deepEqual([renewed.json.pointers.length, renewed.json.pointers[0].id], [1, ownThings.pointer]);
});

test('HTTP: every verb accepts a channel-bound key for its own data', async () => {
  for (const [verb, decision] of Object.entries(DECISIONS)) {
    if (!('refused' in decision) || decision.own === false) continue;
    for (const request of decision.refused(ownThings)) {
      const { status, text } = await ask(request);
      assert.ok(status < 300, `${verb}: ${request.join(' ')} gave ${status} ${text.slice(0, 200)}`);
    }
  }
});

const SESSION = {
  client: 'codex',
  session: 's1',
  folder: '/',
  machine: 'm',
  reach: 'now',
  busy: false,
  inbound: 'known',
  named: true,
};

function bridge(task_channel: string) {
  return {
    instance: 'one',
    runner: 'exec',
    target: 'true',
    task_channel,
    done_channel: task_channel,
    concurrency: 1,
    running: [],
    done: 0,
    failed: 0,
    started_at: '2026-01-01T00:00:00Z',
  };
}
