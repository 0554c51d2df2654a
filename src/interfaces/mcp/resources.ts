import { type McpServer, type ReadResourceResult, ResourceTemplate } from '@modelcontextprotocol/server';
import { toBase64 } from '../../base/base64.ts';
import { isRelayError, RelayError, tooLarge } from '../../base/errors.ts';
import { isJsonObject } from '../../base/json.ts';
import { MCP_WATCHED } from '../../base/limits.ts';
import { channels } from '../../contract/channels.ts';
import { pointers } from '../../contract/pointers.ts';
import { threads } from '../../contract/threads.ts';
import type { Verb } from '../../contract/verb.ts';
import { cutToBudget, formatNumber, pullWithinBudget, recordShown } from './budget.ts';
import {
  CHANNEL_URI,
  channelUri,
  POINTER_URI,
  parseUri,
  STATE_URI,
  stateLink,
  type ToolContext,
} from './tool.ts';
import { messageLine, recentMessages } from './tools/channels.ts';

/** Maximum number of channels, and of threads, in the list of resources. */
const MAX_LISTED = 50;
/** Maximum number of messages in a channel resource. */
const MESSAGES = 50;
/** Maximum size in bytes of a binary resource, which is sent as base64. Larger payloads must be pulled. */
const BLOB_BYTES = 1024 * 1024;

/**
 * Registers pointers, channels and threads as resources, for clients in which users attach links instead of
 * letting the model call tools.
 */
export function addResources(
  server: McpServer,
  context: ToolContext,
  warn: (text: string) => void = () => {},
): void {
  // Log a warning and return an empty list: if listing fails, some clients drop the server with all its
  // tools.
  const listOrWarn = <T>(list: Promise<T[]>): Promise<T[]> =>
    list.catch((error) => {
      if (!isRelayError(error)) throw error;
      warn(`Resources cannot be listed: ${error.message} ${error.hint}`);
      return [];
    });
  server.registerResource(
    'pointer',
    new ResourceTemplate(POINTER_URI, { list: undefined }),
    { description: 'A stored payload' },
    (uri, { id }, { mcpReq }) => readPointer(uri.href, String(id), context, mcpReq.signal),
  );
  server.registerResource(
    'channel',
    new ResourceTemplate(CHANNEL_URI, {
      list: async () => {
        const mimeType = 'application/jsonl';
        const names = await listOrWarn(channelNames(context));
        return { resources: names.map((name) => ({ uri: channelUri(name), name, mimeType })) };
      },
      complete: {
        name: async (value) =>
          (await listOrWarn(channelNames(context))).filter((name) => name.startsWith(value)),
      },
    }),
    { description: 'The newest messages of a channel', mimeType: 'application/jsonl' },
    async (uri, { name }, { mcpReq: { signal } }) => {
      const { client } = await openFor(context, channels.subscribe);
      const channel = decodeURIComponent(String(name));
      const messages = await recentMessages(client, channel, { limit: MESSAGES, signal });
      const text = await cutToBudget(messages.map(messageLine).join('\n'), context);
      return { contents: [{ uri: uri.href, mimeType: 'application/jsonl', text }] };
    },
  );
  server.registerResource(
    'thread',
    new ResourceTemplate(STATE_URI, {
      list: async () => ({ resources: await listOrWarn(listThreads(context)) }),
    }),
    { description: 'The state of a thread', mimeType: 'application/json' },
    (uri, { id }) => readState(uri.href, String(id), context),
  );
}

async function readState(uri: string, id: string, context: ToolContext): Promise<ReadResourceResult> {
  const { relay } = await openFor(context, threads.state);
  const state = JSON.stringify(await relay.threads.state(id, { counted: false }), null, 2);
  const fits = (await cutToBudget(state, context)) === state;
  // A cut JSON document is useless. If the state is too long, return its header, which is a bounded view.
  const text = fits ? state : JSON.stringify(await relay.threads.header(id, { counted: false }), null, 2);
  await recordShown({ relay, context }, id, fits ? 'states' : 'headers', text);
  return { contents: [{ uri, mimeType: 'application/json', text }] };
}

