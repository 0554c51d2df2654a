import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { systemEnv } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { makeMcpServer } from './server.ts';
import type { RelayAccess, ToolContext } from './tool.ts';

test('reading a resource stops when the client cancels the request', async () => {
  const inspected = Promise.withResolvers<AbortSignal>();
  const inspect = (_url: string, { signal }: { signal: AbortSignal }) => {
    inspected.resolve(signal);
    return new Promise(() => {});
  };
  const access = { client: { inspect }, resolve: async (url: string) => url } as unknown as RelayAccess;
  const context: ToolContext = {
    local: true,
    env: systemEnv,
    texts: {
      count: () => assert.fail('nothing is counted'),
      part: () => assert.fail('no part is taken'),
      excerpt: () => assert.fail('no excerpt is made'),
      preview: () => assert.fail('nothing is previewed'),
      fold: () => assert.fail('nothing is folded'),
    },
    frameSecret: () => assert.fail('nothing is framed'),
    budget: 100,
    open: async () => access,
    may: () => true,
  };
  const options = {
    version: '1',
    tools: { names: [], groups: ['resources'] },
    subscribe: false,
    onError: assert.fail,
  };
  const [here, there] = InMemoryTransport.createLinkedPair();
  await makeMcpServer(context, options).connect(there);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(here);
  const stop = new AbortController();
  const reading = client.readResource({ uri: 'relay://pointer/some-id' }, { signal: stop.signal });
  reading.catch(() => {});
  const signal = await inspected.promise;
  stop.abort();
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  await assert.rejects(reading);
  await client.close();
});

test('resources are an empty list if the relay refuses to list them, so that clients keep the tools', async () => {
  const warned: string[] = [];
  const context = {
    local: true,
    open: async () => {
      throw new RelayError('unauthorized');
    },
    may: () => true,
  } as unknown as ToolContext;
  const onWarning = (text: string) => void warned.push(text);
  const options = {
    version: '1',
    tools: { names: [], groups: ['resources'] },
    subscribe: false,
    onError: assert.fail,
    onWarning,
  };
  const [here, there] = InMemoryTransport.createLinkedPair();
  await makeMcpServer(context, options).connect(there);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(here);
  assert.deepEqual((await client.listResources()).resources, []);
  assert.ok((await client.listTools()).tools.length > 0);
  assert.match(warned[0]!, /^Resources cannot be listed: .*key/i);
  await client.close();
});
