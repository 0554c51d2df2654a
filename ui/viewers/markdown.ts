import DOMPurify from 'dompurify';
import MarkdownIt from 'markdown-it';

const reader = new MarkdownIt({ html: false, linkify: false, typographer: false });
// Never fetch an image, because its host would learn who is viewing the page.
reader.renderer.rules.image = (tokens, at) => {
  const { content, attrs } = tokens[at]!;
  const source = attrs?.find(([name]) => name === 'src')?.[1] ?? '';
  return reader.utils.escapeHtml(`[image: ${content} ${source}]`);
};

// Remove the inline styles that align columns, because the content security policy forbids them.
reader.core.ruler.push('without_styles', ({ tokens }) => {
  for (const token of tokens) token.attrs = token.attrs?.filter(([name]) => name !== 'style') ?? null;
});

const TAGS =
  'h1 h2 h3 h4 h5 h6 p ul ol li blockquote pre code em strong s a hr br table thead tbody tr th td'.split(
    ' ',
  );

/**
 * Returns the text as DOM nodes. They contain only allowed elements, and links only to `http(s)` addresses.
 */
export function renderMarkdown(text: string): DocumentFragment {
  const fragment = DOMPurify.sanitize(reader.render(text), {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ['href', 'start'],
    ALLOWED_URI_REGEXP: /^https?:\/\//i,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const link of fragment.querySelectorAll('a')) {
    link.target = '_blank';
    link.rel = 'noopener noreferrer nofollow';
    if (link.href) link.title = link.href;
  }
  // Move headings down by two levels, because the page has headings of its own above this text.
  for (const heading of fragment.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    const level = Math.min(Number(heading.tagName[1]) + 2, 6);
    const lower = document.createElement(`h${level}`);
    lower.className = `was-${heading.tagName.toLowerCase()}`;
    lower.append(...heading.childNodes);
    heading.replaceWith(lower);
  }
  for (const table of fragment.querySelectorAll('table')) {
    const scroller = document.createElement('div');
    scroller.className = 'markdown-table';
    scroller.tabIndex = 0;
    table.replaceWith(scroller);
    scroller.append(table);
  }
  return fragment;
}
