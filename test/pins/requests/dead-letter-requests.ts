import type { Pinned } from '../exchange.ts';

/** Requests to a relay that delivers a message only once. */
export const deadLetterRequests: readonly Pinned[] = [
  {
    name: 'push what is revoked',
    as: 'revoked',
    send: 'POST /push',
    json: { data: 'never', channel: 'hard' },
  },
  { name: 'revoke it', send: 'DELETE /pull/{{revoked.id}}' },
  { name: 'publish what always fails', send: 'POST /channels/hard', json: { msg: 'too hard' } },
  { name: 'work for a group', as: 'claim', send: 'GET /channels/hard/events?group=crew', events: 1 },
  { name: 'patience', send: 'POST /channels/hard/groups/crew', json: { retry: [0, 600_000] } },
  { name: 'too much patience', send: 'POST /channels/hard/groups/crew', json: { retry: [3_600_001] } },
  { name: 'how much patience', send: 'POST /channels/hard/groups/crew', json: {} },
  { name: 'patience as by default', send: 'POST /channels/hard/groups/crew', json: { retry: null } },
  {
    name: 'the last attempt fails',
    send: 'POST /channels/hard/groups/crew/nack',
    body: '{"seq":{{claim.0.seq}},"token":{{claim.0.token}}}',
  },
  { name: 'the dead letters', as: 'dead', send: 'GET /channels/hard/dead' },
  { name: 'the channel', send: 'GET /channels/hard' },
  { name: 'retry what is gone', send: 'POST /channels/hard/dead/{{dead.letters.0.seq}}/retry' },
  { name: 'drop it', send: 'DELETE /channels/hard/dead/{{dead.letters.0.seq}}' },
  { name: 'drop it again', send: 'DELETE /channels/hard/dead/{{dead.letters.0.seq}}' },
  { name: 'drop what has no number', send: 'DELETE /channels/hard/dead/first' },
  { name: 'retry the other', send: 'POST /channels/hard/dead/{{dead.letters.1.seq}}/retry' },
  { name: 'no dead letters are left', send: 'GET /channels/hard/dead' },
];
