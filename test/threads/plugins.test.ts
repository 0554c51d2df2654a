import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { openLocal, temporaryHome } from './local-store.ts';

const plugin = (name: string, more = '') =>
  `export default { name: '${name}', description: 'd', args_schema: {}, run: async () => ({ content: 'made' }), ${more} };`;

const FILES: { readonly [file: string]: string } = {
  'good.js': plugin('own.good'),
  'syntax.js': 'export default {',
  'throws.js': 'throw new Error("not today");',
  'nothing.js': 'export default 7;',
  'name.js': plugin('Not A Name'),
  'schema.js': plugin('own.schema', 'args_schema: { type: 7 }'),
  'twice.js': plugin('own.good'),
};

test('a broken capability plugin affects only itself and is reported once by name', async (t) => {
  const home = temporaryHome(t);
  mkdirSync(home, { recursive: true });
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(home, name), text);
  const capabilities = [...Object.keys(FILES), 'missing.js'];
  writeFileSync(join(home, 'config.json'), JSON.stringify({ capabilities }));
  const warnings: string[] = [];
  await using store = await openLocal(home, {}, (what) => warnings.push(what));
  const { thread_id } = await store.threads.create({ name: 'x' });
  await store.threads.state(thread_id);
  const relay = store.core.relay(LOCAL_CALLER, 'http://relay.invalid').capabilities;
  const names = (await relay.list()).capabilities.map(({ name }) => name);
  assert.deepEqual(names, ['retrieval.search', 'http.fetch', 'own.good']);
  const artifact = await relay.invoke({ capability: 'own.good', thread_id });
  assert.equal(artifact.preview.text, 'made');
  const broken = capabilities.filter((file) => file !== 'good.js');
  assert.equal(warnings.length, broken.length, warnings.join('\n'));
  for (const [i, file] of broken.entries()) assert.ok(warnings[i]!.includes(file), warnings[i]!);
});
