import type { McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { Desk } from './desk.ts';

/** What a person may choose from a menu. */
export function addPrompts(server: McpServer, _desk: Desk): void {
  server.registerPrompt(
    'handoff',
    {
      title: 'Hand the work over',
      description: 'Write down where things stand and get a URL for the agent that goes on',
      argsSchema: z.object({
        to: z.string().optional().describe('who goes on'),
        channel: z.string().optional().describe('announce it there'),
      }),
    },
    ({ to, channel }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: handoff(to, channel) } }],
    }),
  );
}

function handoff(to: string | undefined, channel: string | undefined): string {
  const whom = to ? `to ${to}` : 'to another agent';
  const where = channel ? `, channel "${channel}"` : '';
  return [
    `Hand this work over ${whom}, who knows nothing of our conversation.`,
    'Write, in Markdown: the goal; what is done, with files and commits; what was decided and why; what is still open; the next step; how to check the result. Facts only, and say what you are not sure of.',
    `Then call push_context with that text${where} and a one-line summary.`,
    'Answer with the URL alone and one sentence that says what it is.',
  ].join('\n');
}
