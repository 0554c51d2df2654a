import { AgentCard, type Part, Role, type SendMessageRequest } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { systemEnv } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { uuid } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import { ENVELOPE_PAYLOAD_BYTES, PAYLOAD_BYTES } from '../../base/limits.ts';
import type { AgentOutcome, AgentPart, AgentTask, RemoteAgent } from '../../client/bridge/remote-agent.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { collect } from '../../sdk/streams.ts';
import { advanced, isFinal, outcomeOf } from './outcome.ts';

/** Gives tasks to an agent elsewhere. */
export class A2ARunner implements RemoteAgent {
  readonly #client: Client;
  readonly #card: AgentCard;
  readonly #fetch: typeof fetch;
  readonly #relay: Pick<ContextRelay, 'push'> | undefined;

  private constructor(
    client: Client,
    card: AgentCard,
    send: typeof fetch,
    relay?: Pick<ContextRelay, 'push'>,
  ) {
    this.#client = client;
    this.#card = card;
    this.#fetch = send;
    this.#relay = relay;
  }

  /**
   * Reaches an agent by the address of its card, of its folder or of its host. Older agents are understood as well.
   * `relay` is where texts too large for a message are put.
   */
  static async connect(
    address: string,
    o: { token?: string; relay?: Pick<ContextRelay, 'push'> } = {},
  ): Promise<A2ARunner> {
    const { base, path } = cardAddress(address);
    const send = tokenFetch(new URL(base).origin, o.token);
    const options = { fetchImpl: send, legacyCompat: { enabled: true } };
    const cardResolver = new DefaultAgentCardResolver(options);
    const transports = [new JsonRpcTransportFactory(options), new RestTransportFactory(options)];
    try {
      const card = await cardResolver.resolve(base, path);
      const client = await new ClientFactory({ transports, cardResolver }).createFromAgentCard(card);
      return new A2ARunner(client, card, send, o.relay);
    } catch (error) {
      throw new RelayError('agent_unreachable', { url: address, what: (error as Error).message }, error);
    }
  }

  get card(): JsonObject {
    return AgentCard.toJSON(this.#card) as JsonObject;
  }

  async run(task: AgentTask): Promise<AgentOutcome> {
    const request = await this.#request(task, false);
    if (!this.#card.capabilities?.streaming)
      return outcomeOf(await this.#client.sendMessage(request, { signal: task.signal }));
    let outcome: AgentOutcome | null = null;
    for await (const event of this.#client.sendMessageStream(request, { signal: task.signal })) {
      outcome = advanced(outcome, event);
      if (outcome) task.onState?.(outcome);
      if (outcome && isFinal(outcome.state)) break;
    }
    if (!outcome) throw new RelayError('failed', { what: 'The agent ended its answer before it began.' });
    // A stream that broke off says nothing about the task: the agent is asked.
    return isFinal(outcome.state) || outcome.task_id === null ? outcome : this.find(outcome.task_id);
  }

  async submit(task: AgentTask): Promise<AgentOutcome> {
    const request = await this.#request(task, true);
    return outcomeOf(await this.#client.sendMessage(request, { signal: task.signal }));
  }

  async find(id: string): Promise<AgentOutcome> {
    return outcomeOf(await this.#client.getTask({ tenant: '', id }));
  }

  async list(o: { contextId?: string } = {}): Promise<AgentOutcome[]> {
    const { tasks } = await this.#client.listTasks({
      tenant: '',
      contextId: o.contextId ?? '',
      status: 0,
      pageSize: 50,
      pageToken: '',
      statusTimestampAfter: undefined,
      includeArtifacts: false,
    });
    return tasks.map(outcomeOf);
  }

  async cancel(id: string): Promise<AgentOutcome> {
    return outcomeOf(await this.#client.cancelTask({ tenant: '', id, metadata: undefined }));
  }

  async read(part: AgentPart, signal?: AbortSignal): Promise<Uint8Array> {
    if ('text' in part) return new TextEncoder().encode(part.text);
    if (!/^https?:$/.test(new URL(part.url).protocol))
      throw new RelayError('failed', {
        what: `The agent answered with ${part.url}, which is no web address.`,
      });
    const response = await this.#fetch(part.url, { signal });
    if (!response.ok)
      throw new RelayError('failed', {
        what: `${new URL(part.url).host} answered ${response.status} for the result.`,
      });
    return collect(response.body ?? new Uint8Array(), { bytes: PAYLOAD_BYTES, what: 'a result' });
  }

  async #request(task: AgentTask, returnImmediately: boolean): Promise<SendMessageRequest> {
    const parts = [await this.#words(task.text), ...(task.attached ?? []).map(attachment)];
    return {
      tenant: '',
      message: {
        messageId: uuid(systemEnv),
        contextId: task.contextId ?? '',
        taskId: '',
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
  async #words(text: string): Promise<Part> {
    const large = new TextEncoder().encode(text).byteLength > ENVELOPE_PAYLOAD_BYTES;
    if (!large || !this.#relay)
      return {
        content: { $case: 'text', value: text },
        metadata: undefined,
        filename: '',
        mediaType: 'text/plain',
      };
    return attachment(await this.#relay.push(text, { visibility: 'link', contentType: 'text/markdown' }));
  }
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
