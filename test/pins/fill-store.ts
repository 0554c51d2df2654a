import type { Wire } from '../http/relay-under-test.ts';
import type { Answer, Question, ServedHome } from './store-home.ts';

/** The API keys of the fixture, by the names of their holders. */
export type Keys = { readonly [name: string]: string };
/** Ids of the created data, by the names that recorded requests and tests use. */
export type Names = { [name: string]: string };

export type Ask = (question: Question) => Promise<Wire>;

/** Returns a function that sends requests with this key and throws if a request fails. */
export function asHolder(served: ServedHome, key: string): Ask {
  return async (question) => {
    const answer: Answer = await served.ask({ key, ...question });
    if (answer.status >= 300) throw new Error(`${question.path}: ${answer.status} ${answer.text}`);
    return answer.json;
  };
}

/** Lifetime of the created pointers in seconds: 30 days. */
const MONTH_S = 30 * 24 * 3600;

export const BINARY = Uint8Array.from({ length: 2048 }, (_, i) => (i * 37 + (i >> 3)) & 0xff);
/** A text that is too large for a row of the database, so it is stored as a file. */
export const LARGE = Array.from({ length: 6000 }, (_, i) => `line ${i + 1}: the quick brown fox`).join('\n');

/** Creates pointers of every kind. */
export async function fillPointers(ann: Ask, acme: Ask, names: Names): Promise<void> {
  const push = async (name: string, ask: Ask, body: object, headers = {}) => {
    names[name] = (await ask({ method: 'POST', path: '/push?count=1', body, headers })).id;
  };
  const pushRaw = async (name: string, query: string, body: string | Uint8Array, type: string) => {
    const path = `/push?ttl=${MONTH_S}${query}`;
    const pushed = await ann({ method: 'POST', path, body, headers: { 'Content-Type': type } });
    names[name] = pushed.id;
  };
  const metadata = { topic: 'survey', pages: 12, tags: ['ä', '☂'], nested: { deep: [1, null, true] } };
  await push('text', ann, { data: 'Grüße, 世界\nsecond line\n', metadata, ttl: MONTH_S, visibility: 'link' });
  await pushRaw('json', '', JSON.stringify({ a: [1, 2, { b: 'c' }] }), 'application/vnd.test+json');
  await pushRaw('binary', '', BINARY, 'application/octet-stream');
  await pushRaw('large', '', LARGE, 'text/plain');
  await push('limited', ann, { data: 'three times only', max_pulls: 3, ttl: MONTH_S });
  await push('tenants', ann, { data: 'for the tenant', visibility: 'tenant', ttl: MONTH_S });
  await push('once', ann, { data: 'only once', ttl: MONTH_S }, { 'Idempotency-Key': 'fixture-push-1' });
  await push('revoked', ann, { data: 'soon gone', ttl: MONTH_S });
  await ann({ method: 'DELETE', path: `/pull/${names.revoked}` });
  await push('acmes', acme, { data: 'belongs to acme', metadata: { of: 'acme' } });
  await ann({ path: `/pull/${names.limited}`, headers: { 'Idempotency-Key': 'first-pull' } });
  await ann({ path: `/pull/${names.text}?lines=1-1` });
  await acme({ path: `/pull/${names.acmes}` });
}

/** Creates channels, a group with messages in every state, and an inbox. */
export async function fillChannels(ann: Ask, ci: Ask, names: Names): Promise<void> {
  const signal = (channel: string, msg: Wire, ask = ann, headers = {}) =>
    ask({ method: 'POST', path: `/channels/${channel}`, body: { msg }, headers });
  const announce = async (name: string, channel: string, data: string) => {
    const body = { data, channel, metadata: { name }, ttl: MONTH_S };
    names[name] = (await ann({ method: 'POST', path: '/push', body })).id;
  };
  await signal('news', 'hello');
  await signal('news', { kind: 'object', list: [1, 2] }, ann, { 'Idempotency-Key': 'fixture-signal-1' });
  await announce('announced', 'news', 'announced to the news');
  await signal('builds.main', { green: true }, ci);
  const follow = { channel: 'news', since: 'all' };
  await ann({ method: 'POST', path: '/inbox/reader/channels', body: follow });
  await ann({
    method: 'POST',
    path: '/inbox/reader/channels',
    body: { channel: 'builds.main', since: 'all' },
  });
  const { messages } = await ann({ path: '/inbox/reader?limit=1' });
  await ann({ method: 'POST', path: '/inbox/reader/read', body: { cursors: { news: messages[0].seq } } });
  await fillGroup(ann, announce, signal);
}

