import { mkdir, readFile, rm, rmdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { decodeUtf8 } from '../../base/utf8.ts';
import { writeAtomically } from '../store/atomic-file.ts';
import {
  CLIENTS,
  type Client,
  clientPlan,
  type Part,
  type Places,
  type Scope,
  type Target,
} from './clients.ts';
import {
  type FilePlan,
  planAdd,
  planRemove,
  planSkillAdd,
  planSkillRemove,
  type SkillFiles,
} from './file-plan.ts';
import type { Launcher } from './launcher.ts';
import { lineDiff } from './line-diff.ts';
import { digest, Receipts } from './receipts.ts';

export interface InstallSettings {
  readonly places: Places;
  readonly launcher: Launcher;
  /** Where receipts are kept. */
  readonly relayHome: string;
  readonly skill: SkillFiles;
}

export interface InstallRequest {
  readonly client: Client;
  readonly scope: Scope;
  readonly action: 'add' | 'remove';
  readonly only?: readonly Part[];
  /** Say what would be done, and do nothing. */
  readonly dryRun?: boolean;
}

export interface InstallReport {
  readonly client: Client;
  readonly scope: Scope;
  readonly changes: readonly Change[];
  readonly notes: readonly string[];
}

export interface Change {
  readonly path: string;
  readonly parts: readonly Part[];
  readonly what: 'same' | 'created' | 'changed' | 'deleted' | 'kept';
  readonly diff: readonly string[];
}

/** How often everything is planned again when a client writes its settings at the same moment. */
const ATTEMPTS = 5;

/** Adds or removes exactly what is ours. Everything is planned before anything is written; a problem stops all of it. */
export async function runInstall(request: InstallRequest, settings: InstallSettings): Promise<InstallReport> {
  const receipts = new Receipts(settings.relayHome);
  const { targets, notes } = clientPlan(request.client, request.scope, settings.places, settings.launcher);
  const wanted = targets.filter((target) =>
    target.parts.some((part) => request.only?.includes(part) ?? true),
  );
  let report: InstallReport | null = null;
  for (let attempt = 1; ; attempt++) {
    const { plans, told, changes } = await plan(wanted, request, settings, receipts);
    report ??= { client: request.client, scope: request.scope, notes: [...told, ...notes], changes };
    if (request.dryRun) return report;
    try {
      const emptied: string[] = [];
      for (const file of plans)
        emptied.push(...(await apply(file, request.action, receipts, settings.places)));
      // Deepest first; a folder that holds anything else stays.
      for (const folder of [...new Set(emptied)].sort((a, b) => b.length - a.length)) {
        await rmdir(folder).catch(() => receipts.passOn(folder));
      }
      return report;
    } catch (error) {
      if (!(error instanceof ChangedMeanwhile) || attempt >= ATTEMPTS) throw error;
    }
  }
}

async function plan(
  targets: readonly Target[],
  request: InstallRequest,
  settings: InstallSettings,
  receipts: Receipts,
) {
  const plans: FilePlan[] = [];
  const told: string[] = [];
  const changes: Change[] = [];
  for (const target of targets) {
    if (target.kind === 'skill') {
      const shared = request.action === 'remove' ? await otherUsers(target.folder, request, settings) : [];
      if (shared.length > 0) {
        told.push(`The skill in ${target.folder} stays: ${shared.join(', ')} use it too.`);
        continue;
      }
      const make = request.action === 'add' ? planSkillAdd : planSkillRemove;
      const { files, edited } = await make(target.folder, settings.skill, receipts);
      plans.push(...files);
      told.push(...edited.map((path) => `${path} was changed by somebody and is left alone.`));
      changes.push(...edited.map((path) => ({ path, parts: target.parts, what: 'kept' as const, diff: [] })));
      continue;
    }
    const file =
      target.kind === 'json' && target.instead && (await exists(target.instead))
        ? target.instead
        : target.file;
    const narrowed = narrow(target, request.only);
    const [before, receipt] = [await readSettings(file), await receipts.get(file)];
    const partial = narrowed !== target;
    plans.push(
      request.action === 'add'
        ? planAdd(narrowed, file, before, receipt)
        : planRemove(narrowed, file, before, receipt, partial),
    );
  }
  changes.push(...plans.map(describe));
  return { plans, told, changes };
}

/** `--only mcp` of a file that holds hooks too. */
function narrow<T extends Exclude<Target, { kind: 'skill' }>>(
  target: T,
  only: readonly Part[] | undefined,
): T {
  if (target.kind !== 'json' || !only || target.parts.every((part) => only.includes(part))) return target;
  return { ...target, entries: target.entries.filter(({ kind }) => only.includes(kind)) };
}

function describe({ path, parts, before, after }: FilePlan): Change {
  const what =
    before === after ? 'same' : before === null ? 'created' : after === null ? 'deleted' : 'changed';
  return { path, parts, what, diff: lineDiff(before ?? '', after ?? '') };
}

/** Other clients that are set up and find the skill in the same folder. */
async function otherUsers(
  folder: string,
  request: InstallRequest,
  settings: InstallSettings,
): Promise<Client[]> {
  const users: Client[] = [];
  for (const client of CLIENTS) {
    if (client === request.client) continue;
    const { targets } = clientPlan(client, request.scope, settings.places, settings.launcher);
    if (!targets.some((target) => target.kind === 'skill' && target.folder === folder)) continue;
    for (const target of targets) {
      if (target.kind === 'skill') continue;
      const before = await readSettings(target.file).catch(() => null);
      const installed =
        before !== null && safely(() => planRemove(target, target.file, before, null).after !== before);
      if (installed && !users.includes(client)) users.push(client);
    }
  }
  return users;
}

class ChangedMeanwhile extends RelayError {
  constructor(path: string) {
    super('conflict', {
      what: `${path} is being written by another program.`,
      hint: 'Close it and try again.',
    });
  }
}

/** Returns the folders that may be empty now. */
async function apply(
  file: FilePlan,
  action: 'add' | 'remove',
  receipts: Receipts,
  places: Places,
): Promise<string[]> {
  const { path, before, after, original, keep } = file;
  const receipt = await receipts.get(path);
  const unchanged = async () => {
    if ((await readSettings(path)) !== before) throw new ChangedMeanwhile(path);
  };
  const note = (text: string, folders: readonly string[]) =>
    receipts.put({
      path,
      original,
      after: digest(text),
      folders: [...(receipt?.folders ?? []), ...folders],
      keep,
    });
  if (after === null) {
    await unchanged();
    if (before !== null) await rm(path);
  } else if (after !== before) {
    const folders = await missingFolders(dirname(path), places);
    await mkdir(dirname(path), { recursive: true });
    if (action === 'add') await note(after, folders);
    // Settings may hold secrets: a new file of the user's is for him alone, one that exists keeps its mode.
    const open = file.parts.includes('skill') || path.startsWith(places.project);
    await writeAtomically(path, after, { mode: open ? 0o644 : 0o600, before: unchanged });
  }
  if (action === 'add') return [];
  if (file.partial && after !== null && receipt) await note(after, []);
  else await receipts.drop(path);
  return after === null ? [...(receipt?.folders ?? [dirname(path), dirname(dirname(path))])] : [];
}

async function missingFolders(folder: string, places: Places): Promise<string[]> {
  const missing: string[] = [];
  for (let at = folder; at !== places.project && at !== places.home && !(await exists(at)); at = dirname(at))
    missing.unshift(at);
  return missing;
}

async function readSettings(path: string): Promise<string | null> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });
  const text = bytes && decodeUtf8(bytes);
  if (bytes !== null && text === null)
    throw new RelayError('bad_file', { file: path, what: 'it is not UTF-8', line: 1, column: 1 });
  return text;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function safely(test: () => boolean): boolean {
  try {
    return test();
  } catch {
    return false;
  }
}
