import * as z from 'zod';
import { AGENT_RECIPIENTS } from '../../../base/limits.ts';
import { type AgentMessage, agents, senderOf } from '../../../contract/agents.ts';
import { frame } from '../../../text/frame.ts';
import { type Answer, defineTool, type ToolCall } from '../tool.ts';

/** Tools of the group `agents`. */
export const AGENT_TOOLS = [
  defineTool({
    name: 'agents',
    description:
      'List agents: sessions get messages (send), bridges take tasks (bridge_task). reach says when a session sees a message: now, turn (its next turn), start (its next start) or no. One JSON object per line.',
    input: z.object({}),
    verb: agents.list,
    doing: 'listing the agents',
    async run(_, { relay, context }) {
      const lines = (await relay.agents.list()).agents.map(
        ({ name, kind, state, last_seen, session, ...rest }) =>
          JSON.stringify({
            name,
            kind,
            state,
            last_seen,
            client: session?.client,
            reach: session?.reach,
            works_on: session?.works_on,
            waiting_for: session?.waiting_for,
            claims: rest.claims,
          }),
      );
      if (lines.length === 0) return { text: '(no agents)' };
      const now = context.env.now();
      // Frame the list as foreign text: agents choose their names, work and claims themselves.
      const source = { what: 'agents', by: 'the agents', at: now };
      return { text: await frame(lines.join('\n'), source, now, context.frameSecret) };
    },
  }),
  defineTool({
    name: 'send',
    description:
      'Send a message to agents by name and wake them if possible. Tell your user whom you wrote to.',
    input: z.object({
      to: z
        .union([z.string(), z.array(z.string()).max(AGENT_RECIPIENTS)])
        .describe('names; * for all running sessions'),
      text: z.string(),
      url: z.string().optional().describe('pointer to attach'),
      queue: z.boolean().optional().describe('store it for an agent that has not started yet'),
    }),
    verb: agents.send,
    doing: 'sending the message',
    async run({ to, text, url, queue }, call) {
      const idempotency_key = crypto.randomUUID();
      const { messages } = await call.relay.agents.send(to, text, { url, queue, idempotency_key });
      return sent(messages, call);
    },
  }),
  defineTool({
    name: 'reply',
    description: 'Answer a message of another agent.',
    input: z.object({ message: z.string().describe('id of the message'), text: z.string() }),
    verb: agents.send,
    doing: 'sending the reply',
    async run({ message, text }, call) {
      const o = { reply_to: message, idempotency_key: crypto.randomUUID() };
      return sent((await call.relay.agents.send(null, text, o)).messages, call);
    },
  }),
  defineTool({
    name: 'messages',
    description: 'Get the messages that wait for an agent and mark them as read.',
    input: z.object({ agent: z.string().describe('your name') }),
    verb: agents.take,
    doing: 'reading the messages',
    async run({ agent }, { relay, context }) {
      const { messages } = await relay.agents.take(agent);
      if (messages.length === 0) return { text: '(no messages)' };
      const now = context.env.now();
      const framed = await Promise.all(
        messages.map(({ id, text, url, at, ...names }) => {
          const source = { what: `message ${id}`, by: senderOf(names), at: Date.parse(at) };
          return frame(url ? `${text}\n(${url})` : text, source, now, context.frameSecret);
        }),
      );
      await relay.agents.mark(agent, { ids: messages.map(({ id }) => id), as: 'read' });
      return { text: framed.join('\n\n') };
    },
  }),
];

/** Wakes the recipients with a session on this machine, and says what happened to each message. */
async function sent(messages: readonly AgentMessage[], { relay, context }: ToolCall): Promise<Answer> {
  const recipients = messages.map(({ to }) => to);
  const woken = (await context.wake?.(relay, recipients).catch(() => [])) ?? [];
  const lines = messages.map(({ id, to }) => {
    const found = woken.find(({ name }) => name === to);
    return `${to}: message ${id}, ${found?.route ? `passed on by ${found.route}` : 'waits until it is read'}`;
  });
  return { text: lines.join('\n') };
}
