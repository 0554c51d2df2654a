import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { HostileFolder } from './hostile-folder.ts';

/** A repository setting that makes git run a program. */
export interface Vector {
  /** Configures the repository to run `trap`. */
  readonly set: (folder: HostileFolder, trap: string) => void;
  /** A git command that runs the trap, which proves that the setting works. Null if git needs a terminal or a network. */
  readonly springs: readonly string[] | null;
}

export const config = (folder: HostileFolder, key: string, value: string) => folder.git('config', key, value);
export const everyFile = (folder: HostileFolder, attribute: string) =>
  folder.write('.gitattributes', `* ${attribute}\n`);

/** Deletes a blob that a comparison with HEAD needs, and configures a promisor remote for it. */
function missingBlob(folder: HostileFolder, url: string): void {
  const blob = folder.git('rev-parse', 'HEAD:work.txt').trim();
  rmSync(join(folder.path, '.git/objects', blob.slice(0, 2), blob.slice(2)));
  config(folder, 'core.repositoryformatversion', '1');
  config(folder, 'extensions.partialClone', 'origin');
  config(folder, 'remote.origin.promisor', 'true');
  config(folder, 'remote.origin.url', url);
}

/** Creates a commit with a signature header. */
function signedCommit(folder: HostileFolder): void {
  const text = folder.git('cat-file', 'commit', 'HEAD');
  const signature = 'gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----\n';
  folder.write('signed', text.replace('\n\n', `\n${signature}\n`));
  folder.git('update-ref', 'HEAD', folder.git('hash-object', '-t', 'commit', '-w', 'signed').trim());
}

/** Creates two branches that both changed decisions.md, and merges them. */
function mergedDecisions(folder: HostileFolder): void {
  const change = (branch: string, from: string) => {
    folder.git('checkout', '-qfb', branch, from);
    folder.write('decisions.md', `# ${branch}\n`);
    folder.git('commit', '-qam', branch);
  };
  change('left', 'main');
  change('right', 'main');
  folder.git('merge', '-q', '-s', 'ours', '-m', 'both', 'left');
}

