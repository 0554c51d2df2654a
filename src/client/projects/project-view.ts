import STATE_SCHEMA from '../../../schemas/state.schema.json' with { type: 'json' };
import TODOS_SCHEMA from '../../../schemas/todos.schema.json' with { type: 'json' };
import { isRelayError, RelayError } from '../../base/errors.ts';
import { type Json, jsonObjectIn } from '../../base/json.ts';
import type { JsonDocument } from '../../formats/json-document.ts';
import { JsonSchema } from '../../formats/json-schema.ts';
import { readDecisions } from './decisions.ts';
import {
  conflictLine,
  DECISIONS_MD,
  type FileText,
  openJsonFile,
  PROJECT_FILES,
  PROJECT_MD,
  type ProjectFiles,
  STATE_JSON,
  TODOS_JSON,
  textAt,
  timeOf,
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

/** Maximum number of problems that are listed per file. */
const MAX_FAULTS = 3;

/**
 * Reads the project files. `unchecked` skips the validation against the schemas. `quick` skips it too, and
 * also skips the line numbers of todos.
 */
export async function readProject(files: ProjectFiles, now: number, o: ReadOptions = {}) {
  const broken: string[] = [];
  const found = new Map<string, FileText>();
  for (const name of PROJECT_FILES) {
    const file = await files.read(name).catch((error: unknown) => {
      broken.push(sentence(error));
      return null;
    });
    if (file) found.set(name, file);
  }
  for (const name of [PROJECT_MD, DECISIONS_MD]) {
    const line = conflictLine(found.get(name)?.text ?? '');
    if (line !== null) broken.push(new RelayError('conflicted', { file: name, line }).message);
  }
  const json = (name: string) => {
    const file = found.get(name);
    if (!file) return null;
    try {
      const doc = openJsonFile(name, file.text);
      if (!o.quick && !o.unchecked) broken.push(...faults(name, doc));
      return doc;
    } catch (error) {
      broken.push(sentence(error));
      return null;
    }
  };
  const state = json(STATE_JSON);
  // For thousands of todos, the parser that keeps positions takes ten times as long as `JSON.parse`.
  const plain = o.quick ? jsonObjectIn(found.get(TODOS_JSON)?.text.replace(/^\uFEFF/, '')) : null;
  const todos = plain === null ? json(TODOS_JSON) : null;
  const projectMd = found.get(PROJECT_MD);
  return {
    now,
    folderName: files.folder.split(/[\\/]/).filter(Boolean).at(-1) ?? files.folder,
    /** Names of the existing files, each with the time of its last change in ms. */
    modified: new Map([...found].map(([name, file]) => [name, file.modifiedAt])),
    /** Problems of the files, one sentence each. */
    broken,
    identity: projectMd ? readProjectMd(projectMd.text) : null,
    state: state && isProjectState(state) ? readState(state) : null,
    handoffs: state ? readHandoffs(state) : [],
    todos: todos ? readTodos(todos) : todosIn(plain ?? undefined),
    lastReview: todos ? textAt(todos, ['last_review']) : ((plain?.last_review as string | undefined) ?? null),
    decisions: readDecisions(found.get(DECISIONS_MD)?.text ?? ''),
    /** Parsed documents, in which line numbers can be looked up. */
    documents: { state, todos },
  };
}

/**
 * Returns the names of project files that do not exist. A file that exists but cannot be read is not
 * included.
 */
export function missingFiles({ modified, broken }: ProjectView): string[] {
  return PROJECT_FILES.filter((name) => !modified.has(name) && !broken.some((what) => what.includes(name)));
}

/**
 * Returns the schema violations of a file as sentences, in the order of the file. Lists at most `most` of
 * them.
 */
export function faults(name: string, doc: JsonDocument, most: number = MAX_FAULTS): string[] {
  const rules = (name === STATE_JSON ? STATE_SCHEMA : TODOS_SCHEMA) as Json;
  const schema = new JsonSchema(rules, { formats: FORMATS });
  const found = schema
    .problems(doc.get()!)
    .map((problem) => ({ ...problem, at: doc.find(problem.path)!.start }))
    .sort((a, b) => a.at - b.at);
  const told = found.slice(0, most).map(({ path, what }) => {
    const place = [`${name}, line ${doc.place(path).line}`, ...(path.length > 0 ? [path.join('/')] : [])];
    return `${place.join(', ')}: ${what}.`;
  });
  if (found.length > most) told.push(`${name}: ${found.length - most} more; see relay project check`);
  return told;
}

const FORMATS = { 'date-time': (text: string) => timeOf(text) !== null };

function sentence(error: unknown): string {
  return isRelayError(error) ? error.message : `Reading failed: ${(error as Error).message}`;
}

/**
 * Parses the parts of PROJECT.md that a brief shows. Finds them by their headings, in any order and at any
 * level. A missing part is null or empty.
 */
function readProjectMd(text: string) {
  const plain = text.replace(/^\uFEFF/, '').replace(/<!--[\s\S]*?(?:-->|$)/g, '');
  const sections = split(plain);
  const named = (pattern: RegExp) => sections.find(({ title }) => pattern.test(title))?.body;
  const about = named(/one.?line|description|about|overview|summary/i);
  const first = sections.find(({ body }) => body !== '')?.body;
  return {
    name: sections.find(({ title }) => title !== '')?.title ?? null,
    description: firstParagraph(about) ?? firstParagraph(first),
    stack: items(named(/stack|technolog/i)).filter((line) => !/:$/.test(line)),
    constraints: items(named(/constraint|rule|requirement/i)),
  };
}

function split(text: string): { title: string; body: string }[] {
  const sections: { title: string; lines: string[] }[] = [{ title: '', lines: [] }];
  let fenced = false;
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (/^ {0,3}(?:```|~~~)/.test(line)) fenced = !fenced;
    const heading = fenced ? null : /^#{1,6}[ \t]+(.*?)[ \t]*#*$/.exec(line);
    if (heading) sections.push({ title: heading[1]!, lines: [] });
    else sections.at(-1)!.lines.push(line.trim());
  }
  return sections.map(({ title, lines }) => ({ title, body: lines.join('\n').trim() }));
}

function firstParagraph(body = ''): string | null {
  const text = body.split('\n\n')[0]!.replaceAll('\n', ' ');
  return text === '' || isPlaceholder(text) ? null : text;
}

function items(body = ''): string[] {
  return body
    .split('\n')
    .map((line) => line.replace(/^(?:[-*+]|\d+[.)])[ \t]+/, '').trim())
    .filter((line) => line !== '' && !isPlaceholder(line));
}

/** Returns whether a text is a placeholder that the user has not filled in, such as `[What this is for]`. */
function isPlaceholder(text: string): boolean {
  return /^\[[^\]]*\]$/.test(text);
}