async function fillGroup(
  ann: Ask,
  announce: (name: string, channel: string, data: string) => Promise<void>,
  signal: (channel: string, msg: Wire) => Promise<void>,
): Promise<void> {
  for (const name of ['work-acked', 'work-dead', 'work-nacked', 'work-leased']) {
    await announce(name, 'work', `the work ${name}`);
  }
  const settle = (how: string, { seq, token }: Wire) =>
    ann({ method: 'POST', path: `/channels/work/groups/crew/${how}`, body: { seq, token } });
  const claim = async (prefetch: number) =>
    ann({ path: `/channels/work/events?group=crew&since=all&prefetch=${prefetch}`, take: prefetch });
  const [acked] = await claim(1);
  await ann({ method: 'POST', path: '/channels/work/groups/crew', body: { retry: [0] } });
  await ann({ path: `/pull/${acked.url.split('/').pop()}` });
  await settle('ack', acked);
  for (let attempt = 1; attempt <= 5; attempt++) await settle('nack', (await claim(1))[0]);
  const [nacked, leased] = await claim(2);
  await settle('nack', nacked);
  await settle('extend', leased);
  await signal('work', { last: 'in the backlog' });
  await ann({ path: '/channels/news/events?group=idle&since=all', take: 1 });
}

/** Creates tasks in every state, a bridge, and tasks that were sent over A2A. */
export async function fillTasks(ann: Ask, names: Names): Promise<void> {
  const task = async (name: string, summary: string) => {
    const metadata = { summary, done_channel: 'agent-done' };
    const body = { data: `# ${summary}\n`, channel: 'agent-tasks', metadata, ttl: MONTH_S };
    names[name] = (await ann({ method: 'POST', path: '/push', body })).id;
  };
  await task('queued', 'waits for somebody');
  await task('done', 'is done');
  await task('failed', 'has failed');
  await ann({ path: `/pull/${names.done}` });
  const settle = (name: string, how: string, body: object) =>
    ann({ method: 'POST', path: `/tasks/${names[name]}/${how}`, body });
  await settle('done', 'done', { data: 'the whole result', summary: 'did it' });
  await settle('failed', 'fail', { summary: 'could not do it' });
  const bridge = {
    instance: 'instance-1',
    runner: 'exec',
    target: 'cat',
    task_channel: 'agent-tasks',
    done_channel: 'agent-done',
    concurrency: 2,
    running: [names.queued],
    done: 3,
    failed: 1,
    started_at: '2026-01-02T03:04:05.000Z',
  };
  await ann({ method: 'POST', path: '/agents/worker', body: bridge });
  await fillA2A(ann, names);
}

async function fillA2A(ann: Ask, names: Names): Promise<void> {
  const headers = { 'A2A-Version': '1.0', 'Content-Type': 'application/json' };
  const send = async (name: string, text: string, more: object = {}) => {
    const message = { messageId: `message-${name}`, role: 'ROLE_USER', parts: [{ text }] };
    const body = JSON.stringify({ message, configuration: { returnImmediately: true, ...more } });
    const { task } = await ann({ method: 'POST', path: '/a2a/relay/message:send', headers, body });
    names[name] = task.id;
    names[`${name}-thread`] = task.contextId;
  };
  await send('a2a-submitted', 'an A2A task that waits');
  await send('a2a-completed', 'an A2A task that is done');
  await send('a2a-canceled', 'an A2A task that is no longer wanted');
  const hook = { id: 'hook-1', url: 'http://127.0.0.1:9/hook', token: 'hook-token' };
  await send('a2a-hooked', 'an A2A task with a webhook', { taskPushNotificationConfig: hook });
  const done = { data: 'an answer for A2A', summary: 'answered' };
  await ann({ method: 'POST', path: `/tasks/${names['a2a-completed']}/done`, body: done });
  await ann({ path: `/a2a/relay/tasks/${names['a2a-completed']}`, headers });
  const cancel = `/a2a/relay/tasks/${names['a2a-canceled']}:cancel`;
  await ann({ method: 'POST', path: cancel, headers, body: '{}' });
}
