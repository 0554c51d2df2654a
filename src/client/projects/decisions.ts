import { sha256Hex } from '../../base/hash.ts';
import { isJsonObject } from '../../base/json.ts';
import { LOCAL_FOLDER } from './files.ts';
import { nextId } from './todos.ts';

export interface Decision {
  /** `ADR-001`. */
  readonly id: string;
  readonly title: string;
  readonly date: string | null;
  readonly status: string;
  readonly context: string;
  readonly decision: string;
  /** What it replaces. */
  readonly supersedes: readonly string[];
  /** A later record replaces it. */
  readonly superseded: boolean;
  /** Where in decisions.md, counted from 1. */
  readonly line: number;
  /** The record as it stands there. */
  readonly text: string;
}

const HEADING = /^#{1,6}[ \t]+(ADR-(\d{1,9}))[ \t]*[:.–—-]?[ \t]*(.*)$/i;

/** Reads the records of decisions.md. What stands in code fences and comments is no record. */
export function readDecisions(text: string): Decision[] {
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
      id,
      title,
      date: fields.date ?? null,
      status: fields.status ?? '',
      context: fields.context ?? '',
      decision: fields.decision ?? '',
      supersedes: (fields.supersedes?.match(/ADR-\d+/gi) ?? []).map((other) => other.toUpperCase()),
      line: line + 1,
      text: [lines[line]!, ...body].join('\n'),
    };
  });
  const replaced = new Set(records.flatMap((record) => record.supersedes));
  return records.map((record) => ({
    ...record,
    superseded: replaced.has(record.id) || /^superseded/i.test(record.status),
  }));
}

/** Lines outside of fences and comments. */
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

/** `- Date: …`, in bold or not; what follows without a dash of its own belongs to the field above. */
function readFields(lines: readonly string[]): { [name: string]: string } {
  const fields: { [name: string]: string } = {};
  let name: string | null = null;
  for (const { line } of openLines(lines)) {
    const found = /^[-*][ \t]+(?:\*\*|__)?([A-Za-z][\w -]{0,30}?)(?:\*\*|__)?:(?:\*\*|__)?[ \t]*(.*)$/.exec(
      line,
    );
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
}

/** The file with one record more. What was there is a prefix of the result. */
export function appendDecision(
  text: string,
  fresh: NewDecision,
  date: string,
): { readonly text: string; readonly id: string } {
  const eol = /\r\n|\n|\r/.exec(text)?.[0] ?? '\n';
  const id = nextId('ADR', readDecisions(text));
  const lines = [
    `## ${id}: ${oneLine(fresh.title)}`,
    `- Date: ${date}`,
    `- Status: ${oneLine(fresh.status ?? 'Accepted')}`,
    ...(fresh.supersedes?.length ? [`- Supersedes: ${fresh.supersedes.join(', ')}`] : []),
    `- Context: ${indented(fresh.context)}`,
    `- Decision: ${indented(fresh.decision)}`,
    `- Consequences: ${indented(fresh.consequences)}`,
  ];
  const record = lines.join('\n').replaceAll('\n', eol) + eol;
  // A blank line between records, whatever the end of the file looks like.
  const ends = /(?:\r\n|\n|\r)*$/.exec(text)![0].replaceAll('\r\n', '\n').length;
  const gap = text.trim() === '' ? '' : eol.repeat(Math.max(0, 2 - ends));
  return { id, text: text + gap + record };
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Several lines stay inside their field: none of them can begin a record of its own. */
function indented(text: string): string {
  return text
    .trim()
    .split(/\r\n|\n|\r/)
    .map((line) => line.trim())
    .filter((line, index) => line !== '' || index === 0)
    .join('\n  ');
}

/**
 * decisions.md is only ever appended to. Two things show whether it was: the commits that changed it, and on this machine
 * the seal, a file with the digest of every record that a command has seen. The seal stays out of version control, so that
 * it neither conflicts in merges nor is rewritten together with decisions.md.
 */
export const SEAL_FILE = `${LOCAL_FOLDER}/decisions.json`;

export interface RecordDigest {
  readonly id: string;
  readonly sha256: string;
}

/** Line ends and white space at the end of lines are formatting, not history. */
export async function digestDecisions(text: string): Promise<RecordDigest[]> {
  const records = readDecisions(text);
  return Promise.all(
    records.map(async ({ id, text: record }) => {
      const plain = record.replace(/[ \t]+$/gm, '').trim();
      return { id, sha256: await sha256Hex(plain) };
    }),
  );
}

/** What happened to `earlier` on the way to `later`; nothing where it was only appended to. */
export function rewritten(earlier: readonly RecordDigest[], later: readonly RecordDigest[]): string[] {
  const found: string[] = [];
  let after = -1;
  for (const { id, sha256 } of earlier) {
    const at = later.findIndex((record) => record.id === id);
    const whole = later.findIndex((record) => record.id === id && record.sha256 === sha256);
    if (at < 0) found.push(`${id} is gone`);
    else if (whole < 0) found.push(`${id} was changed`);
    else if (whole < after) found.push(`${id} was moved`);
    else after = whole;
  }
  return found;
}

/** Ids that more than one record has. */
export function repeatedIds(records: readonly { readonly id: string }[]): string[] {
  const seen = new Set<string>();
  return [...new Set(records.map(({ id }) => id).filter((id) => seen.size === seen.add(id).size))];
}

export interface Seal {
  readonly records: readonly RecordDigest[];
  /** The last commit that changed the file when `check --accept` was run. Earlier commits are not checked again. */
  readonly accepted: string | null;
}

/** A seal that cannot be read counts as empty: it must not stop a command. */
export function readSeal(text: string | undefined): Seal {
  try {
    const value: unknown = JSON.parse(text ?? '');
    if (!isJsonObject(value)) return { records: [], accepted: null };
    const records = (Array.isArray(value.records) ? value.records : []).filter(
      (record): record is { id: string; sha256: string } =>
        isJsonObject(record) && typeof record.id === 'string' && typeof record.sha256 === 'string',
    );
    return { records, accepted: typeof value.accepted === 'string' ? value.accepted : null };
  } catch {
    return { records: [], accepted: null };
  }
}

/** Adds the digests of new records; those that are there stay as they are. */
export function extendSeal(seal: Seal, now: readonly RecordDigest[]): Seal {
  const fresh = now.filter(({ id }) => !seal.records.some((record) => record.id === id));
  return { ...seal, records: [...seal.records, ...fresh] };
}

export function writeSeal({ records, accepted }: Seal): string {
  return `${JSON.stringify(accepted === null ? { records } : { accepted, records }, null, 2)}\n`;
}