export const VECTORS: { readonly [name: string]: Vector } = {
  'core.fsmonitor': {
    set: (folder, trap) => config(folder, 'core.fsmonitor', trap),
    springs: ['status'],
  },
  'filter.*.clean, by .gitattributes': {
    set: (folder, trap) => {
      everyFile(folder, 'filter=x');
      config(folder, 'filter.x.clean', trap);
    },
    springs: ['status'],
  },
  'filter.*.clean that is required, by .git/info/attributes': {
    set: (folder, trap) => {
      folder.write('.git/info/attributes', '* filter=x.Y z\n');
      config(folder, 'filter.x.Y.clean', trap);
      config(folder, 'filter.x.Y.required', 'true');
    },
    springs: ['status'],
  },
  'filter.*.process, by core.attributesFile': {
    set: (folder, trap) => {
      folder.write('evil/attributes', '* filter=x\n');
      config(folder, 'core.attributesFile', join(folder.path, 'evil/attributes'));
      config(folder, 'filter.x.process', trap);
    },
    springs: ['diff', 'HEAD'],
  },
  'a filter in a file that include.path names': {
    set: (folder, trap) => {
      everyFile(folder, 'filter=x');
      folder.write('evil/config', `[filter "x"]\n\tclean = ${trap}\n`);
      config(folder, 'include.path', '../evil/config');
    },
    springs: ['status'],
  },
  'a filter in config.worktree': {
    set: (folder, trap) => {
      everyFile(folder, 'filter=x');
      config(folder, 'extensions.worktreeConfig', 'true');
      folder.write('.git/config.worktree', `[filter "x"]\n\tclean = ${trap}\n`);
    },
    springs: ['status'],
  },
  'a filter whose name cannot be given with -c': {
    set: (folder, trap) => {
      everyFile(folder, 'filter=a=b');
      folder.write('.git/config', `${folder.read('.git/config')}[filter "a=b"]\n\tclean = ${trap}\n`);
    },
    springs: ['status'],
  },
  'filter.*.smudge': {
    set: (folder, trap) => {
      everyFile(folder, 'filter=x');
      config(folder, 'filter.x.smudge', trap);
    },
    springs: ['checkout', '-f', '.'],
  },
  'diff.external': {
    set: (folder, trap) => config(folder, 'diff.external', trap),
    springs: ['diff', 'HEAD'],
  },
  'diff.*.command': {
    set: (folder, trap) => {
      everyFile(folder, 'diff=x');
      config(folder, 'diff.x.command', trap);
    },
    springs: ['diff', 'HEAD'],
  },
  'diff.*.textconv': {
    set: (folder, trap) => {
      everyFile(folder, 'diff=x');
      config(folder, 'diff.x.textconv', trap);
    },
    springs: ['diff', 'HEAD'],
  },
  'core.pager and pager.*': {
    set: (folder, trap) => {
      for (const key of ['core.pager', 'pager.status', 'pager.log', 'pager.diff', 'pager.config'])
        config(folder, key, trap);
    },
    springs: null,
  },
  'a hook that runs when git writes the index': {
    set: (folder) => {
      folder.trap('.git/hooks/post-index-change');
    },
    springs: ['update-index', '--refresh', '--force-write-index'],
  },
  'core.hooksPath': {
    set: (folder) => {
      folder.trap('evil/hooks/post-index-change');
      config(folder, 'core.hooksPath', 'evil/hooks');
    },
    springs: ['update-index', '--refresh', '--force-write-index'],
  },
  'an ext:: address in a partial clone': {
    set: (folder, trap) => {
      missingBlob(folder, `ext::${trap} x`);
      config(folder, 'protocol.ext.allow', 'always');
    },
    springs: ['diff', 'HEAD'],
  },
  'core.sshCommand in a partial clone': {
    set: (folder, trap) => {
      missingBlob(folder, 'ssh://127.0.0.1:1/x');
      config(folder, 'core.sshCommand', trap);
    },
    springs: ['diff', 'HEAD'],
  },
  'core.gitProxy in a partial clone': {
    set: (folder, trap) => {
      missingBlob(folder, 'git://127.0.0.1:1/x');
      config(folder, 'core.gitProxy', trap);
    },
    springs: ['diff', 'HEAD'],
  },
  'remote.*.uploadpack in a partial clone': {
    set: (folder, trap) => {
      missingBlob(folder, folder.path);
      config(folder, 'remote.origin.uploadpack', trap);
    },
    springs: ['diff', 'HEAD'],
  },
  'core.alternateRefsCommand and credential.helper': {
    set: (folder, trap) => {
      config(folder, 'core.alternateRefsCommand', trap);
      config(folder, 'credential.helper', `!${trap}`);
      config(folder, 'core.askPass', trap);
    },
    springs: null,
  },
  'gpg.program with log.showSignature': {
    set: (folder, trap) => {
      signedCommit(folder);
      config(folder, 'log.showSignature', 'true');
      config(folder, 'gpg.program', trap);
    },
    springs: ['log', '-1'],
  },
  'merge.*.driver with log.diffMerges': {
    set: (folder, trap) => {
      mergedDecisions(folder);
      folder.write('.git/info/attributes', '* merge=x\n');
      config(folder, 'merge.x.driver', trap);
      config(folder, 'log.diffMerges', 'remerge');
    },
    springs: ['log', '-m', '--raw', '-1'],
  },
  'an alias of the name of a command': {
    set: (folder, trap) => {
      for (const name of ['status', 'log', 'diff-index', 'config'])
        config(folder, `alias.${name}`, `!${trap}`);
    },
    springs: null,
  },
  'the settings of a submodule': {
    set: (folder, trap) => {
      const inside = (...args: string[]) => folder.git('-C', 'sub', ...args);
      mkdirSync(join(folder.path, 'sub'));
      inside('init', '-q');
      folder.write('sub/file', 'one\n');
      inside('add', '.');
      inside('commit', '-qm', 'sub');
      folder.git('-c', 'advice.addEmbeddedRepo=false', 'add', 'sub');
      folder.git('commit', '-qm', 'with a submodule');
      folder.write('sub/file', 'two\n');
      inside('config', 'core.fsmonitor', trap);
      folder.write('sub/.gitattributes', '* filter=x\n');
      inside('config', 'filter.x.clean', trap);
    },
    springs: ['status'],
  },
};
