import type { Pinned } from '../exchange.ts';

const NOBODY = '00000000-0000-4000-8000-000000000000';
const BRIDGE = {
  instance: 'i1',
  runner: 'exec',
  target: 'cat',
  task_channel: 'agent-tasks',
  done_channel: 'agent-done',
  concurrency: 1,
  running: [],
  done: 0,
  failed: 0,
  started_at: '2026-01-15T11:00:00.000Z',
};

/** Tasks and agents. */
export const taskRequests: readonly Pinned[] = [
  { name: 'no tasks yet', send: 'GET /tasks' },
  {
    name: 'give a task',
    as: 'task',
    send: 'POST /push',
    json: { data: 'do it', channel: 'agent-tasks', metadata: { summary: 'a thing' } },
  },
  {
    name: 'give another',
    as: 'other',
    send: 'POST /push',
    json: { data: 'do that', channel: 'agent-tasks' },
  },
  { name: 'the tasks', send: 'GET /tasks' },
  { name: 'one task of the list', send: 'GET /tasks?limit=1&channel=agent-tasks&state=queued' },
  { name: 'tasks in a state that is none', send: 'GET /tasks?state=lost' },
  { name: 'no task of the list', send: 'GET /tasks?limit=0' },
  { name: 'a task', send: 'GET /tasks/{{task.id}}' },
  { name: 'a task that is not there', send: `GET /tasks/${NOBODY}` },
  { name: 'a task with a bad id', send: 'GET /tasks/nope' },
  { name: 'done', send: 'POST /tasks/{{task.id}}/done', json: { data: 'the result', summary: 'it works' } },
  { name: 'done again', send: 'POST /tasks/{{task.id}}/done', json: { data: 'another', summary: 'again' } },
  { name: 'failed after it was done', send: 'POST /tasks/{{task.id}}/fail', json: { summary: 'no' } },
  { name: 'failed', send: 'POST /tasks/{{other.id}}/fail', json: { summary: 'no tools' } },
  { name: 'done without a word', send: 'POST /tasks/{{other.id}}/done', json: {} },
  {
    name: 'done with a summary that is a number',
    send: 'POST /tasks/{{other.id}}/done',
    json: { summary: 1 },
  },
  { name: 'done with a task that is not there', send: `POST /tasks/${NOBODY}/done`, json: { summary: 'x' } },
  {
    name: 'failed with a task that is not there',
    send: `POST /tasks/${NOBODY}/fail`,
    json: { summary: 'x' },
  },
  { name: 'the task that was done', send: 'GET /tasks/{{task.id}}' },
  { name: 'the tasks that were done', send: 'GET /tasks?state=done' },
  { name: 'nobody is there', send: 'GET /agents' },
  { name: 'a bridge beats', send: 'POST /agents/anna', json: BRIDGE },
  { name: 'a beat without a runner', send: 'POST /agents/anna', json: { instance: 'i1' } },
  { name: 'a beat of a bad name', send: `POST /agents/${'n'.repeat(129)}`, json: BRIDGE },
  { name: 'somebody follows', send: 'POST /inbox/bert/channels', json: { channel: 'agent-done' } },
  { name: 'who is there', send: 'GET /agents' },
  { name: 'a bridge leaves', send: 'DELETE /agents/anna/i1' },
  { name: 'a bridge leaves that is not there', send: 'DELETE /agents/anna/i2' },
  { name: 'who is left', send: 'GET /agents' },
];
