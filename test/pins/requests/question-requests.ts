import type { Pinned } from '../exchange.ts';

const NOBODY = `q_${'0'.repeat(26)}`;

/** Requests about questions to people. */
export const questionRequests: readonly Pinned[] = [
  { name: 'no questions yet', send: 'GET /questions' },
  {
    name: 'ask',
    as: 'asked',
    send: 'POST /questions',
    json: { question: 'Deploy?', choices: ['yes', 'no'], default: 'no', expires_in: 3600, who: ['ann'] },
  },
  { name: 'ask nothing', send: 'POST /questions', json: { question: '' } },
  {
    name: 'ask with a default that is no choice',
    send: 'POST /questions',
    json: { question: 'a', choices: ['b'], default: 'c' },
  },
  {
    name: 'ask in a thread that is not there',
    send: 'POST /questions',
    json: { question: 'a', thread_id: '00000000-0000-4000-8000-000000000000' },
  },
  { name: 'open questions', send: 'GET /questions?status=open&limit=10' },
  { name: 'a question', send: 'GET /questions/{{asked.id}}' },
  { name: 'a question that is not there', send: `GET /questions/${NOBODY}` },
  { name: 'a link', as: 'link', send: 'POST /questions/{{asked.id}}/link', json: { name: 'ann' } },
  {
    name: 'an answer that is no choice',
    send: 'POST /questions/{{asked.id}}/answer',
    json: { answer: 'maybe' },
  },
  { name: 'an answer', send: 'POST /questions/{{asked.id}}/answer', json: { answer: 'yes', comment: 'go' } },
  { name: 'a second answer', send: 'POST /questions/{{asked.id}}/answer', json: { answer: 'no' } },
  { name: 'a link after the answer', send: 'POST /questions/{{asked.id}}/link', json: {} },
  { name: 'answered questions', send: 'GET /questions?status=answered' },
  { name: 'ask for any text', as: 'other', send: 'POST /questions', json: { question: 'Which name?' } },
  { name: 'withdraw', send: 'DELETE /questions/{{other.id}}' },
  { name: 'withdraw again', send: 'DELETE /questions/{{other.id}}' },
];
