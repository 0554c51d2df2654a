import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { menu, type Page, pathOf, REPOSITORY, readPages } from '../../scripts/docs/pages.ts';
import { writeSite } from '../../scripts/docs/site.ts';

/** Checks every link of the guides, except links to other hosts. */

const ROOT = join(import.meta.dirname, '..', '..');

const pages: readonly Page[] = readPages();
const byPath = new Map(pages.map((page) => [page.path, page]));
let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'relay-docs-'));
  writeSite(folder);
});
after(() => rmSync(folder, { recursive: true, force: true }));

const read = (path: string) => readFileSync(join(folder, path), 'utf8');
const linksOf = (html: string) => [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, to]) => to!);

describe('every link leads to an existing page and heading', () => {
  for (const { path, source, html } of pages)
    test(source, () => {
      // The final page shows links to files of the repository as plain text, so take these links from `html`.
      const missing = linksOf(html)
        .filter((to) => to.startsWith(`${REPOSITORY}:`))
        .filter((to) => !existsSync(join(ROOT, to.slice(REPOSITORY.length + 1).split('#')[0]!)));
      assert.deepEqual(missing, []);
      const broken = linksOf(read(path)).filter((to) => {
        if (/^(?:https?|mailto):/.test(to)) return false;
        const [file, anchor] = to.split('#');
        const target = file === '' ? path : posix.join(posix.dirname(path), file!);
        const page = byPath.get(target);
        if (page === undefined) return !isFile(target);
        return (
          anchor !== undefined && anchor !== 'content' && !page.headings.some((one) => one.anchor === anchor)
        );
      });
      assert.deepEqual(broken, []);
    });
});

function isFile(path: string): boolean {
  try {
    return readFileSync(join(folder, path)).byteLength > 0;
  } catch {
    return false;
  }
}

test('every guide is in the index, except the decisions and the pages of integrations', () => {
  const listed = new Set(
    menu().flatMap(({ guides }) => guides.map(({ file }) => pathOf(posix.join('docs', file)))),
  );
  const missing = pages
    .map(({ path }) => path)
    .filter(
      (path) =>
        !/^(?:index|changelog)\.html$|^adr\/|^integrations\/(?!index)/.test(path) && !listed.has(path),
    );
  assert.deepEqual(missing, []);
});

test('a page loads nothing from other hosts and runs only its own script', () => {
  for (const { path, source } of pages) {
    const html = read(path);
    assert.match(html, /default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'/, source);
    const loaded = [...html.matchAll(/<(?:script|link|img)[^>]*(?:src|href)="([^"]+)"/g)].map(
      ([, to]) => to!,
    );
    assert.deepEqual(
      loaded.filter((to) => /^\w+:|^\/\//.test(to)),
      [],
      source,
    );
    assert.doesNotMatch(html, /<script>|style="|onclick=/, source);
  }
});

test('the search finds the text of a guide under its heading', () => {
  const index = read('search-index.js');
  const entries = JSON.parse(index.slice(index.indexOf('['), index.lastIndexOf(';')));
  const matches = entries.filter(({ words }: { words: string }) => words.includes('relay keys rotate'));
  assert.ok(
    matches.some(({ to }: { to: string }) => to === 'server.html#keys'),
    JSON.stringify(matches),
  );
});
