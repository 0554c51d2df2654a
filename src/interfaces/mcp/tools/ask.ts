import * as z from 'zod';
import { isRelayError } from '../../../base/errors.ts';
import { questions } from '../../../contract/questions.ts';
import { askPerson, waitForAnswer } from '../../../sdk/ask.ts';
import { defineTool } from '../tool.ts';

/** Number of seconds that a call waits. Many clients give up after some minutes; the question stays open. */
const WAIT_S = 240;

export const ASK_TOOLS = [
  defineTool({
    name: 'ask_human',
    description: 'Ask a person a question and wait for the answer.',
    input: z.object({
      question: z.string().optional().describe('everything the person needs to know to decide'),
      choices: z.array(z.string()).optional().describe('allowed answers; omit for any text'),
      default: z.string().optional().describe('answer if nobody answers in time'),
      timeout: z.number().min(1).default(3600).describe('seconds until the question expires'),
      id: z.string().optional().describe('continue to wait for this question'),
    }),
    verb: questions.ask,
    doing: 'asking a person',
    hints: { not_found: 'Check the id, or ask again without id.' },
    async run({ question = '', id, ...o }, { relay, signal, progress }) {
      let questionId = id ?? '';
      const waiting = AbortSignal.any([signal, AbortSignal.timeout(WAIT_S * 1000)]);
      const onAsked = (question: { readonly id: string }) => {
        questionId = question.id;
        return progress(`Waiting for a person to answer ${questionId}.`);
      };
      try {
        const api = { ...relay.questions, withdraw: async () => {} };
        const { answer, comment, answered_by } = await (id === undefined
          ? askPerson(api, question, { ...o, signal: waiting, onAsked })
          : waitForAnswer(api, await api.get(id), waiting));
        return { text: `${answered_by} answered: ${answer}${comment ? `\nComment: ${comment}` : ''}` };
      } catch (error) {
        if (signal.aborted || !isRelayError(error, 'aborted')) throw error;
        return { text: `No answer yet. Call ask_human with id "${questionId}" to wait longer.` };
      }
    },
  }),
];
