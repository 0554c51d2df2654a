import { createHash, hash } from 'node:crypto';
import type { OpenStore } from '../../src/app/store/engine-copy.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { ARRIVING_KEY } from '../../src/kernel/moving.ts';
import { patterned } from '../conformance/bodies.ts';

/** Returns the whole content of a store in comparable form. */
export async function readWholeStore({ moving, blobs }: Engine): Promise<{ [name: string]: unknown }> {
  const contents: { [name: string]: unknown } = {};
  for await (const { key, ...record } of moving!.exportRecords())
    if (key !== ARRIVING_KEY) contents[`record ${key}`] = record;
  for await (const { key, ...document } of moving!.exportDocuments()) contents[`document ${key}`] = document;
  for await (const { stream, ...log } of moving!.exportLogs()) {
    const entries = [];
    for await (const entry of moving!.exportEntries(stream, 0)) entries.push(entry);
    contents[`log ${stream}`] = { ...log, entries };
  }
  for await (const { key, ...blob } of moving!.exportBlobs()) {
    const sha256 = createHash('sha256');
    const body = (await blobs.get(key))!.body;
    if (body instanceof Uint8Array) sha256.update(body);
    else for await (const piece of body) sha256.update(piece);
    contents[`blob ${key}`] = { ...blob, read: sha256.digest('hex') };
  }
  return contents;
}

/** Writes data of every kind. `scale` decides how long a copy takes. */
export async function fill({ blobs, records, logs, index }: Engine, o: { scale: number }): Promise<void> {
  const soon = Date.now() + 3_600_000;
  for (let i = 0; i < o.scale; i++) {
    await Promise.all([
      records.put(`ten.t/r/${i}`, { n: i, text: 'x'.repeat(i % 300) }, i % 3 ? {} : { expiresAt: soon + i }),
      records.add('ten.t/count', i),
      blobs.put(
        `ptr.${i}/body`,
        patterned(i % 50 === 0 ? 1_500_000 : 100 + i, i + 1),
        i % 2 ? {} : { expiresAt: soon },
      ),
      logs.append(`chn.t.${i % 7}`, { n: i }, i % 2 ? {} : { id: `id-${i}` }),
      logs.append('thr.one', ['event', i]),
      ...(i % 10 ? [] : [index.put(`thr.one/${i}`, `a text about ${hash('sha1', String(i))} 名前`, { i })]),
    ]);
  }
  const { first } = await logs.info('chn.t.1');
  await logs.trim('chn.t.1', { before: first + 40 });
  await logs.append('chn.t.gone', 'gone');
  await logs.drop('chn.t.gone');
  await records.delete('ten.t/r/1');
}

export function opened(engine: OpenStore['engine'], name: string): OpenStore {
  return { engine, name, home: null, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

export const SILENT = { step: () => {}, add: () => {} };
