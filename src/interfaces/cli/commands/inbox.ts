import { isRelayError } from '../../../base/errors.ts';
import { AGENT_MESSAGES_KEPT_MS, INBOX_MESSAGES } from '../../../base/limits.ts';
import type { AgentMessage } from '../../../contract/agents.ts';
import type { Inbox } from '../../../contract/channels.ts';
import type { Relay } from '../../../contract/relay.ts';
import { unsealMessage } from '../../../sdk/encryption.ts';
import { messageContent, messageLine } from '../channel-message.ts';
import { answerCommand, badUsage, defineCommand } from '../command.ts';
import type { Host } from '../host.ts';
import { parseCount } from '../human.ts';
import type { Io } from '../io.ts';
import { messageRow } from './agents.ts';
import { parseWhen } from './messages.ts';

/** Number of days for which --allow lets a sender through. */
const ALLOWED_DAYS = AGENT_MESSAGES_KEPT_MS / 86_400_000;

const inbox = defineCommand({
  usage: '--as NAME',
  details: `Shows messages that other agents sent to the agent (relay send), then messages from the channels that it follows, oldest
first. In a pipe it prints one line per message: channel, tab, message. Messages stay unread unless you pass --mark-read.`,
  flags: {
    as: { value: 'NAME', help: 'name of the agent (RELAY_AGENT)' },
    'mark-read': { help: 'mark the shown messages as read' },
    ack: { value: 'ID', multiple: true, help: 'acknowledge a message of another agent' },
    allow: {
      value: 'NAME',
      help: `show messages of this sender to the agent for ${ALLOWED_DAYS} days; see relay help guide agents`,
    },
    limit: { short: 'n', value: 'N', help: `show at most N messages (${INBOX_MESSAGES})` },
  },
  examples: `
    relay inbox --as claude  # show unread messages
    relay inbox --as claude --mark-read --json  # print each message once as JSON, for a hook
    relay inbox --as claude-hono --allow codex-hono  # show messages of codex-hono to claude-hono`,
  async run({ io, host, flags, open }) {
    const agent = agentName(io, flags.as, 'inbox');
    const limit = parseCount(flags.limit, '--limit', { min: 1, max: INBOX_MESSAGES });
    const { relay } = await open();
    if (flags.allow !== undefined) {
      await relay.agents.allow(agent, flags.allow);
      io.result(
        { agent, allowed: flags.allow },
        () => `${agent} receives messages of ${flags.allow} for ${ALLOWED_DAYS} days`,
      );
      await host.agents.wake(relay, [agent]);
      return;
    }
    if (flags.ack !== undefined) {
      const { messages } = await relay.agents.mark(agent, { ids: flags.ack, as: 'read' });
      return io.result({ messages }, () => messages.map((each) => messageRow(io, each)).join('\n'));
    }
    const inbox = await unsealMessages(host, await relay.inbox.read(agent, { limit }));
    const sent = await sentMessages(io, relay, agent, limit);
    io.result({ ...inbox, ...(sent.length > 0 ? { direct: sent } : {}) }, () => {
      const { messages, following } = inbox;
      if (!io.interactive) {
        const rows = [
          ...sent.map(({ from, agent: by, text }) => [`@${by ?? from}`, text]),
          ...messages.map((each) => [each.channel, messageContent(each)]),
        ];
        return rows.map(([channel, text]) => `${channel}\t${text!.replaceAll('\n', ' ')}`).join('\n');
      }
      const lines = [
        ...sent.map((each) => messageRow(io, each)),
        ...messages.map((each) => messageLine(each, io.style, each.channel)),
      ];
      if (inbox.more) lines.push(io.style.dim('There are more messages. Mark these as read to see them.'));
      if (lines.length > 0) return lines.join('\n');
      const channels =
        following.length > 0
          ? `${agent} follows ${following.join(', ')}.`
          : `${agent} follows no channel. Follow one with: ${io.typed(`relay follow CHANNEL --as ${agent}`)}`;
      return io.style.dim(`No new messages for ${agent}. ${channels}`);
    });
    // Mark the messages as read only after they were printed. If the command is interrupted before, the next
    // call shows them again.
    if (flags['mark-read'] && inbox.messages.length > 0) await relay.inbox.markRead(agent, inbox.cursors);
    const ids = sent.map(({ id }) => id);
    if (flags['mark-read'] && ids.length > 0) await relay.agents.mark(agent, { ids, as: 'read' });
  },
});

