/**
 * `npm run docs`: writes the generated pages of docs/, the guides as HTML into dist/docs, and the man pages
 * into dist/man.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GENERATED } from './generated.ts';
import { writeManPages } from './man.ts';
import { writeSite } from './site.ts';

const root = join(import.meta.dirname, '..', '..');

for (const [path, page] of Object.entries(GENERATED)) {
  const file = join(root, path);
  const content = page();
  if (readFileSync(file, 'utf8') !== content) writeFileSync(file, content);
}
for (const folder of ['docs', 'man']) rmSync(join(root, 'dist', folder), { recursive: true, force: true });
writeSite(join(root, 'dist', 'docs'));
await writeManPages(join(root, 'dist', 'man'));
