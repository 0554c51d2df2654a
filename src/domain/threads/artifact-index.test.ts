import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INDEX_SECTION_BYTES } from '../../base/limits.ts';
import { nextSections, type Section, sectionCount, TEXT_START } from './artifact-index.ts';

const WHOLE = Number.POSITIVE_INFINITY;

/**
 * Reads all sections of a text as the indexer does: a few sections per call. Each call starts where the last
 * one ended.
 */
async function sectionsOf(text: string, most = WHOLE): Promise<{ sections: Section[]; done: number }> {
  const bytes = new TextEncoder().encode(text);
  const all: Section[] = [];
  for (let place = TEXT_START; ; ) {
    const read = async (start: number, end: number) => bytes.subarray(start, end);
    const { sections, place: next } = await nextSections(read, { size: bytes.length, most }, place);
    if (sections.length === 0) return { sections: all, done: place.done };
    all.push(...sections);
    place = next;
  }
}

const TEXTS = {
  empty: '',
  short: 'one line',
  lines: 'a line of some words\n'.repeat(40_000),
  'long lines': `${'word '.repeat(20_000)}\n`.repeat(8),
  'no spaces': 'x'.repeat(1_000_000),
  'no spaces, of three bytes each': '語'.repeat(300_000),
  'one line feed at the end': `${'a'.repeat(INDEX_SECTION_BYTES - 1)}\n`,
};

for (const [name, text] of Object.entries(TEXTS)) {
  test(`sections make up the whole text, and their number follows from its size: ${name}`, async () => {
    const { sections } = await sectionsOf(text);
    assert.equal(sections.map((section) => section.text).join(''), text);
    const size = new TextEncoder().encode(text).length;
    const count = text === '' ? 0 : sectionCount(size);
    assert.deepEqual(
      sections.map(({ number }) => number),
      Array.from({ length: count }, (_, i) => i),
    );
    let line = 1;
    for (const section of sections) {
      assert.equal(section.line, line);
      line += section.text.split('\n').length - 1;
    }
  });
}

test('a section ends at a line, else at a word, else at a character', async () => {
  const ends = async (text: string) =>
    (await sectionsOf(text)).sections.slice(0, -1).map((section) => section.text.at(-1));
  assert.deepEqual([...new Set(await ends(TEXTS.lines))], ['\n']);
  assert.deepEqual([...new Set(await ends(TEXTS['long lines']))].sort(), ['\n', ' ']);
  assert.deepEqual([...new Set(await ends(TEXTS['no spaces, of three bytes each']))], ['語']);
});

test('reads no more than may be indexed', async () => {
  const { sections, done } = await sectionsOf(TEXTS.lines, 4 * INDEX_SECTION_BYTES);
  assert.equal(sections.length, 4);
  assert.ok(done >= 4 * INDEX_SECTION_BYTES && done < 4 * INDEX_SECTION_BYTES + 100, String(done));
});

test('bytes that are not UTF-8 are rejected', async () => {
  const bytes = Uint8Array.of(0x61, 0xff, 0x62);
  const read = async () => bytes;
  await assert.rejects(nextSections(read, { size: 3, most: WHOLE }, TEXT_START), TypeError);
});
