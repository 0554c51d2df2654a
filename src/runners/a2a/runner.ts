import { AgentCard, Part, Role, type SendMessageRequest } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { A2AError } from '@a2a-js/sdk/errors';
import { systemEnv } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { uuid } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import { ENVELOPE_PAYLOAD_BYTES, PAYLOAD_BYTES } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import {
  type AgentOutcome,
  type AgentTask,
  partText,
  type RemoteAgent,
} from '../../client/bridge/remote-agent.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { collect } from '../../sdk/streams.ts';
import { advanced, isFinal, outcomeOf } from './outcome.ts';

/** Between two looks at a task of an agent that streams nothing. */
const LOOK_MS = 1_000;

/** Where texts too large for a message are put. */
type Parcels = Pick<ContextRelay, 'push'>;

/** Reaches an agent by the address of its card, of its folder or of its host. Older agents are understood as well. */
export async function connectAgent(
  address: string,
  o: { readonly token?: string; readonly relay?: Parcels } = {},
): Promise<RemoteAgent> {
  const { base, path } = cardAddress(address);
  const send = tokenFetch(new URL(base).origin, o.token);
  const options = { fetchImpl: send, legacyCompat: { enabled: true } };
  const cardResolver = new DefaultAgentCardResolver(options);
  const transports = [new JsonRpcTransportFactory(options), new RestTransportFactory(options)];
  try {
    const card = await cardResolver.resolve(base, path);
    const client = await new ClientFactory({ transports, cardResolver }).createFromAgentCard(card);
    return remoteAgent(client, card, send, o.relay);
  } catch (error) {
    throw new RelayError('agent_unreachable', { url: address, what: (error as Error).message }, error);
  }
}

function remoteAgent(client: Client, card: AgentCard, send: typeof fetch, relay?: Parcels): RemoteAgent {
  const ask = async (task: AgentTask, returnImmediately: boolean) => {
    const request = await messageRequest(task, returnImmediately, relay);
    return outcomeOf(await client.sendMessage(request, { signal: task.signal }).catch(refused));
  };
  const find = async (id: string) => outcomeOf(await client.getTask({ tenant: '', id }).catch(refused));
  return {
    card: AgentCard.toJSON(card) as JsonObject,
    find,
    submit: (task) => ask(task, true),
    cancel: async (id) =>
      outcomeOf(await client.cancelTask({ tenant: '', id, metadata: undefined }).catch(refused)),

    async run(task) {
      if (!card.capabilities?.streaming) {
        // Its id is known before it is over, so that it can be called off.
        let answer = await ask(task, true);
        while (answer.task_id !== null && !isFinal(answer.state)) {
          task.onState?.(answer);
          await pause(LOOK_MS, task.signal);
          task.signal?.throwIfAborted();
          answer = await find(answer.task_id);
        }
        return answer;
      }
      const request = await messageRequest(task, false, relay);
      let outcome: AgentOutcome | null = null;
      try {
        for await (const event of client.sendMessageStream(request, { signal: task.signal })) {
          outcome = advanced(outcome, event);
          if (outcome) task.onState?.(outcome);
          if (outcome && isFinal(outcome.state)) break;
        }
      } catch (error) {
        refused(error);
      }
      if (!outcome) throw new RelayError('failed', { what: 'The agent ended its answer before it began.' });
      // A stream that broke off says nothing about the task: the agent is asked.
      return isFinal(outcome.state) || outcome.task_id === null ? outcome : find(outcome.task_id);
    },

    async list({ contextId = '' }) {
      const { tasks } = await client.listTasks({
        tenant: '',
        contextId,
        status: 0,
        pageSize: 50,
        pageToken: '',
        statusTimestampAfter: undefined,
        includeArtifacts: false,
      });
      return tasks.map(outcomeOf);
    },

    async read(part, signal) {
      if ('raw' in part) return Buffer.from(part.raw, 'base64');
      if (!('url' in part)) return new TextEncoder().encode(partText(part));
      const { protocol, host } = new URL(part.url);
      if (!/^https?:$/.test(protocol))
        throw new RelayError('failed', {
          what: `The agent answered with ${part.url}, which is no web address.`,
        });
      const response = await send(part.url, { signal });
      if (!response.ok)
        throw new RelayError('failed', { what: `${host} answered ${response.status} for the result.` });
      return collect(response.body ?? new Uint8Array(), { bytes: PAYLOAD_BYTES, what: 'a result' });
    },
  };
}

/** What the agent itself says of a call that it does not take. */
function refused(error: unknown): never {
  if (!(error instanceof A2AError)) throw error;
  const hint = 'The agent at the other end says so. relay a2a tasks <url> lists what it knows of.';
  throw new RelayError('failed', { what: `The agent refused: ${error.message}`, hint }, error);
}

async function messageRequest(
  task: AgentTask,
  returnImmediately: boolean,
  relay?: Parcels,
): Promise<SendMessageRequest> {
  const given = task.parts?.map((part) => Part.fromJSON(part)) ?? [await words(task.text, relay)];
  const parts = [...given, ...(task.attached ?? []).map(attachment)];
  return {
    tenant: '',
    message: {
      messageId: uuid(systemEnv),
      contextId: task.contextId ?? '',
      taskId: task.taskId ?? '',
      role: Role.ROLE_USER,
      parts,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately },
    metadata: undefined,
  };
}

/** A message is no parcel: a long text goes as a pointer, where there is a relay to put it. */
async function words(text: string, relay?: Parcels): Promise<Part> {
  const large = new TextEncoder().encode(text).byteLength > ENVELOPE_PAYLOAD_BYTES;
  if (large && relay)
    return attachment(await relay.push(text, { visibility: 'link', contentType: 'text/markdown' }));
  const content = { $case: 'text', value: text } as const;
  return { content, metadata: undefined, filename: '', mediaType: 'text/plain' };
}

function attachment(url: string): Part {
  const pointer = /\/pull\/[0-9a-f-]{36}$/.test(url);
  return {
    content: { $case: 'url', value: pointer ? `${url}?raw=1` : url },
    metadata: pointer ? { pointer: url } : undefined,
    filename: '',
    mediaType: '',
  };
}

/** `https://host`, `https://host/a2a/name` or the card itself. */
function cardAddress(address: string): { base: string; path: string | undefined } {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new RelayError('bad_usage', {
      what: `"${address}" is no address of an agent.`,
      hint: 'It begins with http:// or https://, such as https://relay.example/a2a/reviewer',
    });
  if (/\.json$/.test(url.pathname)) return { base: url.origin, path: url.pathname };
  return { base: `${url.origin}${url.pathname.replace(/\/*$/, '/')}`, path: undefined };
}

/** Sends the token to the agent's own origin and to no other. */
function tokenFetch(origin: string, token: string | undefined): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const own = new URL(request.url).origin === origin;
    if (own && token) request.headers.set('Authorization', `Bearer ${token}`);
    // A redirect could lead the token elsewhere.
    return fetch(request, { redirect: own && token ? 'error' : 'follow' });
  };
}
