import { isRelayError, RelayError } from '../../base/errors.ts';
import { jsonObjectIn } from '../../base/json.ts';
import { readDecisions } from './decisions.ts';
import {
  conflictLine,
  DECISIONS_MD,
  type FileText,
  isOurs,
  openJsonFile,
  PROJECT_FILES,
  PROJECT_MD,
  type ProjectFiles,
  placed,
  STATE_JSON,
  TODOS_JSON,
  textAt,
} from './files.ts';
import { isProjectState, readHandoffs, readState } from './state.ts';
import { readTodos, todosIn } from './todos.ts';

/**
 * Content of all project files, read once. A missing or broken file does not stop the reading. `broken` lists
 * the problems.
 */
export type ProjectView = Readonly<Awaited<ReturnType<typeof readProject>>>;

export interface ReadOptions {
  readonly unchecked?: boolean;
  readonly quick?: boolean;
}

/**
 * Reads the project files. With `unchecked`, they are not validated against the schemas. With `quick`, they
 * are not validated either, and todos have no line numbers.
 */
export async function readProject(files: ProjectFiles, now: number, o: ReadOptions = {}) {
  // Load the validation only if it is needed.
  const schemas = o.quick || o.unchecked ? null : await import('./faults.ts');
  const broken: string[] = [];
  const texts = new Map<string, FileText>();
  for (const name of PROJECT_FILES) {
    const file = await files.read(name).catch((error: unknown) => {
      broken.push(sentence(error));
      return null;
    });
    if (file) texts.set(name, file);
  }
  for (const name of [PROJECT_MD, DECISIONS_MD]) {
    const line = conflictLine(texts.get(name)?.text ?? '');
    if (line !== null)
      broken.push(new RelayError('conflicted', { file: placed(name, files.place), line }).message);
  }
  const commented: string[] = [];
  const json = (name: string) => {
    const file = texts.get(name);
    if (!file) return null;
    try {
      const doc = openJsonFile(placed(name, files.place), file.text);
      if (jsonObjectIn(file.text.replace(/^\uFEFF/, '')) === null) commented.push(placed(name, files.place));
      if (schemas) broken.push(...schemas.faults(name, doc));
      return doc;
    } catch (error) {
      broken.push(sentence(error));
      return null;
    }
  };
  const state = json(STATE_JSON);
  // With `quick`, use `JSON.parse`. The other parser keeps positions, and takes ten times as long for
  // thousands of todos.
  const plain = o.quick ? jsonObjectIn(texts.get(TODOS_JSON)?.text.replace(/^\uFEFF/, '')) : null;
  const todos = plain === null ? json(TODOS_JSON) : null;
  const projectMd = texts.get(PROJECT_MD);
  return {
    now,
    folderName: files.folder.split(/[\\/]/).filter(Boolean).at(-1) ?? files.folder,
    /** Names of the existing files, each with the time of its last change in ms. */
    modified: new Map([...texts].map(([name, file]) => [name, file.modifiedAt])),
    /** Folder of the project files, relative to the project folder. */
    place: files.place,
    /** Problems of the files, one sentence each. */
    broken,
    /**
     * Names of files with comments or trailing commas. Writing such a file keeps them, but other programs may not
     * be able to read the file.
     */
    commented,
    /** Names of project files that another program uses in the project folder. */
    foreign: await foreignFiles(files, texts),
    identity: projectMd ? readProjectMd(projectMd.text) : null,
    state: state && isProjectState(state) ? readState(state) : null,
    handoffs: state ? readHandoffs(state) : [],
    todos: todos ? readTodos(todos) : todosIn(plain ?? undefined),
    lastReview: todos ? textAt(todos, ['last_review']) : ((plain?.last_review as string | undefined) ?? null),
    decisions: readDecisions(texts.get(DECISIONS_MD)?.text ?? ''),
    /** Parsed documents, in which line numbers can be looked up. */
    documents: { state, todos },
  };
}

/**
 * Returns the names of project files that another program uses in the project folder. `texts` contains the
 * files of `files.place`, which may be that folder.
 */
async function foreignFiles(files: ProjectFiles, texts: ReadonlyMap<string, FileText>): Promise<string[]> {
  const names: string[] = [];
  for (const name of [STATE_JSON, TODOS_JSON]) {
    const file = files.place === '' ? texts.get(name) : await files.read(`./${name}`).catch(() => null);
    if (file && !isOurs(name, file.text)) names.push(name);
  }
  return names;
}

/** Returns one note per file that has the name of a project file but belongs to another program. */
export function foreignNotes({ foreign, place }: ProjectView): string[] {
  const instead =
    place === ''
      ? 'To put the project files into .relay: relay project init'
      : `The project files are in ${place}.`;
  return foreign.map((name) => `${name} in the project folder belongs to another program. ${instead}`);
}

/**
 * Returns the names of project files that do not exist. A file that exists but cannot be read is not
 * included.
 */
export function missingFiles({ modified, broken }: ProjectView): string[] {
  return PROJECT_FILES.filter((name) => !modified.has(name) && !broken.some((what) => what.includes(name)));
}

function sentence(error: unknown): string {
  return isRelayError(error) ? error.message : `Reading failed: ${(error as Error).message}`;
}