/**
 * Returns the messages that other agents sent to this agent. Returns none if the relay is too old for such messages or
 * the API key lacks the scope. Any other error becomes a warning, so that messages of channels are still shown.
 */
async function sentMessages(
  io: Io,
  relay: Relay,
  agent: string,
  limit?: number,
): Promise<readonly AgentMessage[]> {
  try {
    return (await relay.agents.messages(agent, { limit })).messages;
  } catch (error) {
    if (!isRelayError(error, 'no_route') && !isRelayError(error, 'forbidden'))
      io.warn(`The messages of other agents cannot be read: ${(error as Error).message}`);
    return [];
  }
}

/** Adds the payload key to the pointer of each encrypted message, if this machine has the channel key. */
async function unsealMessages(host: Host, inbox: Inbox): Promise<Inbox> {
  if (!inbox.messages.some(({ sealed_key }) => sealed_key)) return inbox;
  const keyring = await host.relay.keyring();
  const messages = await Promise.all(
    inbox.messages.map(async (message) => ({
      ...(await unsealMessage(message, await keyring.get(message.channel))),
      channel: message.channel,
    })),
  );
  return { ...inbox, messages };
}

/**
 * Returns the name of the agent whose inbox is read: `--as`, or else the environment variable RELAY_AGENT.
 */
export function agentName(io: Io, flag: string | undefined, command: string): string {
  const name = flag ?? io.env.RELAY_AGENT;
  if (name) return name;
  throw badUsage('The name of the agent is missing.', `Use: relay ${command} --as NAME, or set RELAY_AGENT.`);
}

const follow = answerCommand({
  usage: '<channel> --as NAME',
  details: `New messages of the channel are stored in the agent's inbox until it reads them with relay inbox. The agent needs
no open connection and no running process. Following a channel a second time changes nothing. Wildcards such as reviews.*
work only in relay watch.`,
  flags: {
    as: { value: 'NAME', help: 'name of the agent (RELAY_AGENT)' },
    since: {
      value: 'WHEN',
      help: 'start earlier: after this sequence number, after this time (10m is ten minutes ago), or with every stored message (the word all). Default: only new messages',
    },
  },
  examples: `
    relay follow reviews --as claude  # receive new messages
    relay follow reviews --as claude --since all  # receive stored messages too`,
  async ask({ io, args, flags, open }) {
    const agent = agentName(io, flags.as, 'follow <channel>');
    return (await open()).relay.inbox.follow(agent, args[0]!, { since: parseWhen(flags.since) });
  },
  print: ({ agent, channel }, io) =>
    `${agent} follows ${channel}; read with: ${io.typed(`relay inbox --as ${agent}`)}`,
});

const unfollow = answerCommand({
  usage: '<channel> --as NAME',
  flags: { as: { value: 'NAME', help: 'name of the agent (RELAY_AGENT)' } },
  examples: 'relay unfollow reviews --as claude  # unread messages of the channel leave the inbox',
  async ask({ io, args, flags, open }) {
    const agent = agentName(io, flags.as, 'unfollow <channel>');
    const channel = args[0]!;
    await (await open()).relay.inbox.unfollow(agent, channel);
    return { agent, channel };
  },
  print: ({ agent, channel }) => `${agent} no longer follows ${channel}`,
});

export const commands = { follow, unfollow, inbox };
