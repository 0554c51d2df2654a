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
  /** Changes to earlier records that it accepts: `ADR-001 1f2e3d4c5b6a7988`, `ADR-002 gone`. */
  readonly accepts: readonly string[];
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
      accepts: fields.accepts?.split(',').map((item) => item.trim()) ?? [],
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
  readonly accepts?: readonly string[];
}

/** The file with one record more. What was there is a prefix of the result. */
export function appendDecision(
  text: string,
  fresh: NewDecision,
  date: string,
): { readonly text: string; readonly id: string } {
  const eol = /\r\n|\n|\r/.exec(text)?.[0] ?? '\n';
  const records = readDecisions(text);
  // The number of a record that is gone is not given to another.
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