/** Patterns for the headings of PROJECT.md that a brief uses. Such headings may have any level and order. */
const HEADINGS = {
  description: /one.?line|description|about|overview|summary/i,
  stack: /stack|technolog/i,
  constraints: /constraint|rule|requirement/i,
  commands: /\bcommands?\b|^(?:how to )?(?:install|build|compile|test|run|develop|set.?up|getting started)/i,
  layout: /director|layout|structure|folders/i,
  related: /^related documents$/i,
};
type Heading = keyof typeof HEADINGS | 'name' | 'other';

/** Lines of the template that say nothing about the project. */
const TEMPLATE_LINE = /^(?:[\w ]+:|(?:Architecture decisions|Current state|Todo items): \S+)$/;

/**
 * Parses PROJECT.md. `others` contains the sections whose headings do not match `HEADINGS`, and the lines of
 * description sections that `description` leaves out. They are in the order of the file. A missing part is null or
 * empty. A subheading belongs to the part above it, unless it matches one of `HEADINGS`.
 */
function readProjectMd(text: string) {
  const plain = text.replace(/^\uFEFF/, '').replace(/<!--[\s\S]*?(?:-->|$)/g, '');
  const all = split(plain);
  const name = all.find(({ title }) => title !== '')?.title ?? null;
  const unfilled: string[] = [];
  const sections = withKinds(all, name).map((section) => {
    const lines = linesOf(section.body);
    if (lines.some(isPlaceholder)) unfilled.push(section.title);
    const ownLines = lines.filter((line) => !isPlaceholder(line) && !TEMPLATE_LINE.test(line));
    return { ...section, lines: ownLines };
  });
  const of = (kind: Heading) => sections.filter((section) => section.kind === kind);
  const lines = (kind: Heading) => of(kind).flatMap((section) => section.lines);
  const [about] = [...of('description'), ...sections].filter((section) => section.lines.length > 0);
  const description = about ? firstParagraph(about.body) : null;
  const others = sections
    .filter(({ kind }) => kind === 'other' || kind === 'name' || kind === 'description')
    .map(({ title, lines, body }) => {
      const [first = ''] = body.split('\n\n');
      return { title, lines: body === about?.body ? lines.slice(linesOf(first).length) : lines };
    });
  return {
    name,
    description,
    stack: lines('stack'),
    constraints: lines('constraints'),
    commands: lines('commands'),
    layout: lines('layout'),
    related: lines('related'),
    others: others.filter((section) => section.lines.length > 0),
    /** Headings whose placeholder was not replaced. */
    unfilled,
  };
}

interface Section {
  readonly title: string;
  readonly level: number;
  readonly body: string;
}

function withKinds(sections: readonly Section[], name: string | null) {
  let parent: { level: number; kind: Heading } = { level: 0, kind: 'other' };
  return sections.map((section) => {
    const { title, level } = section;
    const headingKind = (Object.keys(HEADINGS) as Heading[]).find(
      (kind) => HEADINGS[kind as keyof typeof HEADINGS].test(title) && title !== name,
    );
    const inherited = level > parent.level ? parent.kind : 'other';
    const kind: Heading = title === '' || title === name ? 'name' : (headingKind ?? inherited);
    if (kind === 'name') return { ...section, kind };
    if (level <= parent.level || headingKind !== undefined || parent.level === 0) parent = { level, kind };
    return { ...section, kind };
  });
}

function split(text: string): Section[] {
  const sections: { title: string; level: number; lines: string[] }[] = [{ title: '', level: 0, lines: [] }];
  let fenced = false;
  for (const line of text.split(/\r\n|\n|\r/)) {
    const fence = /^ {0,3}(?:```|~~~)/.test(line);
    if (fence) fenced = !fenced;
    const heading = fenced ? null : /^(#{1,6})[ \t]+(.*?)[ \t]*#*$/.exec(line);
    if (heading) sections.push({ title: heading[2]!, level: heading[1]!.length, lines: [] });
    else if (!fence) sections.at(-1)!.lines.push(line.trim());
  }
  return sections.map(({ title, level, lines }) => ({ title, level, body: lines.join('\n').trim() }));
}

function firstParagraph(body: string): string | null {
  const text = body.split('\n\n')[0]!.replaceAll('\n', ' ');
  return text === '' || isPlaceholder(text) ? null : text;
}

function linesOf(body: string): string[] {
  return body
    .split('\n')
    .map((line) =>
      line
        .replace(/^(?:[-*+]|\d+[.)])[ \t]+/, '')
        .replace(/[ \t]{2,}/g, ' ')
        .trim(),
    )
    .filter((line) => /[^\s|:-]/.test(line));
}

/** Returns whether a text is a placeholder that the user has not filled in, such as `[What this is for]`. */
function isPlaceholder(text: string): boolean {
  return /^\[[^\]]*\]$/.test(text);
}

/** Returns one note about the comments and trailing commas in all files. */
export function commentNotes({ commented }: ProjectView): string[] {
  if (commented.length === 0) return [];
  return [
    `Comments or trailing commas in ${commented.join(', ')} are kept, but plain JSON does not allow them.`,
  ];
}
