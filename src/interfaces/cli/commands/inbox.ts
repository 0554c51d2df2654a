import { INBOX_MESSAGES } from '../../../base/limits.ts';
import type { Inbox } from '../../../contract/channels.ts';
import { unsealMessage } from '../../../sdk/encryption.ts';
import { answerCommand, badUsage, defineCommand } from '../command.ts';
import type { Host } from '../host.ts';
import { parseCount } from '../human.ts';
import type { Io } from '../io.ts';
import { messageContent, messageLine } from './message-line.ts';

const inbox = defineCommand({
  details: `From the channels it follows, oldest first. Piped: channel and message, one line each. A look changes nothing; with
--mark-read what was shown is not shown again.`,
  flags: {
    as: { value: 'NAME', help: 'the agent (RELAY_AGENT)' },
    'mark-read': { help: 'mark what is shown as read' },
    limit: { short: 'n', value: 'N', help: `show at most so many (${INBOX_MESSAGES})` },
  },
  examples: `
    relay inbox --as claude  # what is new
    relay inbox --as claude --mark-read --json  # for a hook: once, as JSON`,
  async run({ io, host, flags, open }) {
    const agent = agentName(io, flags.as, 'inbox');
    const limit = parseCount(flags.limit, '--limit', { min: 1, max: INBOX_MESSAGES });
    const { relay } = await open();
    const inbox = await readable(host, await relay.inbox.read(agent, { limit }));
    io.result(inbox, () => {
      const { messages, following } = inbox;
      if (!io.interactive) {
        return messages
          .map((each) => `${each.channel}\t${messageContent(each).replaceAll('\n', ' ')}`)
          .join('\n');
      }
      if (following.length === 0) {
        return io.style.dim(
          `${agent} follows no channel yet. Begin with: ${io.typed(`relay follow CHANNEL --as ${agent}`)}`,
        );
      }
      if (messages.length === 0) return io.style.dim(`Nothing new for ${agent} in ${following.join(', ')}.`);
      const more = inbox.more ? [io.style.dim('There is more: mark these as read to see it.')] : [];
      return [...messages.map((each) => messageLine(each, io.style, each.channel)), ...more].join('\n');
    });
    // After it was shown: who is interrupted in between sees it again.
    if (flags['mark-read'] && inbox.messages.length > 0) await relay.inbox.markRead(agent, inbox.cursors);
  },
});

/** Pointers with their key behind them, where it was sealed to a key of this machine. */
async function readable(host: Host, inbox: Inbox): Promise<Inbox> {
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

/** Whose inbox: `--as`, else RELAY_AGENT, which an agent's session sets once. */
export function agentName(io: Io, flag: string | undefined, command: string): string {
  const name = flag ?? io.env.RELAY_AGENT;
  if (name) return name;
  throw badUsage('Whose inbox is it?', `Use: relay ${command} --as NAME, or set RELAY_AGENT.`);
}

const follow = answerCommand({
  usage: '<channel>',
  details: `For agents and hooks that cannot keep a connection open: what comes is found later with relay inbox. Nothing needs to
run in between. Following a channel twice changes nothing.`,
  flags: {
    as: { value: 'NAME', help: 'the agent (RELAY_AGENT)' },
    since: { value: 'WHEN', help: 'begin behind a sequence number or at a time; all for everything' },
  },
  examples: `
    relay follow reviews --as claude  # from now on
    relay follow reviews --as claude --since all  # with everything there is`,
  async ask({ io, args, flags, open }) {
    const agent = agentName(io, flags.as, 'follow <channel>');
    return (await open()).relay.inbox.follow(agent, args[0]!, { since: flags.since });
  },
  print: ({ agent, channel }, io) =>
    `${agent} follows ${channel}; read with: ${io.typed(`relay inbox --as ${agent}`)}`,
});

const unfollow = answerCommand({
  usage: '<channel>',
  flags: { as: { value: 'NAME', help: 'the agent (RELAY_AGENT)' } },
  examples: 'relay unfollow reviews --as claude  # what it had not read there is no longer shown',
  async ask({ io, args, flags, open }) {
    const agent = agentName(io, flags.as, 'unfollow <channel>');
    const channel = args[0]!;
    await (await open()).relay.inbox.unfollow(agent, channel);
    return { agent, channel };
  },
  print: ({ agent, channel }) => `${agent} no longer follows ${channel}`,
});

export const commands = { follow, unfollow, inbox };
