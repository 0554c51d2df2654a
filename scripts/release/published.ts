import { readFileSync, writeFileSync } from 'node:fs';

const ONCE_PUBLISHED = `<!-- not run: it installs on a machine -->
\`\`\`sh
npm install -g contextrelay
\`\`\`

In a project, \`npm install contextrelay\` brings the SDK, and \`npx --no contextrelay\` the command line. Likewise for Python: \`pip install contextrelay\`.
`;

/**
 * Until the package is on npm, nothing names it there. This turns it on in the two places that know: what the program says (src/base/installing.ts), and the
 * page about installing.
 */
export function namePublished(): void {
  rewrite('src/base/installing.ts', (text) =>
    text.replace('ON_NPM: boolean = false', 'ON_NPM: boolean = true'),
  );
  rewrite('docs/install.md', (text) =>
    text.replace(/<!-- until published -->\n[\s\S]*?<!-- so far -->\n/, ONCE_PUBLISHED),
  );
}

function rewrite(path: string, change: (text: string) => string): void {
  const before = readFileSync(path, 'utf8');
  const after = change(before);
  if (after === before) throw new Error(`${path} has no more to turn on.`);
  writeFileSync(path, after);
}
