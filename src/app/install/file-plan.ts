import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { JsonSyntaxError } from '../../formats/json-syntax.ts';
import type { Part, Target } from './clients.ts';
import { addEntries, type Entry, Occupied, presentContainers, removeEntries } from './entries.ts';
import { digest, type Receipt, type Receipts } from './receipts.ts';
import { addTomlServer, removeTomlServer, TomlSyntax } from './toml-server.ts';

/** A file before and after the change; null where there is no file. */
export interface FilePlan {
  readonly path: string;
  readonly parts: readonly Part[];
  readonly before: string | null;
  readonly after: string | null;
  /** What to give back when it is removed again. */
  readonly original: string | null;
  readonly keep: readonly string[];
  /** Only some of our entries are removed, so that others stay in the file. */
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

/** A file that cannot be read, or has another's entry in our place, stops the installation before anything is written. */
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

/** The skill as it is shipped: path below its folder → text. */
export type SkillFiles = ReadonlyMap<string, string>;

export async function readSkill(folder: string): Promise<SkillFiles> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = new Map<string, string>();
  for (const entry of entries.filter((found) => found.isFile() && !/\.pyc$/.test(found.name))) {
    const path = join(entry.parentPath, entry.name);
    files.set(path.slice(folder.length + 1).replaceAll('\\', '/'), await readFile(path, 'utf8'));
  }
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** How a skill of ours is told from another one of the same name. */
const OURS = /^ {2}source: contextrelay$/m;

export interface SkillPlan {
  readonly files: readonly FilePlan[];
  /** Files that somebody changed: they are left alone, and said. */
  readonly edited: readonly string[];
}

/** Writes every file of the skill, but for those that somebody changed since we wrote them. */
export async function planSkillAdd(
  folder: string,
  shipped: SkillFiles,
  receipts: Receipts,
): Promise<SkillPlan> {
  const present = await textOf(join(folder, 'SKILL.md'));
  if (present !== null && !OURS.test(present)) {
    throw new RelayError('conflict', {
      what: `${folder} was left as it is: another skill has that name. Nothing was changed anywhere.`,
      hint: 'Move that folder away, or install the other parts alone with --only.',
    });
  }
  return planSkill(folder, shipped, receipts, ({ before, text, receipt }) => {
    const own = before === null || receipt === null || isOwn(before, text, receipt);
    return own ? { after: text, original: receipt?.original ?? null } : 'edited';
  });
}

/** Gives back what was there before the files of the skill, but for those that somebody changed. */
export function planSkillRemove(folder: string, shipped: SkillFiles, receipts: Receipts): Promise<SkillPlan> {
  return planSkill(folder, shipped, receipts, ({ before, text, receipt }) => {
    if (before === null) return 'absent';
    return isOwn(before, text, receipt) ? { after: receipt?.original ?? null, original: null } : 'edited';
  });
}

interface SkillFile {
  readonly before: string | null;
  /** As it is shipped. */
  readonly text: string;
  readonly receipt: Receipt | null;
}

function isOwn(before: string, text: string, receipt: Receipt | null): boolean {
  return before === text || receipt?.after === digest(before);
}

async function planSkill(
  folder: string,
  shipped: SkillFiles,
  receipts: Receipts,
  decide: (file: SkillFile) => Pick<FilePlan, 'after' | 'original'> | 'edited' | 'absent',
): Promise<SkillPlan> {
  const files: FilePlan[] = [];
  const edited: string[] = [];
  for (const [name, text] of shipped) {
    const path = join(folder, name);
    const before = await textOf(path);
    const decided = decide({ before, text, receipt: await receipts.get(path) });
    if (decided === 'edited') edited.push(path);
    else if (decided !== 'absent') files.push({ path, parts: ['skill'], before, keep: [], ...decided });
  }
  return { files, edited };
}

async function textOf(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });
}
