import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { PROJECT_FILES } from '../../client/projects/files.ts';
import type { InstallReport, InstallRequest } from '../../interfaces/cli/host.ts';
import { runGit } from '../projects/run-git.ts';
import { writeAtomically } from '../store/atomic-file.ts';
import { assertInside } from '../symlink-guard.ts';
import { changeBetween, readText } from './file-plan.ts';
import { type Launcher, shellLine } from './launcher.ts';

const ATTRIBUTES = PROJECT_FILES.map((name) => `${name} merge=relay`);
const DRIVER = 'merge.relay.driver';

/**
 * Makes git merge the project files of a repository with `relay project merge`. The committed .gitattributes
 * names the merge driver, and the local git configuration names its program. Clones without this
 * configuration merge the files by lines.
 */
export async function installGitMerge(
  { action, dryRun, followLinks, scope }: InstallRequest,
  folder: string,
  launcher: Launcher,
): Promise<InstallReport> {
  if (scope === 'user') {
    const hint = 'Run it in the repository, without --user.';
    throw new RelayError('failed', {
      what: 'The merge driver is set up per repository, not per user.',
      hint,
    });
  }
  const git = async (...args: string[]) => String(await runGit(folder, args)).trim();
  await git('rev-parse', '--git-dir').catch(() => {
    const what = `${folder} is not in a git repository.`;
    throw new RelayError('failed', { what, hint: 'Run git init first.' });
  });
  const path = join(folder, '.gitattributes');
  if (!followLinks) assertInside(folder, path);
  const before = await readText(path);
  const others = (before ?? '').split('\n').filter((line) => !ATTRIBUTES.includes(line.trim()));
  if (others.at(-1) === '') others.pop();
  const lines = action === 'add' ? [...others, ...ATTRIBUTES] : others;
  const after = lines.length === 0 ? null : `${lines.join('\n')}\n`;
  const command = `${shellLine(launcher, ['project', 'merge', '--driver'])} %O %A %B %P`;
  const driver = await git('config', '--local', DRIVER).catch(() => null);
  const newDriver = action === 'add' ? command : null;
  if (!dryRun) {
    if (after === null) await rm(path, { force: true });
    else if (after !== before) await writeAtomically(path, after, { mode: 0o644 });
    if (newDriver !== driver) {
      if (newDriver === null) await git('config', '--local', '--remove-section', 'merge.relay');
      else {
        await git('config', '--local', 'merge.relay.name', 'project files');
        await git('config', '--local', DRIVER, newDriver);
      }
    }
  }
  const shared = { parts: ['merge'], diff: [] };
  return {
    changes: [
      { ...shared, path, what: changeBetween(before, after) },
      { ...shared, path: `${DRIVER} in the git configuration`, what: changeBetween(driver, newDriver) },
    ],
    notes: action === 'add' ? ['Commit .gitattributes. Then run relay install git once in every clone.'] : [],
  };
}
