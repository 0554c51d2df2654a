import { AgentCard, type Message, Part, Role, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { A2AError } from '@a2a-js/sdk/errors';
import { systemEnv } from '../base/env.ts';
import { RelayError } from '../base/errors.ts';
import { uuid } from '../base/ids.ts';
import type { Json, JsonObject } from '../base/json.ts';
import { ENVELOPE_PAYLOAD_BYTES, PAYLOAD_BYTES } from '../base/limits.ts';
import { pause } from '../base/pause.ts';
import {
  type AgentOutcome,
  type AgentPart,
  type AgentTask,
  partText,
  type RemoteAgent,
} from '../client/bridge/remote-agent.ts';
import type { Job, JobMessage, Ran, Runner } from '../client/bridge/runner.ts';
import type { ContextRelay } from '../sdk/context-relay.ts';
import { collect } from '../sdk/payload.ts';
import { endWhenAborted } from './processes.ts';

/** Interval in ms at which a task is polled if its agent does not stream. */
const POLL_MS = 1_000;

/** SDK client that stores texts that do not fit into a message. */
type Parcels = Pick<ContextRelay, 'push'>;

/**
 * Connects to an agent. `address` is the URL of its host, of its path on the host (`https://host/a2a/name`)
 * or of its agent card. Older protocol versions are supported too.
 */
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
        // Ask for an answer at once, without waiting for the end of the task. Then the id of the task is
        // known, and the task can be canceled.
        let answer = await ask(task, true);
        while (answer.task_id !== null && !isFinal(answer.state)) {
          task.onState?.(answer);
          await pause(POLL_MS, task.signal);
          task.signal?.throwIfAborted();
          answer = await find(answer.task_id);
        }
        return answer;
      }
      const request = await messageRequest(task, false, relay);
      let outcome: AgentOutcome | null = null;
      try {
        for await (const event of client.sendMessageStream(request, { signal: task.signal })) {
          outcome = applyEvent(outcome, event);
          if (outcome) task.onState?.(outcome);
          if (outcome && isFinal(outcome.state)) break;
        }
      } catch (error) {
        refused(error);
      }
      if (!outcome) throw failed('The agent ended its answer without sending anything.');
      // If the stream broke off before the task ended, ask the agent for the state of the task.
      return isFinal(outcome.state) || outcome.task_id === null ? outcome : find(outcome.task_id);
    },

    async list({ contextId = '' }) {
      const page = { pageSize: 50, pageToken: '', includeArtifacts: false };
      const any = { tenant: '', status: 0, statusTimestampAfter: undefined };
      return (await client.listTasks({ ...any, ...page, contextId })).tasks.map(outcomeOf);
    },

    async read(part, signal) {
      if ('raw' in part) return Buffer.from(part.raw, 'base64');
      if (!('url' in part)) return new TextEncoder().encode(partText(part));
      const { protocol, host } = new URL(part.url);
      if (!/^https?:$/.test(protocol))
        throw failed(`The agent answered with ${part.url}, which is not an http:// or https:// address.`);
      const response = await send(part.url, { signal });
      if (!response.ok) throw failed(`The result could not be read: ${host} answered ${response.status}.`);
      return collect(response.body ?? new Uint8Array(), { bytes: PAYLOAD_BYTES, what: 'a result' });
    },
  };
}

function failed(what: string): RelayError {
  return new RelayError('failed', { what });
}

/** Rethrows an error. An error of the agent becomes a RelayError. */
function refused(error: unknown): never {
  if (!(error instanceof A2AError)) throw error;
  const hint = 'This error comes from the remote agent. relay a2a tasks <url> lists its tasks.';
  throw new RelayError('failed', { what: `The agent rejected the request: ${error.message}`, hint }, error);
}

async function messageRequest(task: AgentTask, returnImmediately: boolean, relay?: Parcels) {
  const sent = task.parts?.map((part) => Part.fromJSON(part)) ?? [await textPart(task.text, relay)];
  const parts = [...sent, ...(task.attached ?? []).map(attachment)];
  const { contextId = '', taskId = '' } = task;
  const message = { messageId: uuid(systemEnv), contextId, taskId, role: Role.ROLE_USER, parts };
  return {
    tenant: '',
    message: { ...message, metadata: undefined, extensions: [], referenceTaskIds: [] },
    configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately },
    metadata: undefined,
  };
}

