import { oneLine } from './decisions.ts';
import type { ProjectFiles } from './files.ts';
import { plainLine } from './plain-line.ts';

/** A decision that is written down in a file of its own already. */
export interface AdoptedDecision {
  /** `ADR-007` of `0007-groups.md`. */
  readonly id: string;
  readonly title: string;
  readonly status: string | null;
  readonly date: string | null;
  readonly path: string;
}

/** Where records of decisions usually are. */
const FOLDERS = ['docs/adr', 'docs/adrs', 'docs/decisions', 'docs/architecture/decisions', 'doc/adr', 'adr'];
/** More than anybody would look through. */
const MOST = 500;

/** Those of the first folder that has some; of two with one number the first. A file without a number is none. */
export async function existingDecisions(files: ProjectFiles): Promise<AdoptedDecision[]> {
  for (const folder of FOLDERS) {
    const found = new Map<string, AdoptedDecision>();
    for (const { name } of (await files.list(folder).catch(() => [])).slice(0, MOST)) {
      const number = /^(?:adr[-_ ]?)?(\d{1,6})[-_. ].*\.(?:md|markdown)$/i.exec(name)?.[1];
      const path = `${folder}/${name}`;
      const text = number && (await files.read(path).catch(() => null))?.text;
      const id = `ADR-${String(Number(number)).padStart(3, '0')}`;
      if (text && !found.has(id)) found.set(id, { id, path, ...readRecord(text, name) });
    }
    if (found.size > 0) return [...found.values()];
  }
  return [];
}

function readRecord(text: string, name: string): Pick<AdoptedDecision, 'title' | 'status' | 'date'> {
  const heading = /^(?:title:|#)[ \t]+(.+)$/m.exec(text)?.[1] ?? name.replace(/\.\w+$/, '');
  const field = (label: string) =>
    new RegExp(`^(?:[-*][ \\t]+)?(?:\\*\\*)?${label}(?:\\*\\*)?:(?:\\*\\*)?[ \\t]*(\\S.*)$`, 'im').exec(
      text,
    )?.[1] ?? new RegExp(`^#+[ \\t]+${label}[ \\t]*\\r?\\n\\s*([^#\\s].*)$`, 'im').exec(text)?.[1];
  const status = field('status');
  return {
    title: plainWords(heading.replace(/^(?:ADR[- ]?)?\d+[.:)\s–—-]+/i, '')),
    status: status === undefined ? null : plainWords(status),
    date: /\d{4}-\d\d-\d\d/.exec(field('date') ?? '')?.[0] ?? null,
  };
}

/** The first paragraph of a README that is neither a heading nor pictures, as one line. */
export function firstWords(readme: string): string | null {
  const plain = readme.replace(/^\uFEFF/, '').replace(/^---\r?\n[\s\S]*?\n---\r?\n|<!--[\s\S]*?-->/g, '');
  for (const paragraph of plain.split(/(?:\r?\n[ \t]*){2,}/)) {
    const lines = paragraph.split(/\r?\n/).filter((line) => !/^\s*(?:#|[=~-]{3,}\s*$)/.test(line));
    // In reStructuredText and older Markdown the line under a heading makes it one.
    const underlined = /\n[=~-]{3,}\s*$/.test(paragraph);
    const words = underlined || /^\s*(?:```|~~~|[|>.])/.test(paragraph) ? '' : plainWords(lines.join(' '));
    if (/\p{L}{2}/u.test(words)) return words;
  }
  return null;
}

/** Without pictures, tags and the addresses of links. */
function plainWords(text: string): string {
  const words = text
    .replace(/!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])/g, '')
    .replace(/\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, '$1')
    .replace(/<[^>]{1,300}>|[*_`]{2,}|`/g, '');
  return plainLine(oneLine(words));
}
