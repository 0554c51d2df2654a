import { isUtf8 } from 'node:buffer';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, posix, resolve } from 'node:path';
import { systemEnv } from '../../base/env.ts';
import { isRelayError, RelayError, tooLarge } from '../../base/errors.ts';
import { jsonObjectIn } from '../../base/json.ts';
import { PROJECT_FILE_BYTES } from '../../base/limits.ts';
import {
  type FileText,
  isOurs,
  LOCAL_FOLDER,
  PLACE_FILE,
  PROJECT_FILES,
  type ProjectFiles,
  placed,
  SIGNS,
} from '../../client/projects/files.ts';
import { Project } from '../../client/projects/project.ts';
import type { ProjectOptions } from '../../interfaces/cli/host.ts';
import { writeAtomically } from '../store/atomic-file.ts';
import { assertInside } from '../symlink-guard.ts';
import { projectGit } from './project-git.ts';
import { withFileLock } from './project-lock.ts';

/** Opens the project in this folder. It does not search the folders above. */
export function openProject(folder: string, o: ProjectOptions = {}): Project {
  const whole = resolve(folder);
  const place = o.place ?? findPlace(whole);
  return new Project(projectFiles(whole, { ...o, place }), projectGit(whole, o.gitMs, place), systemEnv.now);
}

/** Opens a new project. See `ProjectHost.create`. */
export async function createProject(
  folder: string,
  { files, ...o }: ProjectOptions & { readonly files?: string },
): Promise<Project> {
  const whole = resolve(folder);
  try {
    mkdirSync(whole, { recursive: true });
  } catch (error) {
    const what = `The folder ${whole} cannot be created: ${(error as NodeJS.ErrnoException).code}.`;
    throw new RelayError('failed', { what, hint: 'Pass another folder.' });
  }
  if (files === undefined) return openProject(whole, { ...o, place: newPlace(whole) });
  if (!isInside(files)) {
    const what = `The folder ${files} is not a subfolder of the project.`;
    throw new RelayError('bad_usage', { what, hint: 'Pass a relative path, such as --files docs/relay.' });
  }
  const place = readPlace(JSON.stringify({ folder: files }));
  const project = openProject(whole, { ...o, place });
  const setting = `${JSON.stringify({ folder: place.slice(0, -1) })}\n`;
  await project.files.locked(() => project.files.write(PLACE_FILE, setting));
  return project;
}

/**
 * Opens the project of a folder, or of the nearest folder above it with project files. Returns null if there
 * is none.
 */
export async function findProject(from: string, o: ProjectOptions = {}): Promise<Project | null> {
  const folder = findProjectFolder(from, homedir());
  return folder === null ? null : openProject(folder, o);
}

/** Returns access to the project files in a folder. */
export function projectFiles(folder: string, o: ProjectOptions = {}): ProjectFiles {
  const { place = '' } = o;
  const guarded = (name: string) => {
    const path = placed(name, place);
    if (!o.followLinks) assertInside(folder, path);
    return join(folder, path);
  };
  let checkLock: (() => Promise<void>) | null = null;
  let queue: Promise<unknown> = Promise.resolve();
  return {
    folder,
    place,
    async needInside(name) {
      guarded(name);
    },
    has: async (name) =>
      statSync(resolve(folder, placed(name, place)), { throwIfNoEntry: false }) !== undefined,
    modifiedAt: async (name) => statSync(resolve(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
    read: async (name, maxBytes) => readText(guarded(name), placed(name, place), maxBytes),
    async write(name, text, { mode } = {}) {
      if (!checkLock) throw new Error('a project file is written only inside locked()');
      const path = guarded(name);
      if (placed(name, place).startsWith(`${LOCAL_FOLDER}/`)) await shareLocalFiles(guarded(IGNORE), name);
      mkdirSync(dirname(path), { recursive: true });
      await writeAtomically(path, text, { before: checkLock, mode }).catch(cannotWrite(folder));
    },
    async list(below = '.') {
      const entries = readdirSync(guarded(below), { withFileTypes: true });
      return entries
        .map((entry) => ({ name: entry.name, folder: entry.isDirectory() }))
        .sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    locked(work) {
      const turn = queue.then(async () => {
        const lock = guarded(`${LOCAL_FOLDER}/project.lock`);
        await makeLocalFolder(folder, guarded(IGNORE)).catch(cannotWrite(folder));
        return withFileLock(lock, { folder, waitMs: o.lockMs }, async (check) => {
          checkLock = check;
          try {
            return await work();
          } finally {
            checkLock = null;
          }
        }).catch(cannotWrite(folder));
      });
      // Ignore an error of `turn` here, so that the next `work` can start. The caller of `turn` gets the error.
      queue = turn.catch(() => {});
      return turn;
    },
  };
}

function cannotWrite(folder: string): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    if (!['EACCES', 'EPERM', 'EROFS'].includes(error.code ?? '')) throw error;
    throw new RelayError('failed', {
      what: `The project files in ${folder} cannot be written: ${error.code === 'EROFS' ? 'the disk is read-only' : 'permission denied'}.`,
      hint: 'Nothing was changed. Make the folder writable, or work in a copy.',
    });
  };
}

/** Reads a project file synchronously. This is faster than the thread pool, because the files are small. */
function readText(path: string, name: string, maxBytes = PROJECT_FILE_BYTES): FileText | null {
  let bytes: Buffer;
  let modifiedAt: number;
  try {
    const found = statSync(path);
    if (found.size > maxBytes)
      throw tooLarge(name, maxBytes, 'Make the file smaller, or check that it is the right file.');
    // Ignore pipes and devices: reading a named pipe would block the process.
    if (!found.isFile() && !found.isDirectory()) return null;
    modifiedAt = found.mtimeMs;
    bytes = readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    if (code === 'EISDIR')
      throw new RelayError('failed', { what: `${name} is a folder.`, hint: 'Move the folder elsewhere.' });
    throw error;
  }
  if (!isUtf8(bytes)) {
    throw new RelayError('bad_file', { file: name, what: 'it is not UTF-8', ...firstBadByte(bytes) });
  }
  return { text: bytes.toString(), modifiedAt };
}

function firstBadByte(bytes: Uint8Array): { line: number; column: number } {
  const sound = new TextDecoder()
    .decode(bytes)
    .split('\uFFFD')[0]!
    .split(/\r\n|\n|\r/);
  return { line: sound.length, column: sound.at(-1)!.length + 1 };
}

/** Path of the .gitignore in our local folder. With this file, users need not change the project's .gitignore. */
const IGNORE = `${LOCAL_FOLDER}/.gitignore`;

async function makeLocalFolder(folder: string, ignore: string): Promise<void> {
  if (!statSync(ignore, { throwIfNoEntry: false })) {
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
      const hint = 'Create it first, or pass another folder.';
      throw new RelayError('failed', { what: `The folder ${folder} does not exist.`, hint });
    }
    await writeAtomically(ignore, '*\n');
  }
}

