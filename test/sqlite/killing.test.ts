import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { startChild } from './child.ts';
import { temporaryHome } from './home.ts';

for (const role of ['cli', 'server'] as const) {
  test(`kill -9 of a ${role} during a thousand acknowledged writes loses none of them`, async (t) => {
    const home = temporaryHome(t);
    const child = startChild('acknowledge', { home, role });
    const acknowledged: { i: number; seq: number }[] = [];
    // Read lines until 1020 writes are acknowledged: each line means three writes.
    while (acknowledged.length < 340) acknowledged.push(await child.next());
    child.process.kill('SIGKILL');
    await child.ended();

    const engine = await openSqlite({ home });
    const { entries } = await engine.logs.read('ack.log', { limit: 1000 });
    const bySeq = new Map(entries.map((entry) => [entry.seq, entry.data]));
    for (const { i, seq } of acknowledged) {
      assert.equal(bySeq.get(seq), i, `entry ${seq}`);
      const record = (await engine.records.get(`ack.record/${i}`))?.value as { size: number } | undefined;
      assert.ok(record, `record ${i}`);
      const blob = await engine.blobs.get(`ack.blob/${i}`);
      const bytes = new Uint8Array(await new Response(blob?.body as BodyInit).arrayBuffer());
      assert.equal(bytes.length, record.size, `blob ${i}`);
      assert.ok(bytes.every((byte) => byte === (record.size > 3000 ? 9 : 7)));
    }
    assert.ok((await engine.logs.append('ack.log', 'after'))! > entries.at(-1)!.seq, 'it goes on');
    await engine[Symbol.asyncDispose]();
  });
}
