import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routeOf } from '../../src/contract/verb.ts';
import { OPERATIONS } from '../../src/interfaces/http/operations.ts';
import { artifactRequests } from './requests/artifact-requests.ts';
import { channelRequests } from './requests/channel-requests.ts';
import { dashboardRequests } from './requests/dashboard-requests.ts';
import { deadLetterRequests } from './requests/dead-letter-requests.ts';
import { fileRequests } from './requests/file-requests.ts';
import { keyRequests } from './requests/key-requests.ts';
import { pointerRequests } from './requests/pointer-requests.ts';
import { questionRequests } from './requests/question-requests.ts';
import { serverRequests } from './requests/server-requests.ts';
import { taskRequests } from './requests/task-requests.ts';
import { threadRequests } from './requests/thread-requests.ts';
import { checkTranscript, pinnedCalls, type Transcript } from './transcripts.ts';

// The transcripts contain the answers of every route. They are literals: a change there is a change for users.

const plans = { tiny: { pushes: 4, pulls: 1, keys: 9, payloadBytes: 100, ttlMs: 24 * 3600 * 1000 } };

const about = { id: 'shown', name: 'shop', description: null, folder: 'shop', broken: [], modified_at: null };
const SHOWN = {
  list: async () => [{ ...about, todos: { open: 1, blocked: 0, done: 2 }, decisions: 1 }],
  get: async (id: string) =>
    id === 'shown'
      ? { ...about, brief: 'A shop.', todos: [], decisions: [], state: null, handoffs: [] }
      : null,
};

const TRANSCRIPTS: readonly Transcript[] = [
  { name: 'server', requests: serverRequests },
  { name: 'pointers', requests: pointerRequests },
  { name: 'channels', requests: channelRequests },
  { name: 'dead-letters', requests: deadLetterRequests, core: { channels: { attempts: 1 } } },
  { name: 'tasks', requests: taskRequests },
  { name: 'threads', requests: threadRequests },
  { name: 'artifacts', requests: artifactRequests },
  { name: 'files', requests: fileRequests },
  { name: 'dashboard', requests: dashboardRequests, core: { projects: SHOWN } },
  { name: 'questions', requests: questionRequests },
  { name: 'keys', requests: keyRequests, keys: { core: { plans } } },
];

for (const transcript of TRANSCRIPTS) {
  test(`${transcript.name}: all answers are unchanged`, () => checkTranscript(transcript));
  test(`${transcript.name}: all answers are the same under /v1`, () => checkTranscript(transcript, '/v1'));
}

test('the transcripts cover every verb with a successful answer', () => {
  const calls = TRANSCRIPTS.flatMap(({ name }) => pinnedCalls(name));
  const missing = OPERATIONS.filter(({ verb }) => {
    const { name } = verb;
    const http = routeOf(verb);
    const path = new RegExp(`^${http.path.replaceAll(/:\w+\{[^}]*\}/g, '.+').replaceAll(/:\w+/g, '[^/]+')}$`);
    // Transcripts open no WebSocket. A plain request to the WebSocket route is answered with 426.
    const fine = (status: number) => (name === 'channels.socket' ? status === 426 : status < 300);
    return !calls.some((call) => call.method === http.method && path.test(call.path) && fine(call.status));
  });
  assert.deepEqual(
    missing.map(({ verb }) => `${verb.name} ${verb.route}`),
    [],
  );
});

test('no two requests of a transcript have the same name', () => {
  for (const { name, requests } of TRANSCRIPTS) {
    const names = requests.map((request) => request.name);
    assert.deepEqual(
      names.filter((each, i) => names.indexOf(each) !== i),
      [],
      name,
    );
  }
});
