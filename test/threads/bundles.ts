import { createHash } from 'node:crypto';
import { openZip } from '../../src/formats/zip/zip-reader.ts';
import { type Entry, forgeZip } from './hostile-zip.ts';
import { type OpenThreads, openThreads, text } from './open-threads.ts';

export async function exported(opened: OpenThreads, id: string): Promise<Uint8Array> {
  const { body } = await opened.api.export(id);
  return new Uint8Array(await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
}

export async function prepared(
  largeBytes = 1000,
): Promise<{ opened: OpenThreads; id: string; bundle: Uint8Array }> {
  const opened = openThreads();
  const api = opened.as('ada');
  const { thread_id: id } = await api.create({ name: 'to carry over' });
  await api.patch(id, {
    ops: [{ op: 'add', path: '/facts/-', value: { id: 'f', key: 'k', value: 'é🙂' } }],
    idempotency_key: 'key',
  });
  const { ref } = await api.putArtifact(id, {
    body: text('# Notes\nwith words\n'),
    name: 'notes.md',
    source_refs: ['a'],
  });
  await api.putArtifact(id, {
    body: new Uint8Array(largeBytes).map((_, i) => (i * 7919) & 255),
    name: 'large.bin',
  });
  await api.content(id, ref);
  await api.header(id);
  await api.send(id, { to_capability: 'x', payload: { a: 1 } });
  await api.record(id, 'test.own', { n: 1 });
  return { opened, id, bundle: await exported(opened, id) };
}

/** Unpacks the files of a bundle, to change and repack them. */
export async function unpacked(bundle: Uint8Array): Promise<Map<string, Uint8Array>> {
  const zip = await openZip({ size: bundle.length, read: async (start, end) => bundle.subarray(start, end) });
  const files = new Map<string, Uint8Array>();
  for (const item of zip.items.values()) files.set(item.name, await zip.bytes(item, 1e9));
  return files;
}

export function packed(files: ReadonlyMap<string, Uint8Array>, more: Entry[] = []): Uint8Array {
  return forgeZip([...[...files].map(([name, content]) => ({ name, content, store: true })), ...more]);
}

/** Returns a bundle with one changed file and a matching manifest. */
export async function forged(
  bundle: Uint8Array,
  path: string,
  change: (content: string) => string,
): Promise<Uint8Array> {
  const files = await unpacked(bundle);
  const content = text(change(Buffer.from(files.get(path)!).toString()));
  files.set(path, content);
  const manifest = JSON.parse(Buffer.from(files.get('manifest.json')!).toString());
  for (const file of manifest.files) {
    if (file.path !== path) continue;
    file.size = content.length;
    file.sha256 = createHash('sha256').update(content).digest('hex');
  }
  if (path !== 'manifest.json') files.set('manifest.json', text(JSON.stringify(manifest)));
  return packed(files);
}
