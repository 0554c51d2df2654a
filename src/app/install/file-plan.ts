import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { TomlError } from 'smol-toml';
import { RelayError } from '../../base/errors.ts';
import { decodeUtf8 } from '../../base/utf8.ts';
import { sha256 } from '../../engines/body-hashes.ts';
import { JsonSyntaxError } from '../../formats/json-syntax.ts';
import { readJsonFile, writeJsonFile } from '../store/atomic-file.ts';
import type { Part, SettingsTarget } from './clients.ts';
import {
  addEntries,
  addTomlServer,
  Occupied,
  presentContainers,
  removeEntries,
  removeTomlServer,
} from './entries.ts';
import { isOurPlugin } from './opencode-plugin.ts';

/** Content of a file before and after a change. Null means that the file does not exist. */
export interface FilePlan {
  readonly path: string;
  readonly parts: readonly Part[];
  readonly before: string | null;
  readonly after: string | null;
  /** Content without our entries. Removing our entries restores this content. Null means that there was no file. */
  readonly original: string | null;
  /** True if the file must be executable. */
  readonly executable?: boolean;
  /** True if only some of our entries are removed. */
  readonly partial?: boolean;
}

/** Plans the change that adds or corrects our entries in a settings file. */
export async function planAdd(target: SettingsTarget, receipt: Receipt | null): Promise<FilePlan> {
  const { file: path, parts } = target;
  const before = await readText(path);
  const text = before ?? '';
  return guarded(path, () => {
    const after = withOurs(target, text);
    const untouched = receipt?.after === sha256(text);
    // If someone has edited the file since, the original in the receipt lacks the edit and must not be
    // restored.
    const original = untouched ? receipt.original : before && withoutOurs(target, before, receipt?.original);
    return { path, parts, before, after, original };
  });
}

/**
 * Plans the change that removes our entries from a settings file. With `partial`, some of them stay, so the
 * original in the receipt is not restored.
 */
export async function planRemove(
  target: SettingsTarget,
  receipt: Receipt | null,
  partial: boolean,
): Promise<FilePlan> {
  const { file: path, parts } = target;
  const before = await readText(path);
  const original = receipt?.original ?? null;
  const plan = { path, parts, before, original, partial };
  if (before === null) return { ...plan, after: null };
  if (!partial && receipt?.after === sha256(before)) return { ...plan, after: original };
  const after = guarded(path, () => withoutOurs(target, before, original));
  const nothingLeft =
    (receipt?.original === null || target.kind === 'file') && /^\s*(?:\{\s*\})?\s*$/.test(after);
  return { ...plan, after: nothingLeft ? null : after };
}

function withOurs({ kind, entries, text: whole }: SettingsTarget, text: string): string {
  if (kind === 'file') {
    if (text !== '' && !isOurPlugin(text)) throw new Occupied('another program has a file with this name');
    return whole!;
  }
  if (kind !== 'toml') return addEntries(text, entries, kind === 'jsonc');
  const servers = entries.filter((entry) => entry.kind === 'mcp');
  return servers.reduce((added, { value }) => addTomlServer(added, value), text);
}

/** Returns the text without our entries. Objects and lists of `original` stay, even if they are empty. */
export function withoutOurs(target: SettingsTarget, text: string, original: string | null = null): string {
  if (target.kind === 'toml') return removeTomlServer(text);
  if (target.kind === 'file') return isOurPlugin(text) ? '' : text;
  const keep = presentContainers(original ?? '', target.entries);
  return text.trim() === '' ? text : removeEntries(text, target.entries, keep);
}

/**
 * Runs `plan` and turns its exceptions into errors for the user: an invalid file, or an entry that cannot be
 * added. A plan writes nothing, so an error leaves all files unchanged.
 */
export function guarded<T>(file: string, plan: () => T): T {
  try {
    return plan();
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      throw new RelayError('bad_file', { file, what: error.what, line: error.line, column: error.column });
    }
    if (error instanceof TomlError) {
      const what = error.message.split('\n')[0]!.replace(/^Invalid TOML document: /, '');
      throw new RelayError('bad_file', { file, what, line: error.line, column: error.column });
    }
    if (error instanceof Occupied) throw leftAlone(file, error.message, 'Rename or remove that entry');
    throw error;
  }
}

