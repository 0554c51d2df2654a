import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

/**
 * Replaces a file in one step: whoever reads sees the old bytes or the new ones, whole, also after a crash. The mode stays,
 * and where the name is a symbolic link the file it points to is replaced and the link stays.
 */
export async function writeAtomically(
  path: string,
  data: string | Uint8Array,
  o: { readonly mode?: number; readonly before?: () => Promise<void> } = {},
): Promise<void> {
  const target = await finalTarget(path);
  await mkdir(dirname(target), { recursive: true });
  const present = await stat(target).catch(() => null);
  const temporary = join(
    dirname(target),
    `.${basename(target)}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`,
  );
  try {
    const file = await open(temporary, 'wx', o.mode ?? 0o666);
    try {
      await file.writeFile(data);
      await file.sync();
    } finally {
      await file.close();
    }
    if (present) await chmod(temporary, present.mode & 0o7777);
    await o.before?.();
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Follows links to the file that is meant, which need not exist yet. */
async function finalTarget(path: string): Promise<string> {
  let target = resolve(path);
  for (let hops = 0; hops < 40; hops++) {
    const link = await lstat(target).catch(() => null);
    if (!link?.isSymbolicLink()) return target;
    target = resolve(await realpath(dirname(target)), await readlink(target));
  }
  throw new Error(`${path} is a link that leads in a circle`);
}
