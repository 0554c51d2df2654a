import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Texts that replace the marked parts of docs/install.md, in the order of these parts. */
const ONCE_PUBLISHED = [
  `<!-- not run: it installs on a machine -->
\`\`\`sh
npm install -g contextrelay
\`\`\`

In a project, \`npm install contextrelay\` installs the SDK, and \`npx --no-install contextrelay\` runs the command line. For Python, run \`pip install contextrelay\`.
`,
  '`npm install contextrelay-runtime` installs it.\n',
];

/**
 * Makes the program and docs/install.md mention the npm package. Call it when the package has been published. Edits
 * src/base/installing.ts and docs/install.md in the clone at `root`. Only git can undo the change.
 */
export function namePublished(root = '.'): void {
  rewrite(join(root, 'src/base/installing.ts'), (text) =>
    text.replace('ON_NPM: boolean = false', 'ON_NPM: boolean = true'),
  );
  const parts = [...ONCE_PUBLISHED];
  rewrite(join(root, 'docs/install.md'), (text) =>
    text.replaceAll(/<!-- until published -->\n[\s\S]*?<!-- so far -->\n/g, () => parts.shift()!),
  );
  if (parts.length > 0) throw new Error(`docs/install.md lacks the place of: ${parts.join()}`);
}

function rewrite(path: string, change: (text: string) => string): void {
  const before = readFileSync(path, 'utf8');
  const after = change(before);
  if (after === before) throw new Error(`${path} has no more to turn on.`);
  writeFileSync(path, after);
}
