import { z } from 'zod';
import { AGENT_REACH, INBOUND, MESSAGE_STATES } from '../base/enums.ts';
import {
  AGENT_MESSAGE_BYTES,
  AGENT_MESSAGES_LISTED,
  AGENT_NAME_CHARS,
  AGENT_RECIPIENTS,
  AGENT_TEXT_CHARS,
  CLAIM_CHARS,
  CLAIM_MAX_S,
  CONVERSATIONS_LISTED,
  FOLDER_CHARS,
} from '../base/limits.ts';
import {
  count,
  idempotencyKey,
  limit,
  optionalText,
  type SchemaRows,
  type Shape,
  seconds,
  statedAgent,
  text,
  time,
} from './shapes.ts';

const bridge = z.object({
  /** Id that distinguishes bridges with the same name. */
  instance: text,
  /** Kind of runner: `exec`, `tmux`, `acp`, `a2a`. */
  runner: text,
  /** The command, the tmux session or the address of the agent that the bridge uses. */
  target: text,
  task_channel: text,
  done_channel: text,
  concurrency: count,
  /** Ids of the tasks that the bridge works on. */
  running: z.array(text),
  /** Why tasks are stuck, by task id, such as a question that a person has to answer. */
  stuck: z
    .record(text, text)
    .optional()
    .describe('why running tasks are stuck, by task id, such as a question of an agent to a person'),
  done: count,
  failed: count,
  started_at: text,
});
/** The data that a bridge sends with each heartbeat. */
export interface Bridge extends Shape<typeof bridge> {}

const name = z
  .string()
  .min(1)
  .max(4 * AGENT_NAME_CHARS);

const session = z.object({
  /** Program of the session: `claude`, `codex`, `gemini`, `opencode`, … */
  client: text.max(64),
  /** Id of the session in its client. */
  session: z.string().min(1).max(256),
  folder: text.max(FOLDER_CHARS),
  /** Name of the folder of the repository, as claims use it. */
  project: text.max(256).optional(),
  /** Host name of the machine. */
  machine: text.max(256),
  /** Process id of the client on its machine. */
  pid: count.optional(),
  /**
   * How a message reaches the session. `now`: it wakes the session. `turn`: it is shown at the next turn.
   * `start`: it is shown when the session starts again. `no`: it is shown only when the session reads its
   * messages itself.
   */
  reach: z.enum(AGENT_REACH),
  /** True while the session works on a prompt. */
  busy: z.boolean(),
  /** Current work of the session, such as the current task of its project. */
  works_on: text.max(AGENT_TEXT_CHARS).optional(),
  /** Why the session waits for a person. */
  waiting_for: text.max(AGENT_TEXT_CHARS).optional(),
  /**
   * Senders whose messages are shown to the session. `known`: people, agents with a name that a person chose, agents
   * to which the session wrote, and agents that a person allowed. Messages of other senders wait.
   */
  inbound: z.enum(INBOUND),
  /** True if a person chose the name. Otherwise a number is added if another session has the name. */
  named: z.boolean(),
});
/** A session of a coding agent, as its hooks report it. */
export interface Session extends Shape<typeof session> {}

const agent = z.object({
  name: text,
  kind: z.enum(['bridge', 'follower', 'session']),
  /**
   * True if a bridge sent a heartbeat recently, or a session has not ended. Null for a follower, which sends no
   * heartbeats.
   */
  alive: z.boolean().nullable(),
  /**
   * State of a bridge or a session. `working`: it has a task. `idle`: it has no task. `stuck`: it waits for a person,
   * or it is a bridge that stopped sending heartbeats while it had a task. `silent`: it is a bridge that sends no
   * heartbeats and had no task, or a session that has ended. Null for a follower.
   */
  state: z.enum(['working', 'idle', 'stuck', 'silent']).nullable(),
  /** Time of the last heartbeat of a bridge, the last hook of a session, or the last read of a follower. */
  last_seen: time.nullable(),
  /** Channels that a bridge serves or a follower reads. A session has the channel `@NAME`. */
  channels: z.array(text),
  bridge: bridge.optional(),
  session: session.optional(),
  /** For a session: number of messages that were not shown to it. */
  unread: count.optional(),
  /** For a session: number of unread messages that wait until a person allows their senders. */
  held: count.optional(),
  /** For a session: what it has claimed. */
  claims: z.array(text).optional(),
});
/** A bridge that accepts tasks, a session of a coding agent, or a follower that reads messages. */
export interface Agent extends Shape<typeof agent> {}

const entered = z.object({
  /** Name of the agent. It differs from the requested name if another session has that name. */
  name: text,
  unread: count,
  /** Senders whose messages wait until a person allows them. */
  held: z.array(text),
});
export interface Entered extends Shape<typeof entered> {}

