import { RelayError } from '../../base/errors.ts';
import { JsonSyntaxError } from '../../base/json-syntax.ts';
import type { Part, Target } from './clients.ts';
import { addEntries, type Entry, Occupied, presentContainers, removeEntries } from './entries.ts';
import { digest, type Receipt } from './receipts.ts';
import { addTomlServer, removeTomlServer, TomlSyntax } from './toml-server.ts';

/** A settings file, as it is and as it shall be. Null is: no such file. */
export interface FilePlan {
  readonly path: string;
  readonly parts: readonly Part[];
  readonly before: string | null;
  readonly after: string | null;
  /** What to give back when it is removed again. */
  readonly original: string | null;
  readonly keep: readonly string[];
  /** Something of ours stays in it. */
  readonly partial?: boolean;
}

type SettingsTarget = Exclude<Target, { kind: 'skill' }>;

export function planAdd(
  target: SettingsTarget,
  path: string,
  before: string | null,
  receipt: Receipt | null,
): FilePlan {
  return guarded(path, () => {
    const after = add(target, before ?? '');
    const untouched = receipt !== null && receipt.after === digest(before ?? '');
    // Somebody wrote into the file since: giving back our old copy would take that away again.
    const original = untouched
      ? receipt.original
      : before === null
        ? null
        : remove(target, before, receipt?.keep);
    const keep =
      receipt?.keep ?? (target.kind === 'json' ? presentContainers(before ?? '', target.entries) : []);
    return { path, parts: target.parts, before, after, original, keep };
  });
}

/** With `partial`, something of ours stays in the file, so that the old copy cannot be given back. */
export function planRemove(
  target: SettingsTarget,
  path: string,
  before: string | null,
  receipt: Receipt | null,
  partial = false,
): FilePlan {
  return guarded(path, () => {
    const plan = {
      path,
      parts: target.parts,
      before,
      original: receipt?.original ?? null,
      keep: receipt?.keep ?? [],
      partial,
    };
    if (before === null) return { ...plan, after: null };
    if (!partial && receipt !== null && receipt.after === digest(before))
      return { ...plan, after: receipt.original };
    const after = remove(target, before, receipt?.keep);
    const nothingLeft = receipt?.original === null && /^\s*(?:\{\s*\})?\s*$/.test(after);
    return { ...plan, after: nothingLeft ? null : after };
  });
}

function add(target: SettingsTarget, text: string): string {
  return target.kind === 'toml'
    ? addTomlServer(text, target.server)
    : addEntries(text, target.entries, target.comments);
}

function remove(target: SettingsTarget, text: string, keep: readonly string[] | undefined): string {
  if (target.kind === 'toml') return removeTomlServer(text);
  return text.trim() === '' ? text : removeEntries(text, target.entries as readonly Entry[], keep);
}

/** What is broken or taken stops the whole installation, before anything is written. */
function guarded<T>(file: string, plan: () => T): T {
  try {
    return plan();
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      throw new RelayError('bad_file', { file, what: error.what, line: error.line, column: error.column });
    }
    if (error instanceof TomlSyntax) {
      throw new RelayError('bad_file', { file, what: error.message, line: error.line, column: error.column });
    }
    if (error instanceof Occupied) {
      throw new RelayError('conflict', {
        what: `${file} was left as it is: ${error.message}. Nothing was changed anywhere.`,
        hint: 'Rename or remove that entry, or install the other parts alone with --only.',
      });
    }
    throw error;
  }
}
