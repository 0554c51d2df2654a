import { existsSync } from 'node:fs';
import { mkdir, rm, rmdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { sha256 } from '../../engines/body-hashes.ts';
import type { Installer, InstallReport, InstallRequest } from '../../interfaces/cli/host.ts';
import { diffLines } from '../../text/line-diff.ts';
import type { Environment } from '../config.ts';
import { ownFile, ownFiles } from '../own-package.ts';
import { findProject } from '../projects/project-files.ts';
import { writeAtomically } from '../store/atomic-file.ts';
import { assertInside } from '../symlink-guard.ts';
import { repeatedBrief } from './brief-sources.ts';
import {
  APPROVALS,
  CLIENTS,
  type Client,
  CODEX_TRUST,
  CODEX_TRUST_AGAIN,
  clientPlan,
  type Part,
  type Places,
  type Scope,
  SKILL_NAME,
  type Target,
} from './clients.ts';
import { CODEX_TEE, planExtra, receiptFolder, TEE_CLIENTS } from './extras.ts';
import {
  changeBetween,
  type FilePlan,
  planAdd,
  planRemove,
  planSkill,
  Receipts,
  readText,
  type SkillFiles,
  withoutOurs,
} from './file-plan.ts';
import { installGitMerge } from './git-merge.ts';
import { findLauncher, type Launcher } from './launcher.ts';
import { losesCodexTrust } from './trust.ts';

export interface InstallSettings {
  readonly places: Places;
  /**
   * Returns the command that settings contain. Settings of the user apply in every folder, so their command
   * must work everywhere.
   */
  readonly launcher: (scope: Scope) => Launcher;
  /** Home folder of the relay, with the receipts. */
  readonly relayHome: string;
  readonly skill: SkillFiles;
}

/** Returns the settings for this machine, folder and program. */
export async function installSettings(env: Environment, relayHome: string): Promise<InstallSettings> {
  const skill = ownSkill();
  if (skill.size === 0) {
    const what = 'The skill is missing from this installation.';
    throw new RelayError('failed', { what, hint: 'Install contextrelay again.' });
  }
  const places = { project: process.cwd(), home: homedir(), env, platform: process.platform };
  const launcher = (scope: Scope) => findLauncher(env, scope === 'project' ? 'here' : 'anywhere');
  return { places, launcher, relayHome, skill };
}

/** Returns the skill's files that come with the program, by their paths in the folder of the skill. */
function ownSkill(): SkillFiles {
  const folder = `skill/${SKILL_NAME}/`;
  const paths = ownFiles(folder).filter((path) => !path.endsWith('.pyc'));
  const text = (path: string) => new TextDecoder().decode(ownFile(path)!);
  return new Map(paths.sort().map((path) => [path.slice(folder.length), text(path)]));
}

export async function openInstaller(env: Environment, relayHome: string): Promise<Installer> {
  const settings = await installSettings(env, relayHome);
  return {
    clients: [...CLIENTS, 'git'],
    async run(request) {
      if (request.tools !== undefined)
        (await import('../../interfaces/mcp/tools.ts')).readToolChoice(request.tools);
      const launcher = settings.launcher(request.scope);
      // Undo --tee first: --tee edited the same files, and a receipt restores a file exactly only if nothing else has
      // changed this file.
      const removesAll = request.action === 'remove' && request.scope === 'user' && !request.only;
      if (removesAll && !request.dryRun && hasTee(request))
        await runInstall({ ...(request as ClientRequest), extra: { kind: 'tee' } }, settings);
      const report =
        request.client === 'git'
          ? await installGitMerge(request, settings.places.project, launcher)
          : await runInstall(request as ClientRequest, settings);
      if (request.action === 'remove' || request.extra) return report;
      const { project } = settings.places;
      const repeated = isClient(request.client)
        ? await repeatedBrief(request.client, settings.places, launcher)
        : null;
      const twice = repeated === null ? [] : [`In ${request.client}, ${repeated.found}; ${repeated.fix}`];
      const next = request.scope === 'project' && (await findProject(project)) === null ? [NEXT] : [];
      return {
        ...report,
        notes: [
          ...(launcher.command === 'relay' ? [] : [launcherNote(launcher)]),
          ...report.notes,
          ...(hasTee(request) ? [TEE_OFFER.replace('CLIENT', request.client)] : []),
          ...(request.client === 'codex' ? [CODEX_TEE] : []),
          ...twice,
          ...next,
        ],
      };
    },
  };
}

function hasTee({ client, extra }: InstallRequest): boolean {
  return extra === undefined && TEE_CLIENTS.includes(client);
}

const TEE_OFFER =
  'To show the agent excerpts of long outputs instead of all lines: relay install CLIENT --tee';

function isClient(name: string): name is Client {
  return CLIENTS.some((client) => client === name);
}

function launcherNote({ command, args, portable }: Launcher): string {
  const price = portable
    ? 'which uses the copy in this project and starts more slowly'
    : 'which works on this machine only';
  return `relay is not on your PATH, so the settings call ${[command, ...args].join(' ')} instead, ${price}.`;
}

/** Note for a folder without project files: hooks have nothing to report there. */
const NEXT = 'Hooks report from project files, and this folder has none yet. Next: relay project init';

interface ClientRequest extends InstallRequest {
  readonly client: Client;
  readonly only?: readonly Part[];
}

/** Maximum number of attempts. If a client writes its settings during an attempt, the change is planned again. */
const ATTEMPTS = 5;

/**
 * Adds or removes our entries and nothing else. All changes are planned before the first file is written, so
 * a problem changes nothing.
 */
export async function runInstall(request: ClientRequest, settings: InstallSettings): Promise<InstallReport> {
  const { extra } = request;
  const receipts = new Receipts(extra ? join(settings.relayHome, receiptFolder(extra)) : settings.relayHome);
  let report: InstallReport | null = null;
  for (let attempt = 1; ; attempt++) {
    const { plans, notes, changes } = extra
      ? await planOf(extra, request, settings, receipts)
      : await plan(request, settings, receipts);
    report ??= { notes, changes };
    if (request.dryRun) return report;
    try {
      const emptied: string[] = [];
      for (const file of plans)
        emptied.push(...(await apply(file, request.action, receipts, settings.places)));
      // Remove empty folders, the deepest first. A folder with other content stays.
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
  request: ClientRequest,
  settings: InstallSettings,
  receipts: Receipts,
): Promise<InstallReport & { readonly plans: readonly FilePlan[] }> {
  const { client, scope, action, only } = request;
  const { targets, notes } = clientPlan(client, scope, settings.places, settings.launcher(scope), request);
  const plans: FilePlan[] = [];
  const ownNotes: string[] = [];
  const keptEdits: InstallReport['changes'][number][] = [];
  for (const target of targets) {
    const { parts } = target;
    if (only && !parts.some((part) => only.includes(part))) continue;
    if (!request.followLinks) needTargetInside(target, scope, settings);
    if (target.kind === 'skill') {
      const shared = action === 'remove' ? await otherUsers(target.folder, request, settings) : [];
      if (shared.length > 0) {
        ownNotes.push(
          `The skill in ${target.folder} was not removed. It is also used by: ${shared.join(', ')}.`,
        );
        continue;
      }
      const { files, edited } = await planSkill(action, target.folder, settings.skill, receipts);
      plans.push(...files);
      ownNotes.push(...edited.map((path) => `${path} was edited by hand, so it was not changed.`));
      keptEdits.push(...edited.map((path) => ({ path, parts, what: 'kept' as const, diff: [] })));
      continue;
    }
    // `--only mcp` leaves out hooks in the same file.
    const entries = target.entries.filter(({ kind }) => only?.includes(kind) ?? true);
    const planned = { ...target, entries, parts: entries.map(({ kind }) => kind) };
    const receipt = await receipts.get(target.file);
    const partial = entries.length < target.entries.length;
    plans.push(await (action === 'add' ? planAdd(planned, receipt) : planRemove(planned, receipt, partial)));
  }
  const approval = APPROVALS[client];
  const setting = new RegExp(`"?${Object.keys(approval?.setting ?? {})[0]}"?\\s*[:=]`);
  const approved = plans.some(({ after }) => after !== null && setting.test(after));
  const again =
    client === 'codex' &&
    plans.some(({ parts, before, after }) => parts.includes('hooks') && losesCodexTrust(before, after));
  const open = notes
    .filter((note) => note !== approval?.offer || !approved)
    .map((note) => (note === CODEX_TRUST && again ? CODEX_TRUST_AGAIN : note));
  return { plans, notes: [...ownNotes, ...open], changes: [...keptEdits, ...plans.map(describe)] };
}

async function planOf(
  extra: NonNullable<InstallRequest['extra']>,
  request: ClientRequest,
  settings: InstallSettings,
  receipts: Receipts,
): Promise<InstallReport & { readonly plans: readonly FilePlan[] }> {
  const launcher = settings.launcher('user');
  const { plans, notes } = await planExtra(extra, request, { ...settings, launcher, receipts });
  if (!request.followLinks) for (const { path } of plans) assertInside(dirname(path), path);
  return { plans, notes, changes: plans.map(describe) };
}

/**
 * Throws if a symbolic link leads a target out of its folder. The folder is the project for the scope
 * `project`, otherwise the folder of the settings or skills.
 */
function needTargetInside(target: Target, scope: Scope, { places, skill }: InstallSettings): void {
  const skills = target.kind === 'skill';
  const own = skills ? dirname(dirname(target.folder)) : dirname(target.file);
  const files = skills ? [...skill.keys()].map((name) => join(target.folder, name)) : [target.file];
  for (const file of files) assertInside(scope === 'project' ? places.project : own, file);
}

function describe({ path, parts, before, after }: FilePlan): InstallReport['changes'][number] {
  return { path, parts, what: changeBetween(before, after), diff: lineDiff(before ?? '', after ?? '') };
}

/** Number of unchanged lines to print around a change. */
const DIFF_AROUND = 2;
const DIFF_MARKS = { same: ' ', added: '+', removed: '-' } as const;

/**
 * Returns the difference of two texts as lines with `-` and `+`, with unchanged lines around each change.
 * Equal texts give an empty list.
 */
function lineDiff(before: string, after: string): string[] {
  if (before === after) return [];
  const rows = diffLines(linesOf(before), linesOf(after)).map(({ kind, text }) => DIFF_MARKS[kind] + text);
  const near = (index: number) =>
    rows.slice(Math.max(0, index - DIFF_AROUND), index + DIFF_AROUND + 1).some((row) => !row.startsWith(' '));
  const excerpt: string[] = [];
  for (const [index, row] of rows.entries()) {
    if (near(index)) excerpt.push(row);
    else if (excerpt.length > 0 && excerpt.at(-1) !== ' …') excerpt.push(' …');
  }
  if (excerpt.at(-1) === ' …') excerpt.pop();
  return [`@@ line ${rows.findIndex((_, index) => near(index)) + 1} @@`, ...excerpt];
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** Returns the other clients with our entries that share the skill folder. */
async function otherUsers(folder: string, request: ClientRequest, settings: InstallSettings) {
  const users = new Set<Client>();
  for (const client of CLIENTS.filter((other) => other !== request.client)) {
    const { targets } = clientPlan(client, request.scope, settings.places, settings.launcher(request.scope));
    if (!targets.some((target) => target.kind === 'skill' && target.folder === folder)) continue;
    for (const target of targets) {
      if (target.kind === 'skill') continue;
      try {
        if (!request.followLinks) needTargetInside(target, request.scope, settings);
        const before = await readText(target.file);
        if (before !== null && withoutOurs(target, before) !== before) users.add(client);
      } catch {
        // An unreadable file counts as a file without our entries.
      }
    }
  }
  return [...users];
}

class ChangedMeanwhile extends RelayError {
  constructor(path: string) {
    super('conflict', {
      what: `${path} is being written by another program.`,
      hint: 'Close it and try again.',
    });
  }
}

/** Writes or deletes a file and updates its receipt. Returns the folders that may be empty now. */
async function apply(
  file: FilePlan,
  action: 'add' | 'remove',
  receipts: Receipts,
  places: Places,
): Promise<readonly string[]> {
  const { path, before, after, original } = file;
  const receipt = await receipts.get(path);
  const unchanged = async () => {
    if ((await readText(path)) !== before) throw new ChangedMeanwhile(path);
  };
  const note = (text: string, newFolders: readonly string[]) => {
    const folders = [...(receipt?.folders ?? []), ...newFolders];
    return receipts.put({ path, original, after: sha256(text), folders });
  };
  if (after === null) {
    await unchanged();
    if (before !== null) await rm(path);
  } else if (after !== before) {
    const folders = missingFolders(dirname(path), places);
    await mkdir(dirname(path), { recursive: true });
    if (action === 'add') await note(after, folders);
    // Settings may contain secrets, so a new settings file of the user is readable only by the owner. An
    // existing file keeps its mode.
    const open = file.parts.includes('skill') || path.startsWith(places.project + sep);
    const mode = file.executable ? 0o700 : open ? 0o644 : 0o600;
    await writeAtomically(path, after, { mode, before: unchanged });
  }
  if (action === 'add') return [];
  if (file.partial && after !== null && receipt) await note(after, []);
  else await receipts.drop(path);
  return after === null ? (receipt?.folders ?? [dirname(path), dirname(dirname(path))]) : [];
}

function missingFolders(folder: string, places: Places): string[] {
  const missing: string[] = [];
  for (let at = folder; at !== places.project && at !== places.home && !existsSync(at); at = dirname(at))
    missing.unshift(at);
  return missing;
}
