import { type McpServer, type ReadResourceResult, ResourceTemplate } from '@modelcontextprotocol/server';
import { toBase64 } from '../../base/base64.ts';
import { isRelayError, RelayError, tooLarge } from '../../base/errors.ts';
import { channels } from '../../contract/channels.ts';
import { pointers } from '../../contract/pointers.ts';
import { threads } from '../../contract/threads.ts';
import type { Verb } from '../../contract/verb.ts';
import { cutToBudget, number, pullWithinBudget, tellShown } from './budget.ts';
import type { ToolContext } from './tool.ts';
import { recentMessages, shown } from './tools/channels.ts';
import { CHANNEL_URI, channelUri, POINTER_URI, STATE_URI, stateLink } from './uris.ts';

/** What a client shows to choose from. */
const LISTED = 50;
const MESSAGES = 50;
/** Bytes ride as base64 in one message; what is larger is pulled. */
const BLOB_BYTES = 1024 * 1024;

/** The same things as tools work with, for clients that attach by link instead of calling. */
export function addResources(
  server: McpServer,
  context: ToolContext,
  warn: (text: string) => void = () => {},
): void {
  // A client that cannot list may give up the server with all its tools, though they say better what is wrong.
  const listed = <T>(list: Promise<T[]>): Promise<T[]> =>
    list.catch((error) => {
      if (!isRelayError(error)) throw error;
      warn(`Nothing can be listed: ${error.message} ${error.hint}`);
      return [];
    });
  server.registerResource(
    'pointer',
    new ResourceTemplate(POINTER_URI, { list: undefined }),
    { description: 'A payload' },
    (uri, { id }, { mcpReq }) => readPointer(uri.href, String(id), context, mcpReq.signal),
  );
  server.registerResource(
    'channel',
    new ResourceTemplate(CHANNEL_URI, {
      list: async () => {
        const mimeType = 'application/jsonl';
        const names = await listed(channelNames(context));
        return { resources: names.map((name) => ({ uri: channelUri(name), name, mimeType })) };
      },
      complete: {
        name: async (value) => (await listed(channelNames(context))).filter((name) => name.startsWith(value)),
      },
    }),
    { description: 'The newest messages of a channel', mimeType: 'application/jsonl' },
    async (uri, { name }, { mcpReq: { signal } }) => {
      const { client } = await entered(context, channels.subscribe);
      const channel = decodeURIComponent(String(name));
      const messages = await recentMessages(client, channel, { limit: MESSAGES, signal });
      const text = await cutToBudget(messages.map(shown).join('\n'), context);
      return { contents: [{ uri: uri.href, mimeType: 'application/jsonl', text }] };
    },
  );
  server.registerResource(
    'thread',
    new ResourceTemplate(STATE_URI, {
      list: async () => ({ resources: await listed(listThreads(context)) }),
    }),
    { description: 'The memory of a thread', mimeType: 'application/json' },
    (uri, { id }) => readState(uri.href, String(id), context),
  );
}

async function readState(uri: string, id: string, context: ToolContext): Promise<ReadResourceResult> {
  const { relay } = await entered(context, threads.state);
  const state = JSON.stringify(await relay.threads.state(id, { counted: false }), null, 2);
  const fits = (await cutToBudget(state, context)) === state;
  // Half a JSON document is of use to nobody; the header is the same in brief.
  const text = fits ? state : JSON.stringify(await relay.threads.header(id, { counted: false }), null, 2);
  await tellShown({ relay, context }, id, fits ? 'states' : 'headers', text);
  return { contents: [{ uri, mimeType: 'application/json', text }] };
}

async function listThreads(context: ToolContext) {
  if (!context.may(threads.list)) return [];
  const page = await (await context.open()).relay.threads.list({ limit: LISTED });
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
  const open = await entered(context, pointers.pull);
  const url = await open.resolve(id);
  const found = await open.client.inspect(url, { signal });
  if (found.text !== false) {
    const { text } = await pullWithinBudget(url, { ...open, context, signal });
    return { contents: [{ uri, mimeType: found.content_type ?? 'text/plain', text }] };
  }
  if ((found.size ?? 0) > BLOB_BYTES) {
    throw tooLarge(
      'a resource of bytes',
      BLOB_BYTES,
      `It has ${number(found.size ?? 0)} bytes. Save it: relay pull ${id} --out FILE`,
    );
  }
  const blob = toBase64(await open.client.pullBytes(url, { signal }));
  return { contents: [{ uri, mimeType: found.content_type ?? 'application/octet-stream', blob }] };
}

async function channelNames(context: ToolContext): Promise<string[]> {
  if (!context.may(channels.list)) return [];
  const page = await (await context.open()).client.channels.list({ limit: LISTED });
  return page.channels.map(({ name }) => name);
}

async function entered(context: ToolContext, verb: Verb) {
  if (!context.may(verb))
    throw new RelayError('forbidden', { what: `This key does not have the scope "${verb.scope}".` });
  return context.open();
}
