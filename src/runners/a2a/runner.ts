import { AgentCard as Card, type Part, Role, type SendMessageRequest } from '@a2a-js/sdk';
import { systemEnv } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { uuid } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import { ENVELOPE_PAYLOAD_BYTES, PAYLOAD_BYTES } from '../../base/limits.ts';
import type { AgentOutcome, AgentPart, AgentTask, RemoteAgent } from '../../client/bridge/remote-agent.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { collect } from '../../sdk/streams.ts';
import { type A2AConnection, connectA2A } from './connection.ts';
import { advanced, isFinal, outcomeOf } from './outcome.ts';

/** Gives tasks to an agent elsewhere. */
export class A2ARunner implements RemoteAgent {
  readonly #connection: A2AConnection;
  readonly #relay: Pick<ContextRelay, 'push'> | undefined;

  private constructor(connection: A2AConnection, relay: Pick<ContextRelay, 'push'> | undefined) {
    this.#connection = connection;
    this.#relay = relay;
  }

  /** `relay` is where texts too large for a message are put. */
  static async connect(
    address: string,
    o: { token?: string; relay?: Pick<ContextRelay, 'push'> } = {},
  ): Promise<A2ARunner> {
    return new A2ARunner(await connectA2A(address, o.token), o.relay);
  }

  get card(): JsonObject {
    return Card.toJSON(this.#connection.card) as JsonObject;
  }

  async run(task: AgentTask): Promise<AgentOutcome> {
    const { client, card } = this.#connection;
    const request = await this.#request(task, false);
    if (!card.capabilities?.streaming)
      return outcomeOf(await client.sendMessage(request, { signal: task.signal }));
    let outcome: AgentOutcome | null = null;
    for await (const event of client.sendMessageStream(request, { signal: task.signal })) {
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
    return outcomeOf(await this.#connection.client.sendMessage(request, { signal: task.signal }));
  }

  async find(id: string): Promise<AgentOutcome> {
    return outcomeOf(await this.#connection.client.getTask({ tenant: '', id }));
  }

  async list(o: { contextId?: string } = {}): Promise<AgentOutcome[]> {
    const { tasks } = await this.#connection.client.listTasks({
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
    return outcomeOf(await this.#connection.client.cancelTask({ tenant: '', id, metadata: undefined }));
  }

  async read(part: AgentPart, signal?: AbortSignal): Promise<Uint8Array> {
    if ('text' in part) return new TextEncoder().encode(part.text);
    if (!/^https?:$/.test(new URL(part.url).protocol))
      throw new RelayError('failed', {
        what: `The agent answered with ${part.url}, which is no web address.`,
      });
    const response = await this.#connection.fetch(part.url, { signal });
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
