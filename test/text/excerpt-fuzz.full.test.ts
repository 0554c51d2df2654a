import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkExcerpt, randomOutput } from './excerpt-fuzz.ts';

test('2 000 random outputs: never a crash or a wrong line number, always within the budget', async () => {
  for (let seed = 1001; seed <= 3000; seed++) {
    const { bytes, numbered } = randomOutput(seed);
    await checkExcerpt(seed, bytes, numbered).catch((error) => {
      throw new Error(`seed ${seed}`, { cause: error });
    });
  }
});

for (const piece of ['x', '{"a":1,"b":"y"},', '\x1b[31m', '50 %\r']) {
  test(`one line of 50 MB of ${JSON.stringify(piece)}`, async () => {
    const line = Buffer.alloc(50_000_000, piece);
    const result = await checkExcerpt(
      4,
      Buffer.concat([Buffer.from('first\n'), line, Buffer.from('\nlast')]),
      false,
      300,
    );
    assert.equal(result.lines, 3);
    assert.match(result.text, /^1 first$/m);
    assert.match(result.text, /^3 last$/m);
  });
}

test('a log of 200 MB needs at most 64 MB', () => {
  const program = fileURLToPath(new URL('./excerpt-memory.ts', import.meta.url));
  const peak = (megabytes: number) =>
    JSON.parse(execFileSync(process.execPath, [program, String(megabytes)], { encoding: 'utf8' })).kib / 1024;
  const [idle, used] = [peak(0.001), peak(200)];
  assert.ok(used - idle <= 64, `${Math.round(used - idle)} MB`);
});
