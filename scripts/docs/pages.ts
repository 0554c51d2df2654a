/**
 * Renders the guides as HTML: every Markdown file in docs/, and the files in `AT_ROOT` from the root folder.
 */
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import markdownIt from 'markdown-it';
import { guideIndex } from '../../src/interfaces/cli/commands/about.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const AT_ROOT = ['SECURITY.md', 'CHANGELOG.md'];

export interface Page {
  /** Path relative to the repository's root: `docs/channels.md`. */
  readonly source: string;
  /** Path of the HTML file relative to the output folder: `channels.html`. */
  readonly path: string;
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
}

export interface Heading {
  readonly level: number;
  readonly text: string;
  readonly anchor: string;
  /** Text between this heading and the next one, for the search index. */
  readonly words: string;
}

export function readPages(): Page[] {
  const guides = globSync('docs/**/*.md', { cwd: ROOT }).map((path) => path.replaceAll('\\', '/'));
  const sources = [...guides.sort(), ...AT_ROOT];
  return sources.map((source) => page(source, readFileSync(join(ROOT, source), 'utf8'), new Set(sources)));
}

/** Returns the sections of the index page docs/README.md. The menu shows the same sections. */
export function menu(): ReturnType<typeof guideIndex> {
  return guideIndex(readFileSync(join(ROOT, 'docs', 'README.md'), 'utf8'));
}

/**
 * Returns a page's path: `docs/README.md` → index.html, `docs/integrations/README.md` →
 * integrations/index.html, `SECURITY.md` → security.html.
 */
export function pathOf(source: string): string {
  const path = AT_ROOT.includes(source) ? source.toLowerCase() : source.replace(/^docs\//, '');
  return path.replace(/README\.md$/, 'index.md').replace(/\.md$/, '.html');
}

function page(source: string, markdown: string, all: ReadonlySet<string>): Page {
  const renderer = markdownIt({ html: false, linkify: false });
  const tokens = renderer.parse(markdown.replace(/<!--[\s\S]*?-->\n?/g, ''), {});
  const headings: { level: number; text: string; anchor: string; words: string }[] = [];
  const anchors = new Map<string, number>();
  let columns: string[] = [];
  let column = 0;
  for (const [at, token] of tokens.entries()) {
    const inline = tokens[at + 1];
    if (token.type === 'heading_open' && inline) {
      const text = plain(inline);
      const anchor = unique(slug(text), anchors);
      token.attrSet('id', anchor);
      headings.push({ level: Number(token.tag.slice(1)), text, anchor, words: '' });
    } else if (headings.length > 0) {
      const last = headings.at(-1)!;
      if (token.type === 'inline' && tokens[at - 1]?.type !== 'heading_open')
        last.words += ` ${plain(token)}`;
      if (token.type === 'fence' && ['sh', 'console'].includes(token.info)) last.words += ` ${token.content}`;
    }
    // The Markdown renderer aligns cells with inline styles, but the pages' content security policy forbids
    // them.
    if (token.attrGet('style') !== null) token.attrs = [['class', 'right']];
    if (token.type === 'thead_open') columns = [];
    if (token.type === 'th_open') columns.push(inline ? plain(inline) : '');
    if (token.type === 'tr_open') column = 0;
    if (token.type === 'td_open') {
      // On narrow screens a table has no columns, so each cell shows the title of its column.
      if (column > 0 && columns[column]) token.attrSet('data-column', columns[column]!);
      column++;
    }
    for (const child of token.children ?? []) {
      const to = child.type === 'link_open' ? 'href' : child.type === 'image' ? 'src' : null;
      if (to) child.attrSet(to, target(source, String(child.attrGet(to) ?? ''), all));
    }
  }
  renderer.renderer.rules.table_open = () => '<div class="wide"><table>\n';
  renderer.renderer.rules.table_close = () => '</table></div>\n';
  renderer.renderer.rules.fence = (list, at) => fence(list[at]!.content, list[at]!.info);
  const [first] = headings;
  const html = renderer.renderer.render(tokens, renderer.options, {});
  return { source, path: pathOf(source), title: first?.text ?? source, html, headings };
}

type Token = ReturnType<ReturnType<typeof markdownIt>['parse']>[number];

function plain(inline: Token): string {
  return (inline.children ?? [])
    .map(({ type, content }) => (type === 'softbreak' ? ' ' : content))
    .join('')
    .trim();
}

function unique(anchor: string, counts: Map<string, number>): string {
  const times = counts.get(anchor) ?? 0;
  counts.set(anchor, times + 1);
  return times === 0 ? anchor : `${anchor}-${times}`;
}

/**
 * Returns the id of a heading. GitHub makes the same id, so the same link works on GitHub and on these pages.
 */
export function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}

/**
 * Converts the target of a link in Markdown. The target of a link to another page becomes the HTML path of that page. A
 * link to any other file of the repository gets the prefix `REPOSITORY`. External links do not change.
 */
function target(source: string, to: string, all: ReadonlySet<string>): string {
  if (/^(?:https?:|mailto:|#)/.test(to)) return to;
  const [path = '', anchor] = to.split('#');
  const file = posix.join(posix.dirname(source), path);
  const from = posix.dirname(pathOf(source));
  const hash = anchor === undefined ? '' : `#${anchor}`;
  if (all.has(file)) return posix.relative(from, pathOf(file)) + hash;
  if (file.startsWith('docs/images/')) return posix.relative(from, file.replace(/^docs\//, ''));
  return `${REPOSITORY}:${file}`;
}

/**
 * Prefix of links to files of the repository that are not pages. When a page is written, these links become
 * plain text.
 */
export const REPOSITORY = 'repository';

/**
 * Renders a code block with dimmed shell comments and program output. The element of a comment includes the line break,
 * so that a narrow screen can show the comment on a separate line.
 */
function fence(code: string, kind: string): string {
  const text = escaped(code);
  const html =
    kind === 'sh'
      ? text.replace(/(^|\s)(#.*\n?)/gm, '$1<i class="comment">$2</i>')
      : kind === 'console'
        ? text.replace(/^(?!\$ )(.+)$/gm, '<i>$1</i>')
        : text;
  return `<pre><code>${html}</code></pre>\n`;
}

export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
