import * as z from 'zod';
import { badRequest } from '../../../base/errors.ts';
import { frame } from '../../../text/frame.ts';
import { defineTool } from '../tool.ts';

/** Tools for the sessions of coding agents in the folder of the client. Only the stdio server offers them. */
export const SESSION_TOOLS = [
  defineTool({
    name: 'recall',
    description:
      'Search the words, commands and errors of earlier coding sessions in this repository. Also finds what a compaction removed from this session.',
    input: z.object({
      query: z.string().optional(),
      session: z.string().optional().describe('only this one: 3f2a'),
      turn: z.string().optional().describe('read one turn: 3f2a:41'),
    }),
    verb: null,
    local: true,
    doing: 'reading sessions',
    async run({ query, session, turn }, { context }) {
      if ((query === undefined) === (turn === undefined)) throw badRequest('recall needs "query" or "turn".');
      const text =
        turn === undefined ? await context.recall!.search(query!, session) : await context.recall!.show(turn);
      if (text === '') return { text: 'No turn matches. Try other words.' };
      const now = context.env.now();
      const source = { what: 'turns of sessions', by: 'users and coding agents', at: now };
      return { text: await frame(text, source, now, context.frameSecret) };
    },
  }),
];
