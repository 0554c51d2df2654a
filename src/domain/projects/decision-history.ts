import { sha256Hex } from '../../base/hash.ts';
import { isJsonObject } from '../../base/json.ts';
import { readDecisions } from './decisions.ts';
import { LOCAL_FOLDER } from './files.ts';

/**
 * decisions.md is only ever appended to. Two witnesses can tell whether it was: the commits that changed it, and on this
 * machine a seal, the digest of every record a command has seen. The seal stays out of version control, so
 * that it neither conflicts nor can be rewritten together with the file.
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

/** A number that is used twice hides a record. */
export function repeatedIds(records: readonly { readonly id: string }[]): string[] {
  const seen = new Set<string>();
  return [...new Set(records.map(({ id }) => id).filter((id) => seen.size === seen.add(id).size))];
}

export interface Seal {
  readonly records: readonly RecordDigest[];
  /** The last commit that changed the file when somebody accepted it as it was: what lies before is not looked at again. */
  readonly accepted: string | null;
}

/** An unreadable seal is no seal: it is a witness, not a part of the project. */
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

/** What was sealed stays sealed as it was; new records join. */
export function extendSeal(seal: Seal, now: readonly RecordDigest[]): Seal {
  const fresh = now.filter(({ id }) => !seal.records.some((record) => record.id === id));
  return { ...seal, records: [...seal.records, ...fresh] };
}

export function writeSeal({ records, accepted }: Seal): string {
  return `${JSON.stringify(accepted === null ? { records } : { accepted, records }, null, 2)}\n`;
}
