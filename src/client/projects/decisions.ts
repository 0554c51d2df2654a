import { sha256Hex } from '../../base/hash.ts';
import { isJsonObject, jsonObjectIn } from '../../base/json.ts';
import { type FileChange, LOCAL_FOLDER } from './files.ts';
import { nextId } from './todos.ts';

export type Decision = Readonly<ReturnType<typeof readDecisions>[number]>;

const HEADING = /^#{1,6}[ \t]+(ADR-(\d{1,9}))[ \t]*[:.–—-]?[ \t]*(.*)$/i;

/** Parses the records of decisions.md. Ignores code fences and comments. */
export function readDecisions(text: string) {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  const starts: { line: number; id: string; title: string }[] = [];
  for (const { line, number } of openLines(lines)) {
    const found = HEADING.exec(line);
    if (found)
      starts.push({ line: number, id: `ADR-${found[2]!.padStart(3, '0')}`, title: found[3]!.trim() });
  }
  const records = starts.map(({ line, id, title }, index) => {
    const body = lines.slice(line + 1, starts[index + 1]?.line ?? lines.length);
    const fields = readFields(body);
    return {
      /** Id such as `ADR-001`. */
      id,
      title,
      date: fields.date ?? null,
      status: fields.status ?? '',
      context: fields.context ?? '',
      decision: fields.decision ?? '',
      /** Ids of the records that this record replaces. */
      supersedes: (fields.supersedes?.match(/ADR-\d+/gi) ?? []).map((other) => other.toUpperCase()),
      /**
       * Entries of the field `Accepts`, with which this record accepts changes to earlier records. An entry
       * is an id with the digest of the changed record, or with `gone` for a deleted record: `ADR-001
       * 1f2e3d4c5b6a7988`, `ADR-002 gone`.
       */
      accepts: fields.accepts?.split(',').map((item) => item.trim()) ?? [],
      /** Line in decisions.md, counted from 1. */
      line: line + 1,
      /** Full text of the record. */
      text: [lines[line]!, ...body].join('\n'),
    };
  });
  const replaced = new Set(records.flatMap((record) => record.supersedes));
  return records.map((record) => ({
    ...record,
    /** True if another record replaces this one, or if its own status begins with `superseded`. */
    superseded: replaced.has(record.id) || /^superseded/i.test(record.status),
  }));
}

/** Yields the lines that are not in code fences or comments, each with its index. */
function* openLines(lines: readonly string[]): Generator<{ line: string; number: number }> {
  let fence: string | null = null;
  let comment = false;
  for (const [number, line] of lines.entries()) {
    const marks = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== null) {
      if (marks?.startsWith(fence)) fence = null;
    } else if (comment) {
      comment = !line.includes('-->');
    } else if (marks) {
      fence = marks;
    } else {
      yield { line, number };
      comment = line.lastIndexOf('<!--') > line.lastIndexOf('-->');
    }
  }
}

const FIELD = /^[-*][ \t]+(?:\*\*|__)?([A-Za-z][\w -]{0,30}?)(?:\*\*|__)?:(?:\*\*|__)?[ \t]*(.*)$/;

/** Parses fields such as `- Date: …`, in bold or not. An indented line continues the field above it. */
function readFields(lines: readonly string[]): { [name: string]: string } {
  const fields: { [name: string]: string } = {};
  let name: string | null = null;
  for (const { line } of openLines(lines)) {
    const found = FIELD.exec(line);
    if (found) {
      name = found[1]!.trim().toLowerCase();
      fields[name] = found[2]!.trim();
    } else if (name !== null && /^[ \t]+\S/.test(line)) {
      fields[name] = `${fields[name]} ${line.trim()}`.trim();
    } else name = null;
  }
  return fields;
}

export interface NewDecision {
  readonly title: string;
  readonly context: string;
  readonly decision: string;
  readonly consequences: string;
  readonly status?: string;
  readonly supersedes?: readonly string[];
  readonly accepts?: readonly string[];
}