function leftAlone(path: string, why: string, remedy: string): RelayError {
  return new RelayError('conflict', {
    what: `${path} cannot be changed: ${why}. No file was changed.`,
    hint: `${remedy}, or install only the other parts with --only.`,
  });
}

/** Texts of the skill's files, by their paths in the folder of the skill. */
export type SkillFiles = ReadonlyMap<string, string>;

/** Line in SKILL.md that identifies our skill: another skill may have the same name. */
const OURS = /^ {2}source: contextrelay$/m;

/**
 * Plans to write all files of the skill or, with `remove`, to restore the files from before. Files that
 * someone has edited since stay and are listed in `edited`.
 */
export async function planSkill(
  action: 'add' | 'remove',
  folder: string,
  shipped: SkillFiles,
  receipts: Receipts,
): Promise<{ readonly files: FilePlan[]; readonly edited: string[] }> {
  const present = await readText(join(folder, 'SKILL.md'));
  if (action === 'add' && present !== null && !OURS.test(present)) {
    throw leftAlone(folder, 'another skill already has this name', 'Move that folder away');
  }
  const files: FilePlan[] = [];
  const edited: string[] = [];
  for (const [name, text] of shipped) {
    const path = join(folder, name);
    const [before, receipt] = [await readText(path), await receipts.get(path)];
    if (before === null && action === 'remove') continue;
    const original = receipt?.original ?? null;
    const own = before === null || before === text || receipt?.after === sha256(before);
    // `add` also replaces a file without a receipt: it is an older version of ours, or someone has edited it.
    if (own || (action === 'add' && receipt === null)) {
      const after = action === 'add' ? text : original;
      files.push({ path, parts: ['skill'], before, after, original });
    } else edited.push(path);
  }
  return { files, edited };
}

/** Returns the kind of a change. `before` and `after` are contents, or null for a missing file. */
export function changeBetween(before: string | null, after: string | null) {
  if (before === after) return 'same';
  return before === null ? 'created' : after === null ? 'deleted' : 'changed';
}

/** Reads a file as text. Returns null if the file does not exist. */
export async function readText(path: string): Promise<string | null> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });
  const text = bytes && decodeUtf8(bytes);
  if (bytes !== null && text === null)
    throw new RelayError('bad_file', { file: path, what: 'it is not UTF-8', line: 1, column: 1 });
  return text;
}

/**
 * Record of our change to a file: the original content and a hash of what we wrote, so that removing our
 * entries restores the exact bytes. Receipts are in the relay's home and readable only by the owner, because
 * settings may contain secrets.
 */
export interface Receipt {
  readonly path: string;
  /** Content of the file before our change. Null if there was no file. */
  readonly original: string | null;
  /** SHA-256 hash of the content that we wrote. */
  readonly after: string;
  /** Folders that we created, outermost first. */
  readonly folders: readonly string[];
}

export class Receipts {
  readonly #folder: string;

  constructor(relayHome: string) {
    this.#folder = join(relayHome, 'installs');
  }

  async get(path: string): Promise<Receipt | null> {
    const receipt = readJsonFile(this.#file(path)) as Receipt | null;
    return receipt?.path === path ? receipt : null;
  }

  async put(receipt: Receipt): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeJsonFile(this.#file(receipt.path), receipt);
  }

  /**
   * Called if a folder that we created still contains files. Records the folder in the receipt of one of our files in
   * it. Removing that file then also removes the folder.
   */
  async passOn(folder: string): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const receipt: Receipt = JSON.parse(await readFile(join(this.#folder, name), 'utf8'));
      if (!receipt.path.startsWith(folder + sep)) continue;
      if (!receipt.folders.includes(folder))
        await this.put({ ...receipt, folders: [folder, ...receipt.folders] });
      return;
    }
  }

  async drop(path: string): Promise<void> {
    await rm(this.#file(path), { force: true });
  }

  #file(path: string): string {
    return join(this.#folder, `${sha256(path).slice(0, 24)}.json`);
  }
}
