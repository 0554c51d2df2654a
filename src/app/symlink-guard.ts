import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { isAbsolute, parse, relative, resolve, sep } from 'node:path';
import { RelayError } from '../base/errors.ts';

/** Maximum number of links to follow. A longer chain is probably a loop. */
const MOST_LINKS = 40;

/**
 * Throws if `path` is inside `folder` but a symbolic link leads outside, even if no file exists there. Anyone may
 * have put the link into the folder. `folder` itself may be a link. A path that plainly names a place outside, such
 * as `../name`, is allowed.
 */
export function assertInside(folder: string, path: string): void {
  const named = relative(resolve(folder), resolve(folder, path));
  if (leavesFolder(named)) return;
  const root = lstatSync(folder, { throwIfNoEntry: false }) ? realpathSync(folder) : resolve(folder);
  const steps = named.split(sep);
  let at = root;
  let link = '';
  for (let links = 0; steps.length > 0; ) {
    const next = resolve(at, steps.shift()!);
    if (!lstatSync(next, { throwIfNoEntry: false })?.isSymbolicLink()) {
      at = next;
      continue;
    }
    if (++links > MOST_LINKS) throw linkOutside(link, folder, 'itself, in a loop');
    if (!leavesFolder(relative(root, next))) link = relative(root, next);
    const target = readlinkSync(next);
    if (isAbsolute(target)) at = parse(target).root;
    steps.unshift(
      ...target
        .slice(isAbsolute(target) ? at.length : 0)
        .split(sep)
        .filter(Boolean),
    );
  }
  if (leavesFolder(relative(root, at))) throw linkOutside(link, folder, at);
}

function leavesFolder(path: string): boolean {
  return path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path);
}

function linkOutside(link: string, folder: string, target: string): RelayError {
  return new RelayError('link_outside', { link, folder, target });
}
