import { z } from 'zod';
import { QUESTION_STATUSES } from '../base/enums.ts';
import {
  ANSWER_CHARS,
  QUESTION_CHARS,
  QUESTION_CHOICE_CHARS,
  QUESTION_CHOICES,
  QUESTION_TTL_MAX_S,
  QUESTIONS_LISTED,
} from '../base/limits.ts';
import {
  idempotencyKey,
  limit,
  nullableText,
  optionalText,
  type SchemaRows,
  type Shape,
  seconds,
  text,
  threadId,
  time,
} from './shapes.ts';

const status = z.enum(QUESTION_STATUSES);
export type QuestionStatus = Shape<typeof status>;

const choices = z.array(z.string().min(1).max(QUESTION_CHOICE_CHARS)).max(QUESTION_CHOICES);

const newQuestion = z.object({
  question: z.string().min(1).max(QUESTION_CHARS),
  choices: choices.optional().describe('allowed answers; without choices, any text is an answer'),
  who: choices.optional().describe('names of the keys that may answer; everybody with the scope by default'),
  default: optionalText.describe('the answer if nobody answers in time'),
  expires_in: seconds(QUESTION_TTL_MAX_S)
    .optional()
    .describe('seconds until the question expires; one week by default'),
  thread_id: threadId.optional().describe('thread that records the question and its answer as events'),
  step: optionalText.describe('step of the pipeline run that waits for the answer'),
  idempotency_key: idempotencyKey,
});
export interface NewQuestion extends Shape<typeof newQuestion> {}

const question = z.object({
  id: text,
  question: text,
  /** Allowed answers. Empty if any text is allowed. */
  choices: z.array(text),
  who: z.array(text),
  default: nullableText,
  thread_id: nullableText,
  step: nullableText,
  asked_by: text,
  asked_at: time,
  expires_at: time,
  status,
  answer: nullableText,
  comment: nullableText,
  /** Name of the key or link that answered; `timeout` if the default became the answer. */
  answered_by: nullableText,
  answered_at: time.nullable(),
  /** What answered: a key or a one-time link. Null if neither did. */
  via: z.enum(['key', 'link']).nullable(),
});
/** A question to a person. */
export interface AskedQuestion extends Shape<typeof question> {}

const givenAnswer = z.object({
  answer: z.string().min(1).max(ANSWER_CHARS),
  comment: z.string().max(ANSWER_CHARS).optional(),
});
export interface GivenAnswer extends Shape<typeof givenAnswer> {}

const answerLink = z.object({
  /** Path of the page with the form. It contains the token. */
  path: z.string().describe('shown only once; the relay stores only the hash of its token'),
  url: text,
  expires_at: time,
});
/** A link to a form that answers one question, once. Whoever has the link can answer. */
export interface AnswerLink extends Shape<typeof answerLink> {}

const id = z.string().min(1).max(64);

export const questionSchemas = {
  ask: { input: newQuestion, output: question, codes: ['not_found'] },
  list: {
    input: z.object({
      status: status.optional().describe('`open` by default'),
      thread_id: z.uuid().optional(),
      limit: limit(QUESTIONS_LISTED),
    }),
    output: z.object({ questions: z.array(question) }),
  },
  get: { input: z.object({ id }), output: question },
  answer: { input: givenAnswer.extend({ id }), output: question, codes: ['conflict'] },
  link: {
    input: z.object({ id, name: z.string().max(QUESTION_CHOICE_CHARS).optional() }),
    output: answerLink,
    codes: ['conflict'],
  },
  withdraw: { input: z.object({ id }), output: z.null() },
} satisfies SchemaRows;