async function listThreads(context: ToolContext) {
  if (!context.may(threads.list)) return [];
  const page = await (await context.open()).relay.threads.list({ limit: MAX_LISTED });
  return page.threads.map(({ thread_id, name }) => ({
    uri: stateLink(thread_id).uri,
    name: name || thread_id,
    mimeType: 'application/json',
  }));
}

async function readPointer(
  uri: string,
  id: string,
  context: ToolContext,
  signal: AbortSignal,
): Promise<ReadResourceResult> {
  const open = await openFor(context, pointers.pull);
  const url = await open.resolve(id);
  const info = await open.client.inspect(url, { signal });
  if (info.text !== false) {
    const { text } = await pullWithinBudget(url, { ...open, context, signal });
    return { contents: [{ uri, mimeType: info.content_type ?? 'text/plain', text }] };
  }
  if ((info.size ?? 0) > BLOB_BYTES) {
    throw tooLarge(
      'a binary resource',
      BLOB_BYTES,
      `It has ${formatNumber(info.size ?? 0)} bytes. Save it: relay pull ${id} --out FILE`,
    );
  }
  const blob = toBase64(await open.client.pullBytes(url, { signal }));
  return { contents: [{ uri, mimeType: info.content_type ?? 'application/octet-stream', blob }] };
}

async function channelNames(context: ToolContext): Promise<string[]> {
  if (!context.may(channels.list)) return [];
  const page = await (await context.open()).client.channels.list({ limit: MAX_LISTED });
  return page.channels.map(({ name }) => name);
}

async function openFor(context: ToolContext, verb: Verb) {
  if (!context.may(verb))
    throw new RelayError('forbidden', { what: `This key does not have the scope "${verb.scope}".` });
  return context.open();
}

/**
 * Calls `changed` on each new message of a channel or each change of a thread's state, until the signal aborts.
 * Pointers never change.
 */
async function watchResource(
  uri: string,
  context: ToolContext,
  signal: AbortSignal,
  changed: (uri: string) => void,
): Promise<void> {
  const resource = parseUri(uri);
  try {
    if (resource?.kind === 'channel' && context.may(channels.subscribe)) {
      const { client } = await context.open();
      for await (const _message of client.channels.subscribe(resource.id, { signal })) changed(uri);
    }
    if (resource?.kind === 'thread' && context.may(threads.watch)) {
      const { relay } = await context.open();
      const { event_count } = await relay.threads.get(resource.id);
      const after = event_count === 0 ? undefined : String(event_count);
      for await (const { type } of relay.threads.watch(resource.id, { after, signal })) {
        if (type.startsWith('state.')) changed(uri);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/**
 * Manages the watches of one client. A watch has an id and a list of resources. Adding an id again replaces
 * its resources.
 */
export function createWatches(
  context: ToolContext,
  changed: (uri: string) => void,
  onError: (error: unknown) => void,
) {
  const stops = new Map<string, AbortController>();
  const remove = (key: string) => {
    stops.get(key)?.abort();
    stops.delete(key);
  };
  const add = (key: string, uris: readonly string[]) => {
    remove(key);
    const stop = new AbortController();
    stops.set(key, stop);
    for (const uri of new Set(uris)) watchResource(uri, context, stop.signal, changed).catch(onError);
  };
  return { add, remove, clear: () => [...stops.keys()].forEach(remove) };
}

export type Watches = ReturnType<typeof createWatches>;

/**
 * Returns the resource URIs of a `subscriptions/listen` request (2026 revision), or none for any other
 * message.
 */
export function subscribedUris(message: unknown): string[] {
  if (!isMethod(message, 'subscriptions/listen')) return [];
  const notifications = isJsonObject(message.params) ? message.params.notifications : null;
  const uris = isJsonObject(notifications) ? notifications.resourceSubscriptions : null;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string').slice(0, MCP_WATCHED) : [];
}

export function isMethod(message: unknown, method: string): message is { id?: unknown; params?: unknown } {
  return isJsonObject(message) && message.method === method;
}
