import { ON_NPM } from '../../src/base/installing.ts';
import { type Finding, isTest, type SourceFile } from './source-file.ts';

interface Rule {
  readonly pattern: RegExp;
  readonly what: string;
  /** Files to which the rule does not apply. */
  readonly except?: (path: string) => boolean;
}

/** Files that may contain commands that install the published packages by name. */
const INSTALLING = [
  'src/base/installing.ts',
  'scripts/release/published.ts',
  ...(ON_NPM ? ['docs/install.md'] : []),
];

/** The patterns are written so that they do not match this file. */
const RULES: readonly Rule[] = [
  {
    pattern: /(?<![\w.:~-])\/(?:work|root)\/[\w.]/,
    what: 'names a place on somebody’s machine',
  },
  {
    pattern: /(?<![\w.:~-])\/(?:home|Users)\/[A-Za-z0-9_]/,
    what: 'names somebody’s home folder',
  },
  {
    // Only in comments: TODO-003 is an id in project files.
    pattern: /(?:\/\/|\/\*|^\s*\*|#|<!--).*\b(?:T[O]DO|F[I]XME)\b(?!-\d)/,
    what: 'leaves something for later; do it, or open an issue',
  },
  {
    // Matches only installs by name. A path (./contextrelay-1.0.0.tgz, ./python) is allowed, and so is `npx --no-install`,
    // which downloads nothing.
    pattern:
      /\b(?:(?:npx(?! --no-install )|bunx|uvx)(?: -\S+)*|(?:npm|pnpm|yarn|bun|pipx?|pip3|uv) (?:i|install|add|exec|dlx|run)(?: [^\s`]+)*?) ["']?contextrelay(?:-runtime)?(?![\w./-])/,
    what: 'installs a package that may not be published; link docs/install.md',
    except: (path) => INSTALLING.includes(path) || isTest(path),
  },
];

/** Finds texts that depend on one machine or moment and do not belong in the project. */
export function checkWords(files: readonly SourceFile[]): Finding[] {
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, i) =>
      RULES.filter(({ pattern, except }) => pattern.test(line) && !except?.(path)).map(({ what }) => ({
        path: `${path}:${i + 1}`,
        what,
      })),
    ),
  );
}
