import {
  chmodSync,
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type JsonObject, jsonObjectIn } from '../../base/json.ts';
import { orElse } from '../../base/or-else.ts';

/**
 * Replaces a file atomically: other processes see the old or the new content, even if this process crashes. With
 * `flush` (the default), this is also true if the machine crashes. The file keeps its mode. If `path` is a symbolic
 * link, the link stays and the file to which it points is replaced. `before` runs just before the replacement and
 * can prevent it by throwing.
 */
export async function writeAtomically(
  path: string,
  data: string | Uint8Array,
  o: { readonly mode?: number; readonly flush?: boolean; readonly before?: () => Promise<void> } = {},
): Promise<void> {
  const target = finalTarget(path);
  mkdirSync(dirname(target), { recursive: true });
  const present = statSync(target, { throwIfNoEntry: false });
  const temporary = join(dirname(target), `.${basename(target)}.${unique()}.tmp`);
  try {
    const file = openSync(temporary, 'wx', o.mode ?? 0o666);
    try {
      writeFileSync(file, data);
      if (o.flush ?? true) fsyncSync(file);
    } finally {
      closeSync(file);
    }
    if (present) chmodSync(temporary, present.mode & 0o7777);
    await o.before?.();
    renameSync(temporary, target);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

let counter = 0;

/**
 * Returns a name that no other process or call uses at the same time. Random numbers are avoided, because
 * loading them takes 6 ms.
 */
export function unique(): string {
  return `${process.pid}-${Date.now().toString(36)}-${++counter}`;
}

/** Follows symbolic links and returns the path of the final file, which need not exist. */
function finalTarget(path: string): string {
  let target = resolve(path);
  for (let hops = 0; hops < 40; hops++) {
    if (!lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink()) return target;
    target = resolve(realpathSync(dirname(target)), readlinkSync(target));
  }
  throw new Error(`${path} is a symbolic link that leads back to itself`);
}

/** Reads a JSON object from a file. Returns null if the file is missing or contains no JSON object. */
export function readJsonFile(file: string): JsonObject | null {
  return jsonObjectIn(orElse(() => readFileSync(file, 'utf8'), null));
}

/** Writes a value as JSON into a file that only this user can read. */
export function writeJsonFile(file: string, value: object): Promise<void> {
  return writeAtomically(file, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
}