/** Files in our local folder that belong to the project and go into git. */
const SHARED: readonly string[] = [PLACE_FILE, ...PROJECT_FILES];
const SHARED_IGNORE = `*\n${SHARED.map((name) => `!${name.replace(`${LOCAL_FOLDER}/`, '')}\n`).join('')}`;

/** Lets git track the project files in our local folder, unless a person has changed its .gitignore. */
async function shareLocalFiles(ignore: string, name: string): Promise<void> {
  if (!SHARED.includes(name)) return;
  if (readText(ignore, IGNORE)?.text === '*\n') await writeAtomically(ignore, SHARED_IGNORE);
}

/**
 * Returns where the project files of a folder are: in the folder that `.relay/project.json` names, in
 * `.relay/`, or in the folder itself.
 */
function findPlace(folder: string): string {
  const setting = readText(join(folder, PLACE_FILE), PLACE_FILE)?.text;
  if (setting !== undefined) return readPlace(setting);
  return hasSigns(folder, `${LOCAL_FOLDER}/`) ? `${LOCAL_FOLDER}/` : '';
}

function readPlace(setting: string): string {
  const named = jsonObjectIn(setting)?.folder;
  if (typeof named === 'string' && isInside(named)) return `${posix.normalize(named).replace(/\/$/, '')}/`;
  const what = '"folder" must be the relative path of a folder inside the project';
  throw new RelayError('bad_file', { file: PLACE_FILE, what, line: 1, column: 1 });
}

/** Returns whether a relative path leads to a folder below the current folder. */
function isInside(path: string): boolean {
  const normal = posix.normalize(path.replaceAll('\\', '/'));
  return !isAbsolute(path) && !/^(?:\.\.?(?:\/|$)|[A-Za-z]:)/.test(normal);
}

/**
 * Returns the place for new project files within `folder`. A place that is configured or already in use stays.
 * Otherwise it is the folder itself, or `.relay/` if the folder has files of another program with our file names.
 */
function newPlace(folder: string): string {
  const present = findPlace(folder);
  const foreign = SIGNS.some((name) => {
    try {
      const text = readText(join(folder, name), name)?.text;
      return text !== undefined && !isOurs(name, text);
    } catch {
      return false;
    }
  });
  return present === '' && foreign ? `${LOCAL_FOLDER}/` : present;
}

/**
 * Searches for a folder with project files from `from` upwards. Stops at the home folder, the top of a git
 * repository and the root. Returns null if there is none.
 */
export function findProjectFolder(from: string, home: string): string | null {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (statSync(join(folder, PLACE_FILE), { throwIfNoEntry: false })) return folder;
    if (hasSigns(folder, '') || hasSigns(folder, `${LOCAL_FOLDER}/`)) return folder;
    const top = dirname(folder) === folder || folder === home;
    if (top || statSync(join(folder, '.git'), { throwIfNoEntry: false })) return null;
  }
}

/**
 * Returns whether a place has one of our project files. A link that leads out of the folder counts too, so
 * that reading it reports the link instead of a missing project.
 */
function hasSigns(folder: string, place: string): boolean {
  return SIGNS.some((name) => {
    try {
      assertInside(folder, `${place}${name}`);
      const text = readText(join(folder, place, name), name)?.text ?? '';
      return text.trim() !== '' && text.trim() !== '{}' && isOurs(name, text);
    } catch (error) {
      return isRelayError(error, 'link_outside');
    }
  });
}
