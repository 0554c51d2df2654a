/**
 * Writes the guides as static HTML. The pages need no server and load nothing from other sites. The search
 * runs in the browser.
 */
import { copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { escaped, menu, type Page, pathOf, REPOSITORY, readPages } from './pages.ts';

const SITE = join(import.meta.dirname, 'site');
const IMAGES = join(import.meta.dirname, '..', '..', 'docs', 'images');

export function writeSite(folder: string): void {
  const pages = readPages();
  const sections = menu();
  for (const page of pages) {
    const path = join(folder, page.path);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, document(page, sections));
  }
  for (const name of ['style.css', 'search.js']) copyFileSync(join(SITE, name), join(folder, name));
  writeFileSync(join(folder, 'search-index.js'), searchIndex(pages));
  cpSync(IMAGES, join(folder, 'images'), { recursive: true });
}

/** Long reference pages. Their score in the search is halved, so that guides come first. */
const REFERENCES = ['api.html', 'sdk-reference.html', 'security.html'];

/**
 * Returns the search index as a script, because a page that was opened from disk cannot fetch a JSON file.
 */
function searchIndex(pages: readonly Page[]): string {
  const entries = pages
    .filter(({ source }) => !source.startsWith('docs/adr/') && source !== 'CHANGELOG.md')
    .flatMap(({ path, title, headings }) =>
      headings.map(({ text, anchor, words, level }) => ({
        to: level === 1 ? path : `${path}#${anchor}`,
        page: title,
        title: text,
        words: words.replace(/\s+/g, ' ').trim(),
        weight: REFERENCES.includes(path) ? 0.5 : 1,
      })),
    );
  return `globalThis.guideIndex = ${JSON.stringify(entries).replaceAll('<', '\\u003c')};\n`;
}

function document(page: Page, sections: ReturnType<typeof menu>): string {
  const up = posix.relative(posix.dirname(page.path), '.') || '.';
  const links = sections.map(({ title, guides }) => {
    const items = guides.map((guide) => {
      const to = pathOf(posix.join('docs', guide.file));
      const ariaCurrent = to === page.path ? ' aria-current="page"' : '';
      return `<li><a href="${up}/${to}"${ariaCurrent}>${escaped(guide.title)}</a></li>`;
    });
    return `<h2>${escaped(title)}</h2>\n<ul>${items.join('')}</ul>`;
  });
  const name = page.path === 'index.html' ? 'ContextRelay' : `${page.title} · ContextRelay`;
  return `<!doctype html>
<html lang="en" data-up="${up}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'">
<meta name="color-scheme" content="light dark">
<title>${escaped(name)}</title>
<link rel="stylesheet" href="${up}/style.css">
<a class="skip" href="#content">To the text</a>
<header>
<a class="home" href="${up}/index.html">ContextRelay</a>
<div class="search" role="search"><input id="search" type="search" placeholder="Search ( / )" aria-label="Search the guides" autocomplete="off" aria-controls="results"><ol id="results" class="results" hidden></ol></div>
</header>
<div class="page">
<nav aria-label="Guides"><details id="menu"><summary>All guides</summary>
${links.join('\n')}
</details></nav>
<main id="content">
${withoutRepository(page.html).replace('</h1>\n', `</h1>\n${onPage(page)}`)}</main>
</div>
<script src="${up}/search-index.js"></script>
<script src="${up}/search.js"></script>
</html>
`;
}

/** Maximum number of sections for which a page shows a list of its sections. */
const MOST_SECTIONS = 24;

function onPage({ headings, path }: Page): string {
  const sections = headings.filter(({ level }) => level === 2);
  if (path === 'index.html' || sections.length < 3 || sections.length > MOST_SECTIONS) return '';
  const items = sections.map(({ anchor, text }) => `<li><a href="#${anchor}">${escaped(text)}</a></li>`);
  return `<ul class="on-page" aria-label="On this page">${items.join('')}</ul>\n`;
}

/** Replaces links to repository files that are not pages with the text of the link. */
function withoutRepository(html: string): string {
  return html.replace(new RegExp(`<a href="${REPOSITORY}:[^"]*">(.*?)</a>`, 'g'), '$1');
}