/**
 * Returns a text as a message part. If there is a relay, a long text is pushed to it, and the part is a
 * pointer.
 */
async function textPart(text: string, relay?: Parcels): Promise<Part> {
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

/** Parses the address of an agent: `https://host`, `https://host/a2a/name` or the address of its card. */
function cardAddress(address: string): { base: string; path: string | undefined } {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || !/^https?:$/.test(url.protocol)) {
    const hint = 'Use an address with http:// or https://, such as https://relay.example/a2a/reviewer';
    throw new RelayError('bad_usage', { what: `"${address}" is not the address of an agent.`, hint });
  }
  if (/\.json$/.test(url.pathname)) return { base: url.origin, path: url.pathname };
  return { base: `${url.origin}${url.pathname.replace(/\/*$/, '/')}`, path: undefined };
}

/** Returns a `fetch` that sends the token only to the agent's own origin. */
function tokenFetch(origin: string, token: string | undefined): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const isOwn = new URL(request.url).origin === origin;
    if (isOwn && token) request.headers.set('Authorization', `Bearer ${token}`);
    // With a token, do not follow redirects, because a redirect could send the token elsewhere.
    return fetch(request, { redirect: isOwn && token ? 'error' : 'follow' });
  };
}

function outcomeOf(answer: Task | Message): AgentOutcome {
  if ('messageId' in answer) {
    const { contextId: context_id, parts } = answer;
    return { task_id: null, context_id, state: 'completed', note: null, parts: parts.map(toAgentPart) };
  }
  const { id, contextId, status, artifacts } = answer;
  return {
    task_id: id,
    context_id: contextId,
    state: stateName(status?.state),
    note: noteOf(status?.message?.parts),
    parts: artifacts.flatMap(({ parts }) => parts.map(toAgentPart)),
  };
}

/** Applies a stream event to an outcome and returns the new outcome. */
function applyEvent(outcome: AgentOutcome | null, { payload }: StreamResponse): AgentOutcome | null {
  if (payload?.$case === 'task' || payload?.$case === 'message') return outcomeOf(payload.value);
  if (!outcome || !payload) return outcome;
  if (payload.$case === 'statusUpdate') {
    const { status } = payload.value;
    return { ...outcome, state: stateName(status?.state), note: noteOf(status?.message?.parts) };
  }
  const { artifact, append } = payload.value;
  const added = artifact?.parts.map(toAgentPart) ?? [];
  // With `append`, the text continues the last text, so join both.
  const [last, next] = [outcome.parts.at(-1), added[0]];
  if (append && added.length === 1 && last && next && 'text' in last && 'text' in next)
    return { ...outcome, parts: [...outcome.parts.slice(0, -1), { text: last.text + next.text }] };
  return { ...outcome, parts: [...outcome.parts, ...added] };
}

function isFinal(state: string): boolean {
  return ['completed', 'failed', 'canceled', 'rejected', 'input_required', 'auth_required'].includes(state);
}

/**
 * Converts the outcome of a remote agent to the JSON in which an agent answers a bridge (see
 * `src/client/bridge/answer.ts`).
 */
export function answerOf({ task_id, state, note, parts }: AgentOutcome): JsonObject {
  const outputParts = parts.map((part): JsonObject => {
    if ('text' in part || 'data' in part) return { ...part };
    const { name: filename, media_type: mediaType, ...content } = part;
    return { ...content, filename, mediaType };
  });
  if (task_id === null) return { a2a: '1.0', message: { parts: outputParts } };
  const message: JsonObject = note === null ? {} : { message: { parts: [{ text: note }] } };
  const status: JsonObject = isFinal(state)
    ? { state: `TASK_STATE_${(state === 'canceled' ? 'failed' : state).toUpperCase()}`, ...message }
    : {
        state: 'TASK_STATE_FAILED',
        message: { parts: [{ text: `The agent stopped in the state ${state}.` }] },
      };
  return { a2a: '1.0', task: { status, artifacts: outputParts.length > 0 ? [{ parts: outputParts }] : [] } };
}

function stateName(state: TaskState | undefined): string {
  return (TaskState[state ?? 0] ?? 'unspecified').replace('TASK_STATE_', '').toLowerCase();
}

