import { isUtf8 } from 'node:buffer';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { systemEnv } from '../../base/env.ts';
import { isRelayError, RelayError, tooLarge } from '../../base/errors.ts';
import { PROJECT_FILE_BYTES } from '../../base/limits.ts';
import { type FileText, LOCAL_FOLDER, type ProjectFiles } from '../../client/projects/files.ts';
import { Project } from '../../client/projects/project.ts';
import type { ProjectOptions } from '../../interfaces/cli/host.ts';
import { writeAtomically } from '../store/atomic-file.ts';
import { assertInside } from '../symlink-guard.ts';
import { projectGit } from './project-git.ts';
import { withFileLock } from './project-lock.ts';

/** Opens the project in this folder. It does not search the folders above. */
export function openProject(folder: string, o: ProjectOptions = {}): Project {
  const whole = resolve(folder);
  return new Project(projectFiles(whole, o), projectGit(whole, o.gitMs), systemEnv.now);
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
  const guarded = (name: string) => {
    if (!o.followLinks) assertInside(folder, name);
    return join(folder, name);
  };
  let held: (() => Promise<void>) | null = null;
  let queue: Promise<unknown> = Promise.resolve();
  return {
    folder,
    async needInside(name) {
      guarded(name);
    },
    has: async (name) => statSync(resolve(folder, name), { throwIfNoEntry: false }) !== undefined,
    modifiedAt: async (name) => statSync(resolve(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
    read: async (name, maxBytes) => readText(guarded(name), name, maxBytes),
    async write(name, text) {
      if (!held) throw new Error('a project file is written only inside locked()');
      const path = guarded(name);
      if (name.startsWith(`${LOCAL_FOLDER}/`)) await makeLocalFolder(folder, guarded(IGNORE));
      await writeAtomically(path, text, { before: held }).catch(cannotWrite(folder));
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
          held = check;
          try {
            return await work();
          } finally {
            held = null;
          }
        }).catch(cannotWrite(folder));
      });
      // The caller gets the error of its own `work`. The next `work` in the queue starts in any case.
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

/** Reads a project file synchronously, because the files are small and the thread pool is slower. */
function readText(path: string, name: string, maxBytes = PROJECT_FILE_BYTES): FileText | null {
  let bytes: Buffer;
  let modifiedAt: number;
  try {
    const found = statSync(path);
    if (found.size > maxBytes) throw tooLarge(name, maxBytes, 'Is this the right file?');
    // Reading a named pipe would block the process.
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

/** Our local folder has its own .gitignore, so that users need not change the .gitignore of the project. */
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

/** Patterns that identify our project files. Other programs also use names such as state.json. */
const OURS: { readonly [name: string]: RegExp } = {
  'PROJECT.md': /./,
  'state.json': /"(?:current_task|next_steps)"/,
  'todos.json': /"todos"/,
};

/**
 * Returns the nearest folder with project files, starting at `from` and going upwards. The search ends at the
 * home folder, at the top of a git repository, and at the root. Returns null if there is none.
 */
export function findProjectFolder(from: string, home: string): string | null {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    for (const [name, sign] of Object.entries(OURS)) {
      if (hasSign(folder, name, sign)) return folder;
    }
    const top = dirname(folder) === folder || folder === home;
    if (top || statSync(join(folder, '.git'), { throwIfNoEntry: false })) return null;
  }
}

/**
 * Returns whether a file exists and matches the pattern. A link that leads out of the folder also counts, so
 * that reading the file later reports the link as an error.
 */
function hasSign(folder: string, name: string, sign: RegExp): boolean {
  try {
    assertInside(folder, name);
    return sign.test(readText(join(folder, name), name)?.text ?? '');
  } catch (error) {
    return isRelayError(error, 'link_outside');
  }
}