/** Appends a record. The old text stays unchanged at the beginning of the result. */
export function appendDecision(text: string, fresh: NewDecision, date: string) {
  const eol = /\r\n|\n|\r/.exec(text)?.[0] ?? '\n';
  const records = readDecisions(text);
  // The new number must also be higher than those of deleted records, so that no number is used twice.
  const gone = [...records, fresh].flatMap(({ accepts = [] }) => accepts.map((item) => item.split(' ')[0]!));
  const id = nextId('ADR', [...records, ...gone.map((number) => ({ id: number }))]);
  const lines = [
    `## ${id}: ${oneLine(fresh.title)}`,
    `- Date: ${date}`,
    `- Status: ${oneLine(fresh.status ?? 'Accepted')}`,
    ...(fresh.supersedes?.length ? [`- Supersedes: ${fresh.supersedes.join(', ')}`] : []),
    ...(fresh.accepts?.length ? [`- Accepts: ${fresh.accepts.join(', ')}`] : []),
    `- Context: ${indented(fresh.context)}`,
    `- Decision: ${indented(fresh.decision)}`,
    `- Consequences: ${indented(fresh.consequences)}`,
  ];
  const record = lines.join('\n').replaceAll('\n', eol) + eol;
  // Put one blank line between records, no matter how the file ends.
  const ends = /(?:\r\n|\n|\r)*$/.exec(text)![0].replaceAll('\r\n', '\n').length;
  const gap = text.trim() === '' ? '' : eol.repeat(Math.max(0, 2 - ends));
  return { id, text: text + gap + record };
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Indents all lines after the first one, so that none of them can start a new record. */
function indented(text: string): string {
  return text
    .trim()
    .split(/\r\n|\n|\r/)
    .map((line) => line.trim())
    .filter((line, index) => line !== '' || index === 0)
    .join('\n  ');
}

/**
 * Path of the seal: a file with the digest of every record that a relay command has read. decisions.md is
 * append-only, so no record may change after it was written. The check compares the records with the commits of
 * decisions.md. Without commits, it compares them with the seal.
 */
export const SEAL_FILE = `${LOCAL_FOLDER}/decisions.json`;

interface RecordDigest {
  readonly id: string;
  readonly sha256: string;
  /**
   * Digest of the record with the numbers of decisions and todos left out. If a merge gave the record a new
   * number, this digest still identifies it. Absent in old seals.
   */
  readonly unnumbered?: string;
}

/** Computes the digests of all records. Ignores line ends and trailing white space. */
export function digestDecisions(text: string): Promise<(RecordDigest & { readonly unnumbered: string })[]> {
  return Promise.all(
    readDecisions(text).map(async ({ id, text: record }) => {
      const plain = record.replace(/[ \t]+$/gm, '').trim();
      const unnumbered = plain.replace(/\b(ADR|TODO)-\d+\b/gi, '$1');
      return { id, sha256: await sha256Hex(plain), unnumbered: await sha256Hex(unnumbered) };
    }),
  );
}

/** A change to an earlier record, such as `ADR-002 is gone in commit 012345678`. */
export interface Rewrite {
  readonly id: string;
  readonly what: string;
  /** Hash of a commit that contains the original text. Null if only the seal knows the record. */
  readonly original: string | null;
}

/**
 * Finds records that were changed or deleted after they were written. It goes through the commits, oldest
 * first, and then looks at the current text `now`. A record that was changed and later restored is not
 * reported.
 */
export async function rewrittenSinceCommits(changes: readonly FileChange[], now: string): Promise<Rewrite[]> {
  const read = memoize(digestDecisions);
  const written = new Map<string, { readonly record: RecordDigest; readonly commit: string }>();
  const idsBefore = new Set<string>();
  const lostIn = new Map<string, string>();
  for (const { commit, before, after } of changes) {
    const earlier = await Promise.all(before.map(read));
    const later = await read(after);
    // Also look at the texts before the commit. They may contain records that are older than all commits in
    // `changes`.
    for (const records of [...earlier, later]) {
      for (const record of records) {
        const isNew = records === later && !earlier.some((each) => each.some(({ id }) => id === record.id));
        const key = `${record.id} ${record.sha256}`;
        if ((isNew || !idsBefore.has(record.id)) && !written.has(key)) written.set(key, { record, commit });
        idsBefore.add(record.id);
      }
    }
    for (const [key, { record }] of written) {
      if (isUnchanged(record, later)) lostIn.delete(key);
      else if (earlier.some((each) => isUnchanged(record, each)))
        lostIn.set(key, `in commit ${commit.slice(0, 9)}`);
    }
  }
  const current = await read(now);
  return [...written].flatMap(([key, { record, commit }]) => {
    if (isUnchanged(record, current)) return [];
    const how = current.some(({ id }) => id === record.id) ? 'was changed' : 'is gone';
    const what = `${record.id} ${how} ${lostIn.get(key) ?? 'since the last commit'}`;
    return [{ id: record.id, what, original: commit }];
  });
}

/** Returns whether `records` contains this record unchanged. A record with a new number counts as unchanged. */
function isUnchanged(record: RecordDigest, records: readonly RecordDigest[]): boolean {
  return records.some(({ id, sha256, unnumbered }) =>
    id === record.id
      ? sha256 === record.sha256
      : unnumbered !== undefined && unnumbered === record.unnumbered,
  );
}

/**
 * Returns the ids of the records whose change was accepted: an `Accepts` entry has the digest of the record's
 * current text.
 */
export async function acceptedRecords(text: string): Promise<ReadonlySet<string>> {
  const now = acceptsEntries(await digestDecisions(text));
  const accepted = readDecisions(text).flatMap(({ accepts }) => accepts);
  const ids = accepted.map((item) => item.split(' ')[0]!);
  return new Set(ids.filter((id) => accepted.includes(now(id))));
}

/** Returns a function that builds the `Accepts` entry for the current text of a record. */
export function acceptsEntries(records: readonly RecordDigest[]): (id: string) => string {
  return (id) => {
    const record = records.find((each) => each.id === id);
    return `${id} ${record ? record.sha256.slice(0, 16) : 'gone'}`;
  };
}

/** Returns the ids that occur more than once. */
export function repeatedIds(records: readonly { readonly id: string }[]): string[] {
  const seen = new Set<string>();
  return [...new Set(records.map(({ id }) => id).filter((id) => seen.size === seen.add(id).size))];
}

/**
 * Compares the records with the seal and returns the changes. If records were only appended, there are none.
 */
export function rewrittenSinceSeal(seal: readonly RecordDigest[], now: readonly RecordDigest[]): Rewrite[] {
  const rewrites: Rewrite[] = [];
  const say = (id: string, how: string) =>
    void rewrites.push({ id, what: `${id} ${how} since a relay command last read it`, original: null });
  let after = -1;
  for (const record of seal) {
    const { id, sha256 } = record;
    const at = now.findIndex((other) => other.id === id);
    const whole = now.findIndex((other) => other.id === id && other.sha256 === sha256);
    if (whole < 0 && isUnchanged(record, now)) continue;
    if (at < 0) say(id, 'is gone');
    else if (whole < 0) say(id, 'was changed');
    else if (whole < after) say(id, 'was moved');
    else after = whole;
  }
  return rewrites;
}

/** Parses a seal. If it is unreadable, it counts as empty, so that a damaged seal never stops a command. */
export function readSeal(text: string | undefined): RecordDigest[] {
  const records = jsonObjectIn(text)?.records;
  return (Array.isArray(records) ? records : []).filter(
    (record): record is { id: string; sha256: string; unnumbered?: string } =>
      isJsonObject(record) && typeof record.id === 'string' && typeof record.sha256 === 'string',
  );
}

/** Adds the digests of new records to the seal. Digests that are already in the seal stay. */
export function extendSeal(text: string | undefined, now: readonly RecordDigest[]): string {
  const seal = readSeal(text);
  const fresh = now.filter(({ id }) => !seal.some((record) => record.id === id));
  return `${JSON.stringify({ records: [...seal, ...fresh] }, null, 2)}\n`;
}

function memoize<T>(work: (text: string) => Promise<T>): (text: string) => Promise<T> {
  const done = new Map<string, Promise<T>>();
  return (text) => {
    const result = done.get(text) ?? work(text);
    done.set(text, result);
    return result;
  };
}
