import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Guides } from '../interfaces/cli/host-guides.ts';
import { guideIndex } from '../interfaces/cli/program/guide-index.ts';
import { ownPackage } from './own-package.ts';

/** The pages of docs/ that came with this program, in the order of their index. */
export function ownGuides(): Guides {
  const folder = join(ownPackage()?.folder ?? '.', 'docs');
  const read = (file: string): string | null => {
    try {
      return readFileSync(join(folder, file), 'utf8');
    } catch {
      return null;
    }
  };
  // The package leaves some out, such as how speed is measured.
  const index = guideIndex(read('README.md') ?? '').map(({ title, guides }) => ({
    title,
    guides: guides.filter(({ file }) => existsSync(join(folder, file))),
  }));
  return {
    index,
    read(topic) {
      const guide = index.flatMap(({ guides }) => guides).find((one) => one.topic === topic);
      return guide === undefined ? null : read(guide.file);
    },
  };
}
