import type * as shapes from '../schemas/questions.ts';
import { type Api, verbs } from './verb.ts';

export type * from '../schemas/questions.ts';

const verb = verbs({ scope: 'threads', args: ['id'] });

export const questions = {
  /** Asks a person a question. A repeated call with the idempotency key returns the first question. */
  ask: verb<(input: shapes.NewQuestion) => Promise<shapes.AskedQuestion>>('questions.ask')({
    summary: 'Ask a person a question',
    route: 'POST /questions',
    args: [],
    status: 201,
    headers: { idempotency_key: 'Idempotency-Key' },
  }),
  list: verb<
    (o?: {
      status?: shapes.QuestionStatus;
      thread_id?: string;
      limit?: number;
    }) => Promise<{ readonly questions: readonly shapes.AskedQuestion[] }>
  >('questions.list')({
    summary: 'List questions to people, newest first; open questions by default',
    route: 'GET /questions',
    args: [],
  }),
  get: verb<(id: string) => Promise<shapes.AskedQuestion>>('questions.get')({
    summary: 'Get a question with its answer',
    route: 'GET /questions/:id',
  }),
  /** Answers an open question. The first answer counts. Rejects with `conflict` if the question is not open. */
  answer: verb<(id: string, input: shapes.GivenAnswer) => Promise<shapes.AskedQuestion>>('questions.answer')({
    summary: 'Answer a question; the first answer counts',
    scope: 'answer',
    route: 'POST /questions/:id/answer',
  }),
  /** Creates a link that answers this question once and gives no other access. */
  link: verb<(id: string, o?: { name?: string }) => Promise<shapes.AnswerLink>>('questions.link')({
    summary: 'Create a one-time link to a form that answers this question',
    scope: 'answer',
    route: 'POST /questions/:id/link',
    status: 201,
  }),
  withdraw: verb<(id: string) => Promise<void>>('questions.withdraw')({
    summary: 'Withdraw an open question',
    route: 'DELETE /questions/:id',
    status: 204,
    repeatable: true,
  }),
};

/** Questions to people, and their answers. */
export interface QuestionsApi extends Api<typeof questions> {}
