import { ON_NPM } from '../../src/base/installing.ts';
import { type Finding, isTest, type SourceFile } from './source-file.ts';

interface Rule {
  readonly pattern: RegExp;
  readonly what: string;
  /** Files that it does not hold for. */
  readonly except?: (path: string) => boolean;
}

/** What knows whether the packages are published, and the page that is then changed by it. */
const INSTALLING = [
  'src/base/installing.ts',
  'scripts/release/published.ts',
  ...(ON_NPM ? ['docs/install.md'] : []),
];

/** Written so that no rule finds itself here. */
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
    // In a comment only: TODO-003 is the name of something in the project files.
    pattern: /(?:\/\/|\/\*|^\s*\*|#|<!--).*\b(?:T[O]DO|F[I]XME)\b(?!-\d)/,
    what: 'leaves something for later; do it, or open an issue',
  },
  {
    // By its name alone; a file of it (./contextrelay-1.0.0.tgz, ./python) is something that a reader can have, and `npx --no-install` fetches nothing.
    pattern:
      /\b(?:(?:npx(?! --no-install )|bunx|uvx)(?: -\S+)*|(?:npm|pnpm|yarn|bun|pipx?|pip3|uv) (?:i|install|add|exec|dlx|run)(?: [^\s`]+)*?) ["']?contextrelay(?:-runtime)?(?![\w./-])/,
    what: 'installs a package that may not be published; link docs/install.md',
    except: (path) => INSTALLING.includes(path) || isTest(path),
  },
];

/** Words that belong to a machine or to a moment, not into a project. */
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
