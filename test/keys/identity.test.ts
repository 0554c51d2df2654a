import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { agentName, registerSession } from '../../src/app/store/sessions.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import type { ContextRelayOptions } from '../../src/sdk/options.ts';
import { relay as cli, temporaryHome } from '../cli/program.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { until } from '../until.ts';
import { type GuardedRelay, startGuarded } from './guarded-relay.ts';

/** Pushes, publishes, works in a group and pulls as an agent. Returns the sender names that others see. */
async function workAs(url: string, o: ContextRelayOptions) {
  const client = new ContextRelay({ baseUrl: url, ...o });
  await client.publish('jobs', 'hello');
  const pointer = await client.push('work', { channel: 'jobs' });
  const messages = [];
  let lease: unknown;
  let members: unknown;
  for await (const message of client.channels.subscribe('jobs', { group: 'workers' })) {
    messages.push(message);
    const find = async () => (await client.channels.inspect('jobs')).groups[0]!;
    lease = (await find()).leases[0];
    members = (await find()).members[0];
    await client.channels.ack('jobs', 'workers', { seq: message.seq, token: message.token! });
    if (messages.length === 2) break;
  }
  await client.pull(pointer);
  const stages = async () => (await client.receipts(pointer)).receipts;
  await until(async () => (await stages()).length >= 3);
  const receipts = await stages();
  const senders = messages.map(({ from, agent }) => ({ from, agent }));
  const { from, agent } = await client.inspect(pointer);
  return { senders, pointer: { from, agent }, lease, members, receipts };
}

describe('on an open relay', () => {
  let relay: RelayUnderTest;
  before(async () => {
    relay = await startRelay();
  });
  after(() => relay[Symbol.asyncDispose]());

  test('the agent is the sender of messages, pointers, receipts, leases, members and activity', async () => {
    const result = await workAs(relay.url, { agent: 'Ada ✓' });
    const sender = { from: 'Ada ✓', agent: undefined };
    assert.deepEqual(result.senders, [sender, sender]);
    assert.deepEqual(result.pointer, sender);
    assert.equal((result.lease as { member: string }).member, 'Ada ✓');
    assert.equal((result.members as { name: string }).name, 'Ada ✓');
    for (const { rung, by, by_agent } of result.receipts)
      assert.deepEqual([by, by_agent], ['Ada ✓', undefined], rung);
    await relay.core.deps.activity.flush();
    const { activities } = (await (await fetch(`${relay.url}/activity`)).json()) as {
      activities: { kind: string; by: string }[];
    };
    assert.ok(activities.length >= 4);
    for (const { kind, by } of activities) assert.equal(by, 'Ada ✓', kind);
  });

  test('without a name the sender is "local"', async () => {
    const client = new ContextRelay({ baseUrl: relay.url });
    assert.equal((await client.inspect(await client.push('x'))).from, 'local');
  });

  test('a name with control characters or of more than 128 characters is refused', async () => {
    for (const agent of ['a\nb', 'a'.repeat(129)])
      await assert.rejects(new ContextRelay({ baseUrl: relay.url, agent }).push('x'), /name of the agent/);
  });
});

describe('on a relay with keys', () => {
  let relay: GuardedRelay;
  before(async () => {
    relay = await startGuarded();
  });
  after(() => relay[Symbol.asyncDispose]());

  test('the name of the key stays the sender, and the agent is a second field', async () => {
    const { key } = await relay.key({ name: 'team' });
    const result = await workAs(relay.url, { apiKey: key, agent: 'ada' });
    const sender = { from: 'team', agent: 'ada' };
    assert.deepEqual(result.senders, [sender, sender]);
    assert.deepEqual(result.pointer, sender);
    const { member, agent } = result.lease as { member: string; agent: string };
    assert.deepEqual([member, agent], ['team', 'ada']);
    assert.deepEqual({ ...(result.members as object), since: 0 }, { name: 'team', agent: 'ada', since: 0 });
    for (const { rung, by, by_agent } of result.receipts)
      assert.deepEqual([by, by_agent], ['team', 'ada'], rung);
    await relay.core.deps.activity.flush();
    const { json } = await relay.ask('GET', '/activity', { key });
    const seenActivity = (json.activities as { kind: string; by: string; by_agent: string }[]).filter(
      ({ kind }) => !kind.startsWith('key.'),
    );
    assert.ok(seenActivity.length >= 4);
    for (const { kind, by, by_agent } of seenActivity)
      assert.deepEqual([by, by_agent], ['team', 'ada'], kind);
  });
});

describe('on the command line', () => {
  const home = temporaryHome();
  after(() => home[Symbol.dispose]());
  const sender = async (env: { [name: string]: string }, cwd?: string) => {
    const pushed = await cli(['push', '-', '--json'], { home: home.home, stdin: 'x', env, cwd });
    const { url } = JSON.parse(pushed.stdout);
    return JSON.parse((await cli(['peek', url, '--json'], { home: home.home })).stdout).from;
  };

  test('the sender is RELAY_AGENT, else the session that a hook registered, else "local"', async () => {
    const stdin = JSON.stringify({ session_id: 's1', cwd: home.home });
    await cli(['hook', 'claude', 'session-start'], { home: home.home, stdin });
    const ownName = `claude-${basename(home.home).toLowerCase()}`;
    assert.equal(await sender({ CLAUDE_CODE_SESSION_ID: 's1' }), ownName);
    const name = (env: { [name: string]: string }) => agentName(home.home, env, home.home);
    assert.equal(name({ CLAUDE_CODE_SESSION_ID: 's1', RELAY_AGENT: 'ada' }), 'ada');
    assert.equal(name({ CLAUDE_CODE_SESSION_ID: 'another' }), null);
    assert.equal(await sender({}), 'local');
  });

  test('a client that passes on no session id is found by its folder', async () => {
    const folder = join(home.home, 'project', 'src');
    mkdirSync(folder, { recursive: true });
    const session = {
      client: 'gemini',
      session: 's2',
      folder: join(home.home, 'project'),
      agent: 'reviewer',
    };
    await registerSession(home.home, session);
    assert.equal(agentName(home.home, { GEMINI_CLI: '1' }, folder), 'reviewer');
    assert.equal(agentName(home.home, { GEMINI_CLI: '1' }, home.home), null);
    assert.equal(agentName(home.home, {}, folder), null);
    assert.equal(agentName(home.home, {}, folder, 'gemini'), 'reviewer');
  });
});
