import { posix } from 'node:path';
import { guideIndex } from '../interfaces/cli/commands/about.ts';
import type { Guides } from '../interfaces/cli/host.ts';
import { ownFile } from './own-package.ts';

/** Returns the guides of docs/ that come with this program, in the order of docs/README.md. */
export function ownGuides(): Guides {
  const read = (file: string): string | null => {
    const bytes = ownFile(posix.join('docs', file));
    return bytes && new TextDecoder().decode(bytes);
  };
  // Some guides, such as the one about measuring speed, are not in the package. Remove them from the index.
  const index = guideIndex(read('README.md') ?? '').map(({ title, guides }) => ({
    title,
    guides: guides.filter(({ file }) => read(file) !== null),
  }));
  return {
    index,
    read(topic) {
      const guide = index.flatMap(({ guides }) => guides).find((one) => one.topic === topic);
      return guide === undefined ? null : read(guide.file);
    },
  };
}
