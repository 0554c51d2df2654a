import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../base/errors.ts';
import { PART_CHARS, PART_LINE_CHARS } from '../../base/limits.ts';
import { takeLines } from './take-part.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}`).join('\n');

/** Returns a stream that yields one chunk per read, and counts the reads. */
function counted(chunks: Uint8Array[]): {
  body: ReadableStream<Uint8Array>;
  state: { read: number; cancelled: boolean };
} {
  const state = { read: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (state.read === chunks.length) controller.close();
        else controller.enqueue(chunks[state.read++]!);
      },
      cancel() {
        state.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, state };
}

test('a range is returned with its name', async () => {
  const part = await takeLines(bytes(numbered(50)), '10-12');
  assert.deepEqual(part, {
    text: 'line 10\nline 11\nline 12',
    about: 'lines 10-12; more follow',
    truncated: false,
  });
});

test('an open range reports the number of lines', async () => {
  assert.equal((await takeLines(bytes(numbered(50)), '49-')).about, 'lines 49-50 of 50');
  assert.equal((await takeLines(bytes(numbered(50)), '45-90')).about, 'lines 45-50 of 50');
  assert.deepEqual(await takeLines(bytes(numbered(50)), '-2'), {
    text: 'line 49\nline 50',
    about: 'lines 49-50 of 50',
    truncated: false,
  });
  assert.equal((await takeLines(bytes('only'), '-20')).text, 'only');
  assert.equal((await takeLines(bytes(numbered(3)), '3')).about, 'line 3 of 3');
});

test('a line end at the end of the text makes no extra empty line', async () => {
  assert.equal((await takeLines(bytes('a\nb\n'), '1-')).about, 'lines 1-2 of 2');
  assert.equal((await takeLines(bytes('a\nb\n\n'), '1-')).about, 'lines 1-3 of 3');
});

test('Windows line ends and a byte order mark are not part of a line', async () => {
  assert.equal((await takeLines(bytes('\ufeffone\r\ntwo\r\n'), '1-')).text, 'one\ntwo');
});

test('a stream is read only to the end of the range, then closed', async () => {
  const { body, state } = counted(Array.from({ length: 100 }, (_, i) => bytes(`line ${i + 1}\n`)));
  assert.equal((await takeLines(body, '2-3')).text, 'line 2\nline 3');
  assert.ok(state.read <= 5, `${state.read} chunks read`);
  assert.equal(state.cancelled, true);
});

test('chunks may end in the middle of a character or line', async () => {
  const all = bytes('héllo 東京\r\n😀 wörld\nlast');
  for (let size = 1; size <= 7; size++) {
    const chunks: Uint8Array[] = [];
    for (let i = 0; i < all.length; i += size) chunks.push(all.subarray(i, i + size));
    const part = await takeLines(counted(chunks).body, '1-');
    assert.equal(part.text, 'héllo 東京\n😀 wörld\nlast');
  }
});

test('bytes that are not UTF-8 are rejected', async () => {
  for (const body of [new Uint8Array([0xff, 0xfe, 0]), new Uint8Array([0x61, 0xc3])]) {
    await assert.rejects(takeLines(body, '1-'), (error) => isRelayError(error, 'not_text'));
  }
});

test('a range after the end is rejected with the number of lines', async () => {
  await assert.rejects(takeLines(bytes(numbered(12)), '13-20'), (error) => {
    return isRelayError(error, 'bad_part') && error.hint === 'There are 12 lines.';
  });
});

test('a very long line is cut between characters and marked', async () => {
  const long = `x${'😀'.repeat(PART_LINE_CHARS)}`;
  const part = await takeLines(bytes(`${long}\nshort`), '1-');
  const [first, second] = part.text.split('\n');
  assert.equal(first!.length, PART_LINE_CHARS - 1 + ' […]'.length);
  assert.ok(first!.endsWith('😀 […]'));
  assert.equal(second, 'short');
  assert.equal(part.truncated, true);
  assert.equal(part.about, 'lines 1-2 of 2; long lines are cut and marked […]');
});

test('a part that is too large ends at a line and says where to continue', async () => {
  const line = 'y'.repeat(999);
  const body = bytes(`${line}\n`.repeat(3000));
  const fit = Math.floor(PART_CHARS / 1000);
  const front = await takeLines(body, '1-');
  assert.equal(front.text.length, fit * 1000 - 1);
  assert.equal(front.truncated, true);
  assert.equal(
    front.about,
    `lines 1-${fit}; cut at ${PART_CHARS} characters; continue with lines=${fit + 1}-`,
  );
  const back = await takeLines(body, '-2500');
  assert.equal(back.text.length, fit * 1000 - 1);
  assert.equal(
    back.about,
    `lines ${3001 - fit}-3000 of 3000; cut at ${PART_CHARS} characters; for earlier lines use lines=501-${3000 - fit}`,
  );
});
