/** The pages of the guides as HTML: one for each Markdown file of docs/, and for those at the root that it links to. */
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import markdownIt from 'markdown-it';
import { guideIndex } from '../../src/interfaces/cli/commands/about.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const AT_ROOT = ['SECURITY.md', 'CHANGELOG.md'];

export interface Page {
  /** From the root of the repository on: `docs/channels.md`. */
  readonly source: string;
  /** From the folder of the pages on: `channels.html`. */
  readonly path: string;
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
}

export interface Heading {
  readonly level: number;
  readonly text: string;
  readonly anchor: string;
  /** What stands below it, for the search. */
  readonly words: string;
}

export function readPages(): Page[] {
  const guides = globSync('docs/**/*.md', { cwd: ROOT }).map((path) => path.replaceAll('\\', '/'));
  const sources = [...guides.sort(), ...AT_ROOT];
  return sources.map((source) => page(source, readFileSync(join(ROOT, source), 'utf8'), new Set(sources)));
}

/** The sections of the index, which are those of the menu. */
export function menu(): ReturnType<typeof guideIndex> {
  return guideIndex(readFileSync(join(ROOT, 'docs', 'README.md'), 'utf8'));
}

/** `docs/README.md` is index.html, `docs/integrations/README.md` integrations/index.html, `SECURITY.md` security.html. */
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
    // A style of its own is not allowed on a page.
    if (token.attrGet('style') !== null) token.attrs = [['class', 'right']];
    if (token.type === 'thead_open') columns = [];
    if (token.type === 'th_open') columns.push(inline ? plain(inline) : '');
    if (token.type === 'tr_open') column = 0;
    if (token.type === 'td_open') {
      // Where there is no room for columns, each cell says which it is from.
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

function unique(anchor: string, seen: Map<string, number>): string {
  const times = seen.get(anchor) ?? 0;
  seen.set(anchor, times + 1);
  return times === 0 ? anchor : `${anchor}-${times}`;
}

/** As GitHub makes them, so that one link works on both. */
export function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}

/** A link from one Markdown file to another becomes one from page to page; what is no page stays a name. */
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

/** What a link to a file of the repository begins with until the page is written, where it becomes its name alone. */
export const REPOSITORY = 'repository';

/** Comments of a shell stand back, and so does what a program prints. A comment has its end of line, since on a phone it is a line of its own. */
function fence(code: string, kind: string): string {
  const text = escaped(code);
  const shown =
    kind === 'sh'
      ? text.replace(/(^|\s)(#.*\n?)/gm, '$1<i class="comment">$2</i>')
      : kind === 'console'
        ? text.replace(/^(?!\$ )(.+)$/gm, '<i>$1</i>')
        : text;
  return `<pre><code>${shown}</code></pre>\n`;
}

export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
