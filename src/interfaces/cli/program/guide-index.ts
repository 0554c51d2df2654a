import type { GuideSection } from '../host-guides.ts';

/**
 * The index of the guides, as docs/README.md has it: a heading for each section, and below it a line
 * `- [Title](file.md): what it is about` for each guide, which may go on indented.
 */
export function guideIndex(readme: string): GuideSection[] {
  const [, ...sections] = readme.split(/^## /m);
  return sections
    .map((section) => ({
      title: section.slice(0, section.indexOf('\n')),
      guides: [...section.matchAll(/^- \[([^\]]+)\]\(([^)]+\.md)\): (.+(?:\n {2}.+)*)/gm)].map(
        ([, title, file, about]) => ({
          topic: topicOf(file!),
          title: title!,
          about: about!.replace(/\s+/g, ' ').replace(/\[([^\]]+)\]\([^)]+\)/g, '$1'),
          file: file!,
        }),
      ),
    }))
    .filter(({ guides }) => guides.length > 0);
}

/** `channels.md` is channels, `integrations/README.md` is integrations, `../SECURITY.md` is security. */
function topicOf(file: string): string {
  return file
    .replace(/^\.\.\//, '')
    .replace(/(\/README)?\.md$/, '')
    .toLowerCase();
}
