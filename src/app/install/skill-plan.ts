import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import type { FilePlan } from './file-plan.ts';
import { digest, type Receipts } from './receipts.ts';

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
  const files: FilePlan[] = [];
  const edited: string[] = [];
  for (const [name, text] of shipped) {
    const path = join(folder, name);
    const before = await textOf(path);
    const receipt = await receipts.get(path);
    const own = before === null || before === text || receipt === null || receipt.after === digest(before);
    if (own)
      files.push({
        path,
        parts: ['skill'],
        before,
        after: text,
        original: receipt?.original ?? null,
        keep: [],
      });
    else edited.push(path);
  }
  return { files, edited };
}

export async function planSkillRemove(
  folder: string,
  shipped: SkillFiles,
  receipts: Receipts,
): Promise<SkillPlan> {
  const files: FilePlan[] = [];
  const edited: string[] = [];
  for (const [name, text] of shipped) {
    const path = join(folder, name);
    const before = await textOf(path);
    if (before === null) continue;
    const receipt = await receipts.get(path);
    const own = before === text || receipt?.after === digest(before);
    if (own)
      files.push({
        path,
        parts: ['skill'],
        before,
        after: receipt?.original ?? null,
        original: null,
        keep: [],
      });
    else edited.push(path);
  }
  return { files, edited };
}

async function textOf(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });
}
