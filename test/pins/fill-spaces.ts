import { type Ask, BINARY, LARGE, type Names } from './fill-store.ts';

/** A text longer than 1 MiB with a word that occurs only at its end. */
const LONG = `${'The tide went out and came back in.\n'.repeat(36_000)}The harbourmaster signed the log.\n`;

/** Creates data of features that 0.1.0 lacks: files in spaces, share links, settled dead letters, threads of a second tenant. */
export async function fillSpaces(ann: Ask, acme: Ask, names: Names): Promise<void> {
  await fillFiles(ann, acme);
  const at = `/threads/${names.thread}`;
  const long = { content: LONG, name: 'tides.txt' };
  names['artifact-long'] = (await ann({ method: 'POST', path: `${at}/artifacts`, body: long })).ref;
  const share = { thread_id: names.thread, name: 'for the council', expires_in: 30 * 24 * 3600 };
  const { id, token } = await ann({ method: 'POST', path: '/shares', body: share });
  names.share = id;
  names['share-token'] = token;
  const ended = await ann({ method: 'POST', path: '/shares', body: { ...share, name: 'ended' } });
  await ann({ method: 'DELETE', path: `/shares/${ended.id}` });
  await settleDeadLetters(ann);
  const { thread_id } = await acme({ method: 'POST', path: '/threads', body: { name: 'acme plans' } });
  names['acme-thread'] = thread_id;
  const ops = [{ op: 'add', path: '/facts/-', value: { id: 'a1', key: 'owner', value: 'acme' } }];
  const headers = { 'Content-Type': 'application/json' };
  await acme({
    method: 'POST',
    path: `/threads/${thread_id}/state/patch`,
    body: JSON.stringify(ops),
    headers,
  });
  const plan = { content: '# Plan\n\nBuy the lighthouse.\n', name: 'plan.md' };
  await acme({ method: 'POST', path: `/threads/${thread_id}/artifacts`, body: plan });
}

async function fillFiles(ann: Ask, acme: Ask): Promise<void> {
  const put = (path: string, body: string | Uint8Array, type = 'text/plain', ask = ann, more = {}) =>
    ask({ method: 'PUT', path: `/files/${path}`, body, headers: { 'Content-Type': type, ...more } });
  const metadata = Buffer.from('{"author":"Zoë"}').toString('base64url');
  await put('notes/plan.md?keep=2', '# one\n', 'text/markdown', ann, { 'Relay-Metadata': metadata });
  await put('notes/plan.md', '# two\n', 'text/markdown', ann, { 'If-Match': 'v1' });
  await put('notes/plan.md', '# three\n', 'text/markdown');
  await put('notes/a/b c.txt', 'in a folder');
  await put('notes/data.bin', BINARY, 'application/octet-stream');
  await put('notes/long.txt', LARGE);
  await put('notes/brief.txt?ttl=2592000', 'ends by itself');
  await put('notes/gone.txt', 'soon gone');
  await ann({ method: 'DELETE', path: '/files/notes/gone.txt' });
  await put('checkpoints/thread-1/0001.json', '{"step":1}', 'application/json');
  await put('checkpoints/thread-1/0002.json', '{"step":2}', 'application/json');
  await put('notes/plan.md', 'of acme', 'text/plain', acme);
}

/** Retries one dead letter and drops another. The dead letter of `fillChannels` stays. */
async function settleDeadLetters(ann: Ask): Promise<void> {
  for (const msg of ['retried', 'dropped'])
    await ann({ method: 'POST', path: '/channels/hard', body: { msg } });
  for (let attempt = 1; attempt <= 10; attempt++) {
    const [{ seq, token }] = await ann({ path: '/channels/hard/events?group=crew&since=all', take: 1 });
    if (attempt === 1)
      await ann({ method: 'POST', path: '/channels/hard/groups/crew', body: { retry: [0] } });
    await ann({ method: 'POST', path: '/channels/hard/groups/crew/nack', body: { seq, token } });
  }
  const { letters } = await ann({ path: '/channels/hard/dead' });
  if (letters.length !== 2) throw new Error(`${letters.length} dead letters instead of 2.`);
  await ann({ method: 'POST', path: `/channels/hard/dead/${letters[0].seq}/retry` });
  await ann({ method: 'DELETE', path: `/channels/hard/dead/${letters[1].seq}` });
}
