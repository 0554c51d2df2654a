import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Capture } from './capture.ts';

const home = mkdtempSync(join(tmpdir(), 'relay-capture-'));
after(() => rmSync(home, { recursive: true, force: true }));

/** Passes chunks through a capture with a small token budget. */
async function captured(
  chunks: readonly (string | Uint8Array)[],
  o: { maxBytes?: number; fails?: boolean; home?: string } = {},
) {
  const printed: Uint8Array[] = [];
  const warnings: string[] = [];
  const saved: { cut: number | undefined; text: string }[] = [];
  const capture = new Capture({
    home: o.home ?? home,
    command: 'test',
    budget: 300,
    maxBytes: o.maxBytes ?? 1024 * 1024,
    live: false,
    print: (data) => void printed.push(data),
    printLast: (text) => void printed.push(Buffer.from(text)),
    isPulled: () => false,
    save: async (spool, _, cut) => {
      if (o.fails) throw new Error('no space left');
      saved.push({ cut, text: Buffer.concat([...spool.chunks()]).toString('latin1') });
      return '[last line]';
    },
    warn: (what) => void warnings.push(what),
  });
  for (const chunk of chunks) {
    await capture.write(typeof chunk === 'string' ? Buffer.from(chunk, 'latin1') : chunk);
    capture.flush();
  }
  await capture.end();
  assert.deepEqual(
    readdirSync(home).flatMap((name) => readdirSync(join(home, name))),
    [],
  );
  return { printed: Buffer.concat(printed).toString('latin1'), warnings, saved };
}

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `line ${from + i}\n`).join('');

test('above the limit, whole lines are kept and the next line is named', async () => {
  const { saved, printed } = await captured([lines(1, 200), lines(201, 400), lines(401, 600)], {
    maxBytes: 2_000,
  });
  const [{ text, cut } = { text: '', cut: 0 }] = saved;
  assert.ok(text.length <= 2_000 && text.endsWith('\n'));
  assert.equal(text, lines(1, cut! - 1));
  assert.match(printed, /600 line 600\n\[last line\]\n$/);
});

test('a line that is longer than the limit is cut at the limit', async () => {
  const { saved } = await captured(['ab '.repeat(900), 'cd '.repeat(900)], { maxBytes: 1_000 });
  assert.equal(saved[0]!.text, 'ab '.repeat(334).slice(0, 1_000));
  assert.equal(saved[0]!.cut, 1);
});

test('if storing fails, everything is printed from the spool with one warning', async () => {
  const { printed, warnings, saved } = await captured([lines(1, 200), lines(201, 400)], { fails: true });
  assert.equal(printed, lines(1, 400));
  assert.equal(warnings.length, 1);
  assert.deepEqual(saved, []);
});

test('if nothing can be written to the home, everything is printed with one warning', async () => {
  const file = join(home, '../relay-capture-file');
  writeFileSync(file, '');
  after(() => rmSync(file));
  const { printed, warnings } = await captured([lines(1, 200), lines(201, 400)], { home: file });
  assert.equal(printed, lines(1, 400));
  assert.equal(warnings.length, 1);
});

test('an output of more bytes than the budget that fits is printed unchanged from the spool', async () => {
  const { printed, saved } = await captured(['word '.repeat(100), '\xff\r\n', 'word '.repeat(100)]);
  assert.equal(printed, `${'word '.repeat(100)}\xff\r\n${'word '.repeat(100)}`);
  assert.deepEqual(saved, []);
});

test('random outputs are stored as they came', async () => {
  let seed = 41;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  };
  for (let round = 0; round < 20; round++) {
    const chunks = Array.from({ length: 1 + random(20) }, () =>
      Uint8Array.from({ length: 1 + random(400) }, () =>
        round % 2 ? random(256) : [10, 13, 27, 65, 32][random(5)]!,
      ),
    );
    const whole = Buffer.concat(chunks).toString('latin1');
    const { printed, saved } = await captured(chunks);
    assert.equal(saved[0]?.text ?? printed, whole);
  }
});
