/** PROJECT.md, as far as a brief wants it. */
export interface ProjectIdentity {
  readonly name: string | null;
  readonly description: string | null;
  readonly stack: readonly string[];
  readonly constraints: readonly string[];
}

interface Section {
  readonly title: string;
  readonly lines: readonly string[];
}

/** Finds the parts by their headings, in whatever order and depth; a text without them gives what it can. */
export function readProjectMd(text: string): ProjectIdentity {
  const plain = text.replace(/^\uFEFF/, '').replace(/<!--[\s\S]*?(?:-->|$)/g, '');
  const sections = split(plain);
  const named = (pattern: RegExp) => sections.find(({ title }) => pattern.test(title));
  const name = sections.find(({ title }) => title !== '')?.title ?? null;
  const about = named(/one.?line|description|about|overview|summary/i);
  return {
    name,
    description:
      firstParagraph(about?.lines) ?? firstParagraph(sections.find(({ lines }) => lines.length > 0)?.lines),
    stack: items(named(/stack|technolog/i)?.lines).filter((line) => !/:$/.test(line)),
    constraints: items(named(/constraint|rule|requirement/i)?.lines),
  };
}

function split(text: string): Section[] {
  const sections: { title: string; lines: string[] }[] = [{ title: '', lines: [] }];
  let fenced = false;
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (/^ {0,3}(?:```|~~~)/.test(line)) fenced = !fenced;
    const heading = fenced ? null : /^#{1,6}[ \t]+(.*?)[ \t]*#*$/.exec(line);
    if (heading) sections.push({ title: heading[1]!, lines: [] });
    else if (line.trim() !== '' || sections.at(-1)!.lines.length > 0) sections.at(-1)!.lines.push(line);
  }
  return sections;
}

function firstParagraph(lines: readonly string[] | undefined): string | null {
  if (!lines) return null;
  const end = lines.findIndex((line) => line.trim() === '');
  const text = lines
    .slice(0, end < 0 ? lines.length : end)
    .map((line) => line.trim())
    .join(' ');
  return text === '' || isPlaceholder(text) ? null : text;
}

function items(lines: readonly string[] | undefined): string[] {
  return (lines ?? [])
    .map((line) => line.replace(/^[ \t]*(?:[-*+]|\d+[.)])[ \t]+/, '').trim())
    .filter((line) => line !== '' && !isPlaceholder(line));
}

/** `[What this is for]`: the template, not yet filled in. */
function isPlaceholder(text: string): boolean {
  return /^\[[^\]]*\]$/.test(text);
}
