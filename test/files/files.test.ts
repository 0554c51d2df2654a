import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readBytes } from '../../src/base/byte-streams.ts';
import { isRelayError } from '../../src/base/errors.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import type { FilesApi } from '../../src/contract/files.ts';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { sqlite } from '../keys/stored-bytes.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const textOf = async (pending: Promise<{ body: Uint8Array | ReadableStream<Uint8Array> }>) =>
  new TextDecoder().decode(await readBytes((await pending).body));
const refused = (code: Parameters<typeof isRelayError>[1]) => (error: unknown) => {
  assert.ok(isRelayError(error, code), String(error));
  return true;
};
const pathsOf = (page: { files: readonly { path: string }[] }) => page.files.map(({ path }) => path);

for (const [engine, open] of [
  ['memory', undefined],
  ['SQLite', sqlite],
] as const) {
  for (const side of ['embedded', 'over HTTP'] as const) {
    describe(`files, ${engine}, ${side}`, () => {
      const start = async (): Promise<RelayUnderTest & { files: FilesApi }> => {
        const relay = await startRelay({ open: open?.() });
        const { files } =
          side === 'embedded'
            ? relay.core.relay(LOCAL_CALLER, relay.url)
            : httpRelay({ baseUrl: relay.url, retries: 0 });
        return { ...relay, files };
      };

      it('are written, read, overwritten and deleted', async () => {
        await using relay = await start();
        const { files } = relay;
        const file = await files.put('notes', 'a/b c.md', {
          body: bytes('# one\ntwo\n'),
          content_type: 'text/markdown',
          metadata: { author: 'Zoë' },
        });
        const { etag, sha256, created_at, modified_at, ...rest } = file;
        assert.deepEqual(rest, {
          space: 'notes',
          path: 'a/b c.md',
          version: 1,
          size: 10,
          text: true,
          content_type: 'text/markdown',
          metadata: { author: 'Zoë' },
          from: 'local',
          expires_at: null,
        });
        assert.equal(etag, `v1-${sha256.slice(0, 16)}`);
        assert.equal(created_at, modified_at);
        const fileContent = await files.get('notes', 'a/b c.md');
        assert.deepEqual(fileContent.file, file);
        assert.deepEqual(await files.info('notes', 'a/b c.md'), file);
        assert.equal(await textOf(Promise.resolve(fileContent)), '# one\ntwo\n');
        assert.equal(await textOf(files.get('notes', 'a/b c.md', { range: { start: 2, end: 5 } })), 'one');
        const next = await files.put('notes', 'a/b c.md', { body: new Blob(['later']).stream() });
        assert.equal(next.version, 2);
        assert.equal(next.created_at, file.created_at);
        assert.deepEqual([next.content_type, next.metadata], [null, {}]);
        assert.equal(await textOf(files.get('notes', 'a/b c.md')), 'later');
        assert.equal(await textOf(files.get('notes', 'a/b c.md', { version: 1 })), '# one\ntwo\n');
        assert.deepEqual(await files.log('notes', 'a/b c.md'), [next, file]);
        assert.deepEqual((await files.spaces()).spaces, [{ space: 'notes' }]);
        await files.delete('notes', 'a/b c.md');
        for (const call of [
          () => files.get('notes', 'a/b c.md'),
          () => files.info('notes', 'a/b c.md'),
          () => files.log('notes', 'a/b c.md'),
          () => files.delete('notes', 'a/b c.md'),
        ])
          await assert.rejects(call(), refused('not_found'));
        assert.deepEqual((await files.spaces()).spaces, []);
        const again = await files.put('notes', 'a/b c.md', { body: bytes('again') });
        assert.equal(again.version, 1);
        assert.deepEqual(await files.log('notes', 'a/b c.md'), [again]);
      });

      it('may be empty, binary and large', async () => {
        await using relay = await start();
        const { files } = relay;
        assert.equal((await files.put('s', 'empty', { body: new Uint8Array(0) })).size, 0);
        assert.equal(await textOf(files.get('s', 'empty')), '');
        const large = new Uint8Array(3 * 1024 * 1024).map((_, at) => at % 251);
        assert.equal((await files.put('s', 'large', { body: large })).text, false);
        assert.deepEqual(await readBytes((await files.get('s', 'large')).body), large);
        await assert.rejects(files.part('s', 'large', { lines: '1' }), refused('not_text'));
        const over = new Uint8Array(25 * 1024 * 1024 + 1);
        await assert.rejects(files.put('s', 'over', { body: over }), refused('too_large'));
        await assert.rejects(files.info('s', 'over'), refused('not_found'));
      });

      it('are overwritten only if the condition holds', async () => {
        await using relay = await start();
        const { files } = relay;
        const put = (o: object) => files.put('s', 'a', { body: bytes('x'), ...o });
        await assert.rejects(put({ if_match: '*' }), refused('file_changed'));
        const one = await put({ if_none_match: '*' });
        await assert.rejects(put({ if_none_match: '*' }), refused('file_changed'));
        await assert.rejects(put({ if_match: 'v2' }), refused('file_changed'));
        assert.equal((await put({ if_match: one.etag })).version, 2);
        await assert.rejects(put({ if_match: one.etag }), refused('file_changed'));
        assert.equal((await put({ if_match: '2' })).version, 3);
        assert.equal((await put({ if_match: '"v9-x", v3' })).version, 4);
        await assert.rejects(files.delete('s', 'a', { if_match: 'v3' }), refused('file_changed'));
        await files.delete('s', 'a', { if_match: 'v4' });
        const racing = await Promise.allSettled(
          Array.from({ length: 8 }, (_, at) =>
            files.put('s', 'race', { body: bytes(`${at}`), if_none_match: '*' }),
          ),
        );
        assert.equal(racing.filter(({ status }) => status === 'fulfilled').length, 1);
        await Promise.all(
          Array.from({ length: 8 }, (_, at) => files.put('s', 'race', { body: bytes(`${at}`) })),
        );
        const log = await files.log('s', 'race');
        assert.deepEqual(
          log.map(({ version }) => version),
          [9, 8, 7, 6, 5, 4, 3, 2, 1],
        );
      });

      it('keep as many earlier versions as requested', async () => {
        await using relay = await start();
        const { files } = relay;
        const versions = async () => (await files.log('s', 'a')).map(({ version }) => version);
        for (let at = 1; at <= 5; at++) await files.put('s', 'a', { body: bytes(`${at}`), keep: 2 });
        assert.deepEqual(await versions(), [5, 4, 3]);
        await assert.rejects(files.get('s', 'a', { version: 2 }), refused('not_found'));
        await files.put('s', 'a', { body: bytes('6') });
        assert.deepEqual(await versions(), [6, 5, 4]);
        await files.put('s', 'a', { body: bytes('7'), keep: 0 });
        assert.deepEqual(await versions(), [7]);
        await files.put('s', 'a', { body: bytes('8'), keep: 100 });
        assert.deepEqual(await versions(), [8, 7]);
        await relay.core.background.settle();
        const { items } = await relay.engine.blobs.list('fil.local.s/');
        assert.equal(items.length, 2, 'what left the history has left the store');
        await files.delete('s', 'a');
        for (const list of [relay.engine.blobs, relay.engine.records])
          assert.deepEqual((await list.list('fil.local.s/')).items, []);
        await assert.rejects(files.put('s', 'a', { body: bytes(''), keep: 101 }), refused('bad_request'));
      });

      it('are listed by prefix, by page and by folder', async () => {
        await using relay = await start();
        const { files } = relay;
        const paths = ['a', 'b/1', 'b/2', 'b/c/3', 'b/c/4', 'b-', 'z', 'é', '日本', '😀'];
        for (const path of paths) await files.put('s', path, { body: bytes(path) });
        const sorted = ['a', 'b-', 'b/1', 'b/2', 'b/c/3', 'b/c/4', 'z', 'é', '日本', '😀'];
        assert.deepEqual(pathsOf(await files.list('s')), sorted);
        assert.deepEqual(pathsOf(await files.list('s', { prefix: 'b/' })), sorted.slice(2, 6));
        assert.deepEqual(pathsOf(await files.list('s', { prefix: 'b/c' })), sorted.slice(4, 6));
        const collected: string[] = [];
        for (let after: string | undefined; ; ) {
          const page = await files.list('s', { limit: 3, after });
          collected.push(...pathsOf(page));
          after = page.next;
          if (after === undefined) break;
        }
        assert.deepEqual(collected, sorted);
        const top = await files.list('s', { delimiter: '/' });
        assert.deepEqual([pathsOf(top), top.prefixes], [['a', 'b-', 'z', 'é', '日本', '😀'], ['b/']]);
        const within = await files.list('s', { prefix: 'b/', delimiter: '/' });
        assert.deepEqual([pathsOf(within), within.prefixes], [['b/1', 'b/2'], ['b/c/']]);
        const listedPaths: string[] = [];
        for (let after: string | undefined; ; ) {
          const page = await files.list('s', { limit: 1, after, delimiter: '/' });
          listedPaths.push(...pathsOf(page), ...page.prefixes!);
          after = page.next;
          if (after === undefined) break;
        }
        assert.deepEqual(listedPaths, ['a', 'b-', 'b/', 'z', 'é', '日本', '😀']);
        assert.deepEqual(await files.list('nowhere'), { files: [] });
      });

      it('are read, written and deleted in batches', async () => {
        await using relay = await start();
        const { files } = relay;
        const result = await files.write('s', [
          { path: 'a', content: 'one', metadata: { n: 1 } },
          { path: 'b', content: Buffer.from([0, 255, 1]).toString('base64'), encoding: 'base64' },
          { path: '../c', content: 'no' },
          { path: 'a/b', content: 'only if new', if_none_match: '*' },
          { path: 'd', content: 'there is none', if_match: 'v1' },
        ]);
        assert.deepEqual(
          result.files.map((file) => ('code' in file ? file.code : file.version)),
          [1, 1, 'bad_request', 1, 'file_changed'],
        );
        const readResult = await files.read('s', ['a', 'b', 'gone', 'a/b', 'a']);
        assert.deepEqual(
          readResult.files.map(({ path, content }) => [path, content]),
          [
            ['a', bytes('one')],
            ['b', new Uint8Array([0, 255, 1])],
            ['a/b', bytes('only if new')],
          ],
        );
        assert.deepEqual([readResult.missing, readResult.left], [['gone'], []]);
        const most = new Uint8Array(2 * 1024 * 1024 - 3).fill(65);
        await files.put('s', 'most', { body: most });
        const { left } = await files.read('s', ['a', 'most', 'b']);
        assert.deepEqual(left, ['b']);
        assert.deepEqual(await files.remove('s', { paths: ['most', 'gone'] }), { deleted: 1 });
        assert.deepEqual(await files.remove('s', { prefix: 'a' }), { deleted: 2 });
        assert.deepEqual(pathsOf(await files.list('s')), ['b']);
        await assert.rejects(files.remove('s', {}), refused('bad_request'));
        await assert.rejects(files.remove('s', { paths: [], prefix: '' }), refused('bad_request'));
      });

      it('can be read in parts, and their tokens counted', async () => {
        await using relay = await start();
        const { files } = relay;
        await files.put('s', 'a.json', { body: bytes('{"users":[{"name":"Ada"}]}') });
        await files.put('s', 'a.md', { body: bytes('# Top\nfirst\nsecond\n## Next\nthird') });
        assert.equal((await files.part('s', 'a.md', { lines: '2-3' })).text, 'first\nsecond');
        assert.match((await files.part('s', 'a.md', { grep: 'thi' })).text, /5.*third/);
        assert.match((await files.part('s', 'a.md', { outline: true })).text, /Next/);
        assert.equal((await files.part('s', 'a.json', { json: '/users/0/name' })).text, 'Ada');
        await files.put('s', 'a.md', { body: bytes('other') });
        assert.equal((await files.part('s', 'a.md', { lines: '2' }, { version: 1 })).text, 'first');
        const cost = await files.cost('s', 'a.md');
        assert.deepEqual([cost.tokens, cost.bytes], [1, 5]);
        assert.ok((await files.cost('s', 'a.md', undefined, { version: 1 })).tokens > 5);
      });

      it('are invisible as soon as they expire', async () => {
        await using relay = await start();
        const { files } = relay;
        await files.put('s', 'a', { body: bytes('forever') });
        const { expires_at, modified_at } = await files.put('s', 'a', { body: bytes('brief'), ttl: 60 });
        assert.equal(Date.parse(expires_at!) - Date.parse(modified_at), 60_000);
        await files.put('s', 'b', { body: bytes('brief'), ttl: 60 });
        await files.put('s', 'b', { body: bytes('stays after all') });
        await files.put('s', 'c', { body: bytes('stays') });
        relay.advance(61_000);
        await assert.rejects(files.get('s', 'a'), refused('not_found'));
        await assert.rejects(files.get('s', 'a', { version: 1 }), refused('not_found'));
        assert.deepEqual(pathsOf(await files.list('s')), ['b', 'c']);
        assert.deepEqual((await files.read('s', ['a'])).missing, ['a']);
        const again = await files.put('s', 'a', { body: bytes('new'), if_none_match: '*', ttl: 60 });
        assert.equal(again.version, 1);
        relay.advance(61_000);
        await relay.core.sweepStore();
        const { items } = await relay.engine.records.list('fil.local.s/at/');
        assert.equal(items.length, 2, 'housekeeping removes what has ended');
        assert.deepEqual((await relay.engine.records.list('sys.fil/')).items, []);
        await assert.rejects(files.put('s', 'a', { body: bytes('x'), ttl: 0 }), refused('bad_request'));
      });

      it('are written once per idempotency key', async () => {
        await using relay = await start();
        const { files } = relay;
        const put = (body: string, o: object = {}) =>
          files.put('s', 'a', { body: bytes(body), idempotency_key: 'k', ...o });
        const one = await put('x', { if_none_match: '*' });
        assert.deepEqual(await put('x', { if_none_match: '*' }), one);
        await assert.rejects(put('y'), refused('idempotency_conflict'));
        assert.equal(await textOf(files.get('s', 'a')), 'x');
        const { items } = await relay.engine.blobs.list('fil.local.s/');
        assert.equal(items.length, 1);
      });

      it('reject paths that lead elsewhere', async () => {
        await using relay = await start();
        const { files } = relay;
        const bad = [
          '',
          '/a',
          'a/',
          'a//b',
          '.',
          '..',
          'a/../b',
          './a',
          'a\0b',
          'a\nb',
          'a\\b',
          '\ud800',
          'x'.repeat(256),
          `${'y/'.repeat(512)}z`,
        ];
        for (const path of bad) {
          await assert.rejects(
            async () => files.put('s', path, { body: bytes('x') }),
            refused('bad_request'),
            JSON.stringify(path),
          );
        }
        for (const space of ['', '.', '..', 'a/b', '-a', 'ü', 'x'.repeat(129)])
          await assert.rejects(
            async () => files.put(space, 'a', { body: bytes('x') }),
            JSON.stringify(space),
          );
        const odd = ['%2e%2e', '..a', '%2F', 'a?b#c', 'a+b', 'read', 'ä%', ' ', 'e\u0301', 'x'.repeat(255)];
        for (const path of odd) {
          assert.equal((await files.put('odd', path, { body: bytes(path) })).path, path);
          assert.equal(await textOf(files.get('odd', path)), path);
        }
        assert.equal((await files.list('odd')).files.length, odd.length);
      });
    });
  }
}
