import type * as shapes from '../schemas/agents.ts';
import { type Api, verbs } from './verb.ts';

export type * from '../schemas/agents.ts';

/**
 * Returns the pseudo channel of an agent, `@NAME`. An API key with a channel prefix may use the messages of the agent
 * only if this name begins with the prefix. No real channel has such a name.
 */
export function agentChannel(agent: string): string {
  return `@${agent}`;
}

/**
 * Names the sender of a message for a model. With API keys, the name of the key is verified; the name of
 * the agent is not.
 */
export function senderOf({ from, agent }: Pick<shapes.AgentMessage, 'from' | 'agent'>): string {
  return agent === undefined ? from : `${agent} (key ${from})`;
}

/** Result of waking the session of an agent. */
export interface Woken {
  readonly name: string;
  /** How the session was woken, such as `claude-socket`. Null if it cannot be woken now. */
  readonly route: string | null;
}

const verb = verbs({ scope: 'tasks', args: ['name'] });
const ofAgent = ({ name }: { readonly name: string }) => [agentChannel(name)];

export const agents = {
  list: verb<() => Promise<{ readonly agents: readonly shapes.Agent[] }>>('agents.list')({
    summary: 'List agents: bridges, sessions and followers, how they can be reached and what they work on',
    route: 'GET /agents',
    args: [],
  }),
  /** Sends the heartbeat of a bridge, with the tasks that the bridge works on. */
  beat: verb<(name: string, bridge: shapes.Bridge) => Promise<void>>('agents.beat')({
    summary: 'Send the heartbeat of a bridge',
    route: 'POST /agents/:name',
    channels: ({ task_channel, done_channel, channel }) => [task_channel, done_channel, channel],
    status: 204,
    repeatable: true,
  }),
  /** Removes a bridge from the list of agents because it stops. A session stays in the list as ended. */
  leave: verb<(name: string, instance: string) => Promise<void>>('agents.leave')({
    summary: 'Sign a bridge or a session off',
    route: 'DELETE /agents/:name/:instance',
    args: ['name', 'instance'],
    channels: ({ channel }) => [channel],
    status: 204,
    repeatable: true,
  }),
  /**
   * Registers a session of a coding agent or reports its current state, and renews its claims. Returns the name of
   * the session.
   */
  enter: verb<(name: string, session: shapes.Session) => Promise<shapes.Entered>>('agents.enter')({
    summary: 'Register a session of a coding agent',
    route: 'POST /agents/:name/session',
    channels: ofAgent,
    repeatable: true,
  }),
  /** Lets an agent receive the messages of a sender that it does not know yet. */
  allow: verb<(name: string, sender: string) => Promise<void>>('agents.allow')({
    summary: 'Let an agent receive the messages of a sender',
    route: 'POST /agents/:name/allow',
    args: ['name', 'sender'],
    channels: ofAgent,
    status: 204,
    repeatable: true,
  }),
  /**
   * Sends a text to agents by name. A long text is stored as a payload, and the message contains an excerpt.
   * Rejects an unknown name unless `queue` is set. If `reply_to` is set and the name is null, the text goes
   * to the sender of the message that it answers.
   */
  send: verb<
    (
      to: string | readonly string[] | null,
      text: string,
      o?: shapes.MessageOptions,
    ) => Promise<{ readonly messages: readonly shapes.AgentMessage[] }>
  >('agents.send')({
    summary: 'Send a message to agents',
    route: 'POST /messages',
    args: ['to', 'text'],
    channels: ({ to }) => [to ?? []].flat().map(agentChannel),
    headers: { idempotency_key: 'Idempotency-Key' },
    status: 201,
  }),
  /** Lists the messages that were neither shown to the agent nor read by it, oldest first. */
  messages: verb<
    (
      name: string,
      o?: { readonly limit?: number },
    ) => Promise<{ readonly messages: readonly shapes.AgentMessage[] }>
  >('agents.messages')({
    summary: 'List the messages that wait for an agent',
    route: 'GET /agents/:name/messages',
    channels: ofAgent,
  }),
  /**
   * Leases messages that were not shown to the agent yet. For 30 seconds no other process gets them. The caller shows
   * them and then calls `mark`.
   */
  take: verb<
    (
      name: string,
      o?: { readonly limit?: number },
    ) => Promise<{ readonly messages: readonly shapes.AgentMessage[] }>
  >('agents.take')({
    summary: 'Lease the messages that an agent has not seen yet, to show them',
    route: 'POST /agents/:name/take',
    channels: ofAgent,
  }),
  /** Records the receipts of messages, such as `shown` or `read`. A receipt cannot be withdrawn. */
  mark: verb<
    (name: string, mark: shapes.MessageMark) => Promise<{ readonly messages: readonly shapes.AgentMessage[] }>
  >('agents.mark')({
    summary: 'Record that messages were shown or read',
    route: 'POST /agents/:name/messages',
    channels: ofAgent,
    repeatable: true,
  }),
  conversations: verb<
    (o?: { readonly limit?: number }) => Promise<{ readonly conversations: readonly shapes.Conversation[] }>
  >('agents.conversations')({
    summary: 'List the conversations of agents, newest first',
    route: 'GET /conversations',
    args: [],
  }),
  conversation: verb<
    (id: string) => Promise<{
      readonly conversation: shapes.Conversation;
      readonly messages: readonly shapes.AgentMessage[];
    }>
  >('agents.conversation')({
    summary: 'Get the messages of a conversation, with their receipts',
    route: 'GET /conversations/:id',
    args: ['id'],
  }),
  /** Allows more messages in a conversation that has reached its limit. Only a person should decide this. */
  proceed: verb<(id: string) => Promise<shapes.Conversation>>('agents.proceed')({
    summary: 'Allow more messages in a conversation',
    route: 'POST /conversations/:id/proceed',
    args: ['id'],
  }),
  claims: verb<
    (o?: { readonly project?: string }) => Promise<{ readonly claims: readonly shapes.AgentClaim[] }>
  >('agents.claims')({
    summary: 'List what agents have claimed: files and todos',
    route: 'GET /claims',
    args: [],
  }),
  /** Claims files or a todo, or renews a claim. Rejects with `claimed` if another agent has claimed it. */
  claim: verb<(project: string, what: string, o?: { readonly ttl?: number }) => Promise<shapes.AgentClaim>>(
    'agents.claim',
  )({
    summary: 'Claim files or a todo of a project',
    route: 'POST /claims',
    args: ['project', 'what'],
    channels: () => [agentChannel('')],
    repeatable: true,
  }),
  release: verb<(project: string, what: string) => Promise<void>>('agents.release')({
    summary: 'Release a claim',
    route: 'POST /claims/release',
    args: ['project', 'what'],
    channels: () => [agentChannel('')],
    status: 204,
    repeatable: true,
  }),
};

/** Agents that are connected to the relay, their messages and their claims. */
export interface AgentsApi extends Api<typeof agents> {}