function toAgentPart({ content, filename, mediaType }: Part): AgentPart {
  if (content?.$case === 'text') return { text: content.value };
  if (content?.$case === 'url') return { url: content.value, name: filename, media_type: mediaType };
  if (content?.$case === 'data') return { data: content.value as Json };
  if (content?.$case !== 'raw') return { text: '' };
  return { raw: content.value.toString('base64'), name: filename, media_type: mediaType };
}

function noteOf(parts: readonly Part[] | undefined): string | null {
  const text = parts?.map(toAgentPart).flatMap((part) => ('text' in part ? [part.text] : []));
  return text?.join('\n') || null;
}

type BridgeJob = Pick<Job, 'prompt' | 'signal' | 'message'>;

/**
 * Maximum number of conversations that a bridge remembers. If a forgotten conversation continues, it starts
 * anew at the remote agent.
 */
const MAX_CONVERSATIONS = 1_000;

/** Ids at the remote agent: of the context, and of the task that waits for an answer. */
type Conversation = Pick<AgentTask, 'contextId' | 'taskId'>;

/**
 * Runs each task as a message to a remote A2A agent. The artifacts of the agent's answer are the output. A
 * task that came over A2A is forwarded with its parts unchanged, and the output is then the whole answer in
 * A2A JSON. Each A2A context of the sender has its own context at the remote agent.
 */
export function a2aBridgeRunner(url: string): Runner & { run(job: BridgeJob): Promise<Ran> } {
  let agent: Promise<RemoteAgent> | null = null;
  const talks = new Map<string, Conversation>();
  const connected = (): Promise<RemoteAgent> => {
    agent ??= connectAgent(url).catch((error: Error) => {
      agent = null;
      throw new RelayError('agent_gone', { what: error.message }, error);
    });
    return agent;
  };
  return {
    kind: 'a2a',
    target: url,
    open: async () => void (await connected()),
    run: async (job) => runTask(await connected(), job, talks),
    close: async () => {},
  };
}

async function runTask(agent: RemoteAgent, job: BridgeJob, talks: Map<string, Conversation>): Promise<Ran> {
  const { message, prompt: text } = job;
  let started: string | null = null;
  const leaving = new AbortController();
  // After an abort, first wait for the first answer. It contains the id of the task, which is needed to
  // cancel the task. If no answer comes, stop waiting when `force` is set.
  using _ = endWhenAborted(job.signal, (force) => {
    if (started !== null || force) leaving.abort();
  });
  const { signal } = leaving;
  try {
    const onState = ({ task_id }: AgentOutcome) => {
      started = task_id;
      if (job.signal.aborted) leaving.abort();
    };
    if (message) {
      const { parts } = message.json as { parts: JsonObject[] };
      const talk = talks.get(message.taskId) ?? talks.get(message.contextId) ?? {};
      const outcome = await agent.run({ text, parts, ...talk, signal, onState });
      noteConversation(talks, message, outcome);
      return { output: JSON.stringify(answerOf(outcome)) };
    }
    const outcome = await agent.run({ text, signal, onState });
    const output = await outputText(agent, outcome, signal);
    const { state, note } = outcome;
    const reported = `The agent reports ${state}${note ? `: ${note}` : '.'}`;
    return { output, failed: state === 'completed' ? undefined : reported };
  } catch (error) {
    // Nobody waits for the remote task any more, so cancel it. The caller gets the error that ended the wait.
    if (job.signal.aborted && started !== null) await agent.cancel(started).catch(() => {});
    throw error;
  }
}

function noteConversation(
  talks: Map<string, Conversation>,
  message: JobMessage,
  outcome: AgentOutcome,
): void {
  const contextId = outcome.context_id || undefined;
  const asks = outcome.state === 'input_required' || outcome.state === 'auth_required';
  talks.set(message.contextId, { contextId });
  talks.delete(message.taskId);
  if (asks) talks.set(message.taskId, { contextId, taskId: outcome.task_id ?? undefined });
  for (const key of talks.keys()) {
    if (talks.size <= MAX_CONVERSATIONS) break;
    talks.delete(key);
  }
}

async function outputText(agent: RemoteAgent, { parts, note }: AgentOutcome, signal: AbortSignal) {
  const texts = parts.map(async (part) =>
    'url' in part ? new TextDecoder().decode(await agent.read(part, signal)) : partText(part),
  );
  return (await Promise.all(texts)).join('\n').trim() || (note ?? '');
}