const message = z.object({
  id: text,
  conversation: text,
  from: text,
  ...statedAgent,
  to: text,
  /** The text, or an excerpt of a long text. */
  text,
  /** Pointer to the whole text, or the pointer that the sender attached. */
  url: optionalText,
  reply_to: optionalText.describe('id of the message that this one answers'),
  at: time,
  /**
   * `queued`: stored. `shown`: the session confirmed that the text reached its model. `read`: the agent pulled or
   * acknowledged it. `answered`: the agent replied.
   */
  state: z.enum(MESSAGE_STATES),
  /** How the message reached the session: `claude-socket`, `codex-queue`, `opencode`, `hook`. */
  route: optionalText,
  shown_at: time.optional(),
  read_at: time.optional(),
  answered_at: time.optional(),
  /** Time at which the message entered a queue of the client. Set only while the client has not confirmed it. */
  sent_at: time.optional(),
  /** True if the message waits until a person allows its sender. */
  held: z.literal(true).optional(),
});
/** A message from one agent to another, with its receipts. */
export interface AgentMessage extends Shape<typeof message> {}

const sendOptions = z.object({
  url: z.string().min(1).optional().describe('pointer to attach'),
  reply_to: optionalText.describe('id of the message that this one answers'),
  /** True to keep the message for an agent that does not exist yet. */
  queue: z.boolean().optional().describe('keep the message for an agent that does not exist yet'),
  idempotency_key: idempotencyKey,
});
export interface MessageOptions extends Shape<typeof sendOptions> {}

const mark = z.object({
  ids: z.array(text).min(1).max(AGENT_MESSAGES_LISTED),
  /**
   * What happened to the messages. `queued`: the caller gives them back without showing them. `sent`: they
   * are in a queue of the client.
   */
  as: z.enum(['queued', 'sent', 'shown', 'read']),
  route: text.max(64).optional(),
});
export interface MessageMark extends Shape<typeof mark> {}

const conversation = z.object({
  id: text,
  agents: z.array(text),
  /** Number of messages in the conversation. */
  messages: count,
  /** Maximum number of messages. Agents can send more only after a person has allowed it. */
  limit: count,
  started_at: time,
  last_at: time,
  /** Beginning of the text of the first message. */
  about: text,
});
export interface Conversation extends Shape<typeof conversation> {}

const conversationDetail = z.object({ conversation, messages: z.array(message) });

const claim = z.object({
  /** Project that the claim is about. */
  project: text,
  /** A path pattern such as `src/auth/**`, or the id of a todo. */
  what: text,
  by: text,
  since: time,
  /** End of the claim, unless its owner renews it. */
  until: time,
});
/** An advisory lease on files or on a todo. */
export interface AgentClaim extends Shape<typeof claim> {}

const project = z.string().min(1).max(256);
const what = z.string().min(1).max(CLAIM_CHARS);
const messageList = z.object({ messages: z.array(message) });
const messageQuery = z.object({ name, limit: limit(AGENT_MESSAGES_LISTED) });

export const agentSchemas = {
  list: { input: z.object({}), output: z.object({ agents: z.array(agent) }) },
  beat: { input: bridge.extend({ name: z.string().min(1) }), output: z.null() },
  leave: { input: z.object({ name: z.string().min(1), instance: z.string().min(1) }), output: z.null() },
  enter: { input: session.extend({ name }), output: entered },
  allow: { input: z.object({ name, sender: name }), output: z.null() },
  send: {
    input: z.object({
      to: z
        .union([name, z.array(name).min(1).max(AGENT_RECIPIENTS), z.null()])
        .describe('names of agents; `*` for all running sessions; null for the sender of `reply_to`'),
      text: z.string().min(1).max(AGENT_MESSAGE_BYTES),
      ...sendOptions.shape,
    }),
    output: messageList,
    codes: ['conversation_limit', 'over_quota'],
  },
  messages: { input: messageQuery, output: messageList },
  take: { input: messageQuery, output: messageList },
  mark: { input: mark.extend({ name }), output: messageList },
  conversations: {
    input: z.object({ limit: limit(CONVERSATIONS_LISTED) }),
    output: z.object({ conversations: z.array(conversation) }),
  },
  conversation: { input: z.object({ id: text }), output: conversationDetail },
  proceed: { input: z.object({ id: text }), output: conversation },
  claims: {
    input: z.object({ project: project.optional() }),
    output: z.object({ claims: z.array(claim) }),
  },
  claim: {
    input: z.object({
      project,
      what,
      ttl: seconds(CLAIM_MAX_S).optional().describe('seconds; 900 by default'),
    }),
    output: claim,
    codes: ['claimed'],
  },
  release: { input: z.object({ project, what }), output: z.null(), codes: ['claimed'] },
} satisfies SchemaRows;
