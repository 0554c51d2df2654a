import { ARTIFACT_BYTES, INDEX_SECTION_BYTES } from '../../base/limits.ts';

/** How far beyond its size a section may reach for the end of a line. */
const LOOK_BYTES = 8 * 1024;
/** Sections that are read at once. */
const WINDOW = 16;

const [LINE_FEED, SPACE] = [0x0a, 0x20];

/** A stretch of a text, of whole lines where these are not too long. */
export interface Section {
  readonly number: number;
  readonly text: string;
  /** The line of the text on which it begins, counted from 1. */
  readonly line: number;
}

/** A place in a text: the byte behind a section, and the line there. */
export interface Place {
  readonly done: number;
  readonly line: number;
}

export const TEXT_START: Place = { done: 0, line: 1 };

/** How many sections a text of this size has. */
export function sectionCount(size: number): number {
  return Math.max(1, Math.ceil(Math.min(size, ARTIFACT_BYTES) / INDEX_SECTION_BYTES));
}

/**
 * The next few sections behind a place, and the place behind them; none where `most` bytes or all of the text are done. Section
 * n begins at the first line that begins at or behind n times the size of a section, so each can be told from the size alone.
 * Throws a TypeError where the bytes are no UTF-8.
 */
export async function nextSections(
  read: (start: number, end: number) => Promise<Uint8Array>,
  { size, most }: { readonly size: number; readonly most: number },
  { done, line }: Place,
): Promise<{ readonly sections: Section[]; readonly place: Place }> {
  const first = Math.floor(done / INDEX_SECTION_BYTES);
  const last = Math.min(first + WINDOW, sectionCount(Math.min(size, most)));
  if (done >= size || first >= last) return { sections: [], place: { done, line } };
  const end = Math.min(size, last * INDEX_SECTION_BYTES + LOOK_BYTES);
  const bytes = await read(done, end);
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const sections: Section[] = [];
  let [start, lines] = [0, line];
  for (let number = first; number < last; number++) {
    const to = (number + 1) * INDEX_SECTION_BYTES - done;
    const stop = to + done >= size ? bytes.length : cutBehind(bytes, to);
    const part = bytes.subarray(start, stop);
    sections.push({ number, text: decoder.decode(part), line: lines });
    for (let at = part.indexOf(LINE_FEED); at >= 0; at = part.indexOf(LINE_FEED, at + 1)) lines++;
    start = stop;
  }
  return { sections, place: { done: done + start, line: lines } };
}

/** The first line, else the first word, else the first letter that begins at `at` or behind it. */
function cutBehind(bytes: Uint8Array, at: number): number {
  const near = bytes.subarray(at - 1, at + LOOK_BYTES);
  for (const end of [LINE_FEED, SPACE]) {
    const found = near.indexOf(end);
    if (found >= 0) return at + found;
  }
  let cut = at;
  while (cut < bytes.length && (bytes[cut]! & 0xc0) === 0x80) cut++;
  return cut;
}
