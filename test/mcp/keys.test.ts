import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { connectAgent } from '../../src/runners/a2a.ts';
import { startGuarded } from '../keys/guarded-relay.ts';

async function mcp(url: string, key: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit }));
  return client;
}

test('MCP requires a key, and offers only the tools that the key may use', async () => {
  await using relay = await startGuarded();
  assert.equal((await relay.ask('POST', '/mcp', { body: '{}' })).status, 401);
  const { key } = await relay.key({ scopes: ['pull'] });
  const client = await mcp(relay.url, key);
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['peek_context', 'pull_context'],
  );
  await client.close();
});

test('over MCP a tenant does not see the data of another', async () => {
  await using relay = await startGuarded();
  const [ours, theirs] = [await relay.key({ tenant: 'ours' }), await relay.key({ tenant: 'theirs' })];
  const [one, other] = await Promise.all([mcp(relay.url, ours.key), mcp(relay.url, theirs.key)]);
  const call = async (client: Client, name: string, args: Record<string, unknown>) => {
    const { content } = await client.callTool({ name, arguments: args });
    return (content as { text: string }[])[0]!.text;
  };
  const url = await call(one, 'push_context', { data: 'ours alone', summary: 's' });
  assert.equal(await call(one, 'pull_context', { url }), 'ours alone');
  assert.match(await call(other, 'pull_context', { url }), /^Error pulling context: Not found/);
  await call(one, 'channel_publish', { channel: 'news', message: 'ours' });
  assert.equal(await call(other, 'channel_read', { channel: 'news' }), '(no messages)');
  await Promise.all([one.close(), other.close()]);
});

test('A2A requires a key with the scope for tasks, and its public card says so', async () => {
  await using relay = await startGuarded();
  const card = await relay.ask('GET', '/.well-known/agent-card.json');
  assert.equal(card.status, 200);
  assert.match(JSON.stringify(card.json), /Bearer/);
  assert.equal(
    (await relay.ask('GET', '/a2a/relay/tasks', { headers: { 'A2A-Version': '1.0' } })).status,
    401,
  );
  const { key: reader } = await relay.key({ scopes: ['pull'] });
  const headers = { 'A2A-Version': '1.0' };
  assert.equal((await relay.ask('GET', '/a2a/relay/tasks', { key: reader, headers })).status, 403);
  const [ours, theirs] = await Promise.all(
    ['ours', 'theirs'].map(async (tenant) => {
      const { key } = await relay.key({ tenant, scopes: ['tasks'] });
      return connectAgent(relay.url, { token: key });
    }),
  );
  const { task_id } = await ours!.submit({ text: 'a task of ours' });
  assert.equal((await ours!.find(task_id!)).state, 'submitted');
  await assert.rejects(theirs!.find(task_id!), /not found/i);
  assert.deepEqual(await theirs!.list({}), []);
});
