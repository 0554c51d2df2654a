/** What a reader of the page would see of it: no scripts, styles, comments or hidden parts; blocks on their own lines. */
export function htmlText(html: string): string {
  const title = /<title[^>]*>([\s\S]{0,500}?)<\/title\s*>/i.exec(html)?.[1]?.trim();
  let text = '';
  let at = 0;
  /** Depth inside an element that is not shown, with its name. */
  let hidden: { name: string; depth: number } | null = null;
  for (const tag of html.matchAll(TOKENS)) {
    if (!hidden) text += html.slice(at, tag.index);
    at = tag.index + tag[0].length;
    const name = tag[2]?.toLowerCase();
    if (!name) continue;
    const closing = tag[1] === '/';
    if (hidden) {
      if (name === hidden.name && !tag[0].endsWith('/>')) hidden.depth += closing ? -1 : 1;
      if (hidden.depth === 0) hidden = null;
      continue;
    }
    const opens = !closing && !VOID.has(name) && !tag[0].endsWith('/>');
    if (opens && (UNSHOWN.has(name) || isHidden(tag[3] ?? ''))) hidden = { name, depth: 1 };
    else if (name === 'li' && !closing) text += '\n- ';
    else if (name === 'td' || name === 'th') text += '\t';
    else if (BLOCKS.has(name)) text += '\n';
  }
  if (!hidden) text += html.slice(at);
  const body = decodeEntities(text)
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  return title ? `${decodeEntities(title).replace(/\s+/g, ' ')}\n\n${body}` : body;
}

// No part of a tag runs over the next `<`, so that text made of beginnings of tags is read once and not from each anew.
const TOKENS =
  /<!--[\s\S]*?(?:-->|$)|<!\[CDATA\[|\]\]>|<![^<>]*>|<\?[^<>]*>|<(\/?)([a-zA-Z][a-zA-Z0-9:-]*)((?:[^<>"']|"[^"<]*"|'[^'<]*')*)>/g;

const UNSHOWN = names('script style template noscript head svg math object iframe canvas');
const VOID = names('area base br col embed hr img input link meta source track wbr');
const BLOCKS = names(
  'address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section table tbody thead tr ul',
);

function names(list: string): ReadonlySet<string> {
  return new Set(list.split(' '));
}

/** Ways to write what only a machine will read. */
function isHidden(attributes: string): boolean {
  if (/(?:^|\s)hidden(?:\s|=|\/|$)/i.test(attributes)) return true;
  if (/aria-hidden\s*=\s*["']?true/i.test(attributes)) return true;
  const style = /style\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/i.exec(attributes);
  const rules = (style?.[1] ?? style?.[2] ?? style?.[3] ?? '').replace(/\s/g, '').toLowerCase();
  return /display:none|visibility:hidden|opacity:0(?:\.0+)?(?:;|$)|font-size:0(?:px|em|rem|%|pt)?(?:;|$)|text-indent:-\d{3,}|(?:left|top):-\d{3,}/.test(
    rules,
  );
}

const NAMED: { readonly [name: string]: string } = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  copy: '©',
  reg: '®',
  hellip: '…',
  ndash: '–',
  mdash: '—',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  euro: '€',
  middot: '·',
  times: '×',
  auml: 'ä',
  ouml: 'ö',
  uuml: 'ü',
  szlig: 'ß',
  eacute: 'é',
  egrave: 'è',
};

function decodeEntities(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/g,
    (whole, dec, hex, name) => {
      if (name) return NAMED[name.toLowerCase()] ?? whole;
      const code = dec ? Number(dec) : Number.parseInt(hex, 16);
      return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
        ? String.fromCodePoint(code)
        : '';
    },
  );
}
