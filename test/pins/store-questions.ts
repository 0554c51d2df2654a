import type { Names } from './fill-store.ts';
import type { Planned } from './store-answers.ts';

const A2A = { 'A2A-Version': '1.0' };

/**
 * Returns the recorded requests to the fixture in their order. A pull creates a receipt and is counted, so requests
 * about receipts and counts come first.
 */
export function questionsAbout(names: Names): Planned[] {
  const idOf = (name: string) => names[name]!;
  const list: Planned[] = [];
  const add = (about: string, path: string, o: Partial<Planned> = {}) =>
    void list.push({ about, as: 'ann', path, ...o });

  const root = { as: 'root' };
  add('keys', '/keys?all=1', root);
  add('keys', '/keys?tenant=acme', root);
  add('usage', '/usage', root);
  add('usage', '/usage?tenant=acme', root);
  for (const who of ['ann', 'ci', 'brief', 'next', 'gone', 'turned', 'acme'])
    add('keys', '/usage', { as: who });
  add('keys', '/keys', { as: 'ann' });
  // Request the activity first: later requests create activity, which is written after a delay.
  if (names.share !== undefined) add('activity', '/activity');
  add('keys', '/channels/news', { as: 'ci' });
  add('agents', '/agents');

  for (const name of [
    'text',
    'limited',
    'work-acked',
    'work-leased',
    'announced',
    'done',
    'failed',
    'queued',
  ])
    add('receipts', `/pull/${idOf(name)}/receipts`);
  add('tasks', '/tasks');
  for (const name of ['queued', 'done', 'failed', 'a2a-completed']) add('tasks', `/tasks/${idOf(name)}`);

  const threads = ['thread', 'bare', 'a2a-completed-thread', 'prompted', 'run'];
  // The list includes threads that commands created, because commands use Ann's tenant.
  for (const name of threads) add('threads', `/threads/${idOf(name)}/stats`);
  add('threads', '/stats');
  add('threads', '/threads');
  for (const name of threads) {
    const at = `/threads/${idOf(name)}`;
    add('threads', at);
    add('threads', `${at}/state`);
    add('events', `${at}/events?limit=1000`);
    add('artifacts', `${at}/artifacts`);
  }
  const at = `/threads/${idOf('thread')}`;
  // v2 to v5 use all operations, v20 is an ordinary patch, v41 and v53 have snapshots, v55 is compacted.
  for (const version of [1, 2, 3, 4, 5, 20, 41, 52, 53, 54, 55, 56])
    add('threads', `${at}/state?at=v${version}`);
  add('threads', `${at}/state/diff?from=v1&to=v5`);
  add('threads', `${at}/state/header`);
  add('threads', `${at}/replay`, { method: 'POST' });
  add('envelopes', `${at}/envelopes`);
  add('envelopes', `${at}/envelopes?to=painter`);
  add('events', `${at}/events?limit=5`);
  for (const [name, ref] of Object.entries(names)) {
    if (!name.startsWith('artifact-')) continue;
    add('artifacts', `${at}/artifacts/${ref}?counted=0`);
    add('artifacts', `${at}/artifacts/${ref}/content`);
  }
  add('search', `${at}/search?q=lighthouse`);
  add('search', `${at}/search?q=survey`);
  add('render', `/render/${idOf('thread')}?format=openai`);
  add('deleted', `/threads/${idOf('deleted')}`);
  const hold = { token: 'another', holder: 'somebody else', ttl: 60 };
  add('hold', `${at}/hold`, { method: 'POST', body: hold });
  const renewed = { token: 'hold-token', holder: 'ann at her desk', ttl: 3600, renew: true };
  add('hold', `${at}/hold`, { method: 'POST', body: renewed });

  add('channels', '/channels');
  for (const name of ['news', 'work', 'sealed', 'agent-tasks', 'agent-done', 'builds.main'])
    add('channels', `/channels/${name}`);
  add('channels', '/channels/work/position');
  add('inbox', '/inbox/reader');
  const replay = (channel: string, take: number) =>
    add('channels', `/channels/${encodeURIComponent(channel)}/events?since=all`, { take });
  replay('news', 3);
  replay('work', 5);
  replay('sealed', 1);
  replay('work.dead', 1);

  for (const name of ['submitted', 'completed', 'canceled', 'hooked'])
    add('a2a', `/a2a/relay/tasks/${idOf(`a2a-${name}`)}`, { headers: A2A });
  add('a2a', '/a2a/relay/tasks?includeArtifacts=true', { headers: A2A });
  const hooks = `/a2a/relay/tasks/${idOf('a2a-hooked')}/pushNotificationConfigs`;
  add('a2a', hooks, { headers: A2A });
  add('a2a', `${hooks}/hook-1`, { headers: A2A });

  const pointers = ['text', 'json', 'binary', 'large', 'limited', 'tenants', 'once', 'announced', 'revoked'];
  for (const name of pointers) add('pointers', `/peek/${idOf(name)}`);
  for (const name of pointers) {
    add('pointers', `/pull/${idOf(name)}?raw=1`);
    add('pointers', `/pull/${idOf(name)}?raw=1`, { as: null });
  }
  add('pointers', `/pull/${idOf('limited')}`);
  add('pointers', `/pull/${idOf('text')}`);
  add('pointers', `/pull/${idOf('large')}?grep=line%20599`);
  add('pointers', `/pull/${idOf('json')}?json=/a/2/b`);
  add('pointers', `/pull/${idOf('acmes')}`, { as: 'acme' });
  add('pointers', `/pull/${idOf('acmes')}`, { as: 'ann' });
  if (names.share !== undefined) addSpaces(names, add);
  return list;
}

/** Requests to data that only fixtures with `fillSpaces` contain. */
function addSpaces(names: Names, add: (about: string, path: string, o?: Partial<Planned>) => void): void {
  add('files', '/files');
  for (const space of ['notes', 'checkpoints', 'none']) add('files', `/files/${space}`);
  add('files', '/files/notes?delimiter=/');
  for (const path of ['plan.md', 'a/b%20c.txt', 'data.bin', 'long.txt', 'brief.txt', 'gone.txt']) {
    add('files', `/files/notes/${path}`);
    add('files', `/files/notes/${path}?info=1`);
  }
  add('files', '/files/notes/plan.md?log=1');
  for (const version of [1, 2, 3, 4]) add('files', `/files/notes/plan.md?version=${version}`);
  add('files', '/files/notes/long.txt?lines=5999-6000');
  add('files', '/files/notes/plan.md', { as: 'acme' });
  add('files', '/files', { as: 'acme' });
  const body = { paths: ['thread-1/0001.json', 'thread-1/0002.json', 'thread-1/0003.json'] };
  add('files', '/files/checkpoints/read', { method: 'POST', body });
  add('shares', '/shares');
  add('shares', `/threads/${names.thread}`, { as: 'share' });
  add('shares', `/threads/${names.bare}`, { as: 'share' });
  add('dead letters', '/channels/hard/dead');
  add('dead letters', '/channels/work/dead');
  add('dead letters', '/channels/hard/events?since=all', { take: 2 });
  const acme = { as: 'acme' };
  const at = `/threads/${names['acme-thread']}`;
  for (const path of ['/threads', at, `${at}/state`, `${at}/artifacts`, `${at}/events`])
    add('threads', path, acme);
  add('search', `${at}/search?q=lighthouse`, acme);
  add('threads', at);
  add('pointers', '/pointers');
  add('pipelines', '/runs');
}
