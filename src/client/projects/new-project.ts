import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { readToml } from '../../formats/toml.ts';
import { plainLine } from './brief.ts';
import { oneLine } from './decisions.ts';
import { DECISIONS_MD, type ProjectFiles, type ProjectGit, STATE_JSON, TODOS_JSON } from './files.ts';

/** Facts about a project that are found in its folder, without asking the user. */
type ProjectFacts = Awaited<ReturnType<typeof discover>>;

interface Manifest {
  readonly file: string;
  readonly name?: string;
  readonly description?: string;
  readonly language: string;
  readonly dependencies: readonly string[];
  /**
   * True for a package that other programs import. Then dependencies and files say little about the purpose
   * of the package.
   */
  readonly library?: boolean;
}

/**
 * Finds facts in known manifests, the README, file names and existing decision files. Skips a broken
 * manifest.
 */
export async function discover(files: ProjectFiles, git: ProjectGit) {
  const entries = await files.list();
  const names = new Set(entries.map(({ name }) => name));
  const read = async (name: string) =>
    names.has(name) ? ((await files.read(name).catch(() => null))?.text ?? null) : null;
  const manifests = [
    fromPackageJson(await read('package.json'), names),
    fromPyproject(await read('pyproject.toml')),
    fromCargo(await read('Cargo.toml')),
    fromGoMod(await read('go.mod')),
  ].filter((manifest) => manifest !== null);
  const repository = await git.remote();
  const dependencies = new Map(
    manifests.flatMap(({ file, dependencies }) => dependencies.map((name) => [name.toLowerCase(), file])),
  );
  const application = !manifests.some(({ library }) => library);
  const named = manifests.find(({ name }) => name)?.name;
  const readme = [...names].find((name) => /^readme(?:\.(?:md|markdown|rst|txt))?$/i.test(name));
  return {
    name: oneLine(named ?? lastPart(repository ?? '') ?? lastPart(files.folder) ?? 'Project'),
    description:
      manifests.map(({ description }) => description && oneLine(description)).find(Boolean) ??
      firstParagraph((await read(readme ?? '')) ?? ''),
    frontend: application ? guess(FRONTEND, dependencies) : [],
    backend: [
      ...manifests.map(({ language, file }) => ({ what: language, from: file })),
      ...guess(BACKEND, dependencies),
    ],
    database: application ? guess(DATABASE, dependencies) : [],
    deployment: application ? guess(DEPLOYMENT, new Map([...names].map((name) => [name, name]))) : [],
    folders: entries
      .filter(({ name, folder }) => folder && !name.startsWith('.') && !GENERATED.test(name))
      .slice(0, 20)
      .map(({ name }) => oneLine(name)),
    repository,
    /** Existing decisions, which have their own files. */
    decisions: await existingDecisions(files),
  };
}

/** A part of the tech stack that was guessed, and the file on which the guess is based. */
interface Guess {
  readonly what: string;
  readonly from: string;
}

/** Guesses parts of the tech stack from signs such as dependencies. `filesBySign` maps each sign to its file. */
function guess(table: Signs, filesBySign: ReadonlyMap<string, string>): Guess[] {
  return Object.keys(table).flatMap((what) => {
    const sign = table[what]!.find((each) => filesBySign.has(each));
    return sign === undefined ? [] : [{ what, from: filesBySign.get(sign)! }];
  });
}

function fromPackageJson(text: string | null, names: ReadonlySet<string>): Manifest | null {
  const manifest = parseManifest(text, JSON.parse);
  if (manifest === null) return null;
  const typed = names.has('tsconfig.json') || 'typescript' in tableAt(manifest, 'devDependencies');
  const dependencies = Object.keys(tableAt(manifest, 'dependencies'));
  const library = manifest.private !== true && (manifest.exports ?? manifest.types) !== undefined;
  return {
    ...manifestOf('package.json', typed ? 'TypeScript' : 'JavaScript', dependencies, manifest),
    library,
  };
}

function fromPyproject(text: string | null): Manifest | null {
  const manifest = parseManifest(text, readToml);
  if (manifest === null) return null;
  const project = tableAt(manifest, 'project');
  const poetry = tableAt(manifest, 'tool', 'poetry');
  const groups = Object.values(tableAt(poetry, 'group'));
  const required = Array.isArray(project.dependencies) ? project.dependencies : [];
  const dependencies = [
    ...required.map((line) => /^[A-Za-z0-9._-]+/.exec(String(line))?.[0] ?? ''),
    ...[poetry, ...groups].flatMap((group) => Object.keys(tableAt(group, 'dependencies'))),
  ];
  return manifestOf('pyproject.toml', 'Python', dependencies, project, poetry);
}

function fromCargo(text: string | null): Manifest | null {
  const manifest = parseManifest(text, readToml);
  if (manifest === null) return null;
  const required = [tableAt(manifest, 'dependencies'), tableAt(manifest, 'workspace', 'dependencies')];
  const dependencies = required.flatMap(Object.keys);
  return manifestOf('Cargo.toml', 'Rust', dependencies, tableAt(manifest, 'package'));
}

/**
 * Builds a manifest. The name comes from the first table that has a name, the description from the first table that
 * has a description.
 */
function manifestOf(
  file: string,
  language: string,
  dependencies: Manifest['dependencies'],
  ...tables: JsonObject[]
): Manifest {
  const text = (key: string) => tables.map((table) => table[key]).find((value) => typeof value === 'string');
  return { file, name: text('name'), description: text('description'), language, dependencies };
}

/** Returns the table at a path. Returns an empty table if there is none. */
function tableAt(value: Json | undefined, ...path: string[]): JsonObject {
  const found = path.reduce((at, key) => (isJsonObject(at) ? at[key] : undefined), value);
  return isJsonObject(found) ? found : {};
}

function fromGoMod(text: string | null): Manifest | null {
  if (text === null) return null;
  const module = /^module\s+(\S+)/m.exec(text)?.[1];
  const required = [...text.matchAll(/^\s*(?:require\s+)?([\w.-]+\.[a-z]{2,}\/\S+)\s+v\d/gm)].map(
    (found) => found[1]!,
  );
  const name = module?.replace(/\/v\d+$/, '').replace(/^.*\//, '');
  const dependencies = required.map((path) => path.replace(/\/v\d+$/, ''));
  return { file: 'go.mod', name, language: 'Go', dependencies };
}

/** Parses a manifest. Returns null if the text is missing, invalid or not an object. */
function parseManifest(text: string | null, parse: (text: string) => unknown): JsonObject | null {
  try {
    const value = parse((text ?? '').replace(/^\uFEFF/, ''));
    return text !== null && isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

function lastPart(path: string): string | null {
  const parts = path
    .replace(/[\\/]+$/, '')
    .replace(/\.git$/, '')
    .split(/[\\/:]/);
  return parts.at(-1) || null;
}

/** Folders that tools generate. They are not listed in PROJECT.md. */
const GENERATED = /^(?:node_modules|dist|build|target|out|venv|__pycache__|coverage|vendor)$/;

/**
 * Part of the tech stack → names of dependencies or files that show that a project uses it. For a part that
 * is not listed, the user must add the fact by hand.
 */
type Signs = { readonly [meaning: string]: readonly string[] };

const FRONTEND: Signs = {
  React: ['react'],
  Vue: ['vue'],
  Svelte: ['svelte'],
  Solid: ['solid-js'],
  Preact: ['preact'],
  Angular: ['@angular/core'],
  Lit: ['lit'],
  'Next.js': ['next'],
  Nuxt: ['nuxt'],
  Astro: ['astro'],
  Vite: ['vite'],
  'Tailwind CSS': ['tailwindcss'],
  Electron: ['electron'],
  'React Native': ['react-native'],
};

const BACKEND: Signs = {
  Express: ['express'],
  Fastify: ['fastify'],
  Hono: ['hono'],
  Koa: ['koa'],
  NestJS: ['@nestjs/core'],
  Django: ['django'],
  Flask: ['flask'],
  FastAPI: ['fastapi'],
  Starlette: ['starlette'],
  Axum: ['axum'],
  'Actix Web': ['actix-web'],
  Rocket: ['rocket'],
  Gin: ['github.com/gin-gonic/gin'],
  Echo: ['github.com/labstack/echo'],
  chi: ['github.com/go-chi/chi'],
  Fiber: ['github.com/gofiber/fiber'],
};

const DATABASE: Signs = {
  PostgreSQL: [
    ...['pg', 'postgres', 'tokio-postgres', 'github.com/jackc/pgx', 'github.com/lib/pq'],
    ...['psycopg', 'psycopg2', 'psycopg2-binary', 'asyncpg'],
  ],
  MySQL: ['mysql2', 'pymysql'],
  SQLite: ['better-sqlite3', 'rusqlite', 'github.com/mattn/go-sqlite3'],
  MongoDB: ['mongodb', 'mongoose', 'pymongo'],
  Redis: ['redis', 'ioredis', 'github.com/redis/go-redis'],
  Prisma: ['@prisma/client'],
  Drizzle: ['drizzle-orm'],
  SQLAlchemy: ['sqlalchemy'],
  SQLx: ['sqlx'],
};

const DEPLOYMENT: Signs = {
  Docker: ['Dockerfile'],
  'Docker Compose': ['docker-compose.yml', 'compose.yaml'],
  'Cloudflare Workers': ['wrangler.toml', 'wrangler.jsonc'],
  Vercel: ['vercel.json'],
  Netlify: ['netlify.toml'],
  'Fly.io': ['fly.toml'],
  Render: ['render.yaml'],
  Procfile: ['Procfile'],
  'Serverless Framework': ['serverless.yml'],
  Helm: ['Chart.yaml'],
};

/** A decision that already has its own file. */
interface AdoptedDecision {
  /** Id from the file name: `ADR-007` for `0007-groups.md`. */
  readonly id: string;
  readonly title: string;
  readonly status: string | null;
  readonly date: string | null;
  readonly path: string;
}

/** Folders in which projects usually keep decision records. */
const DECISION_FOLDERS = [
  'docs/adr',
  'docs/adrs',
  'docs/decisions',
  'docs/architecture/decisions',
  'doc/adr',
  'adr',
];
/** Maximum number of files in a folder that are checked for decisions. */
const MOST = 500;

/**
 * Returns the decisions of the first folder that contains any. If two files have the same number, only the
 * first one is used. Files without a number are ignored.
 */
async function existingDecisions(files: ProjectFiles): Promise<AdoptedDecision[]> {
  for (const folder of DECISION_FOLDERS) {
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
    title: stripMarkup(heading.replace(/^(?:ADR[- ]?)?\d+[.:)\s–—-]+/i, '')),
    status: status === undefined ? null : stripMarkup(status),
    date: /\d{4}-\d\d-\d\d/.exec(field('date') ?? '')?.[0] ?? null,
  };
}

/** Returns the first paragraph of a README as one line. Headings and images are skipped. */
function firstParagraph(readme: string): string | null {
  const plain = readme.replace(/^\uFEFF/, '').replace(/^---\r?\n[\s\S]*?\n---\r?\n|<!--[\s\S]*?-->/g, '');
  for (const paragraph of plain.split(/(?:\r?\n[ \t]*){2,}/)) {
    const lines = paragraph.split(/\r?\n/).filter((line) => !/^\s*(?:#|[=~-]{3,}\s*$)/.test(line));
    // In reStructuredText and older Markdown an underlined paragraph is a heading.
    const underlined = /\n[=~-]{3,}\s*$/.test(paragraph);
    const plain = underlined || /^\s*(?:```|~~~|[|>.])/.test(paragraph) ? '' : stripMarkup(lines.join(' '));
    // If the paragraph is too long for a line, keep only its whole sentences.
    if (/\p{L}{2}/u.test(plain)) return plain.replace(/(?<=[.!?]) (?:(?![.!?] ).)*…$/, '');
  }
  return null;
}

/** Removes images, tags, link addresses and emphasis, and returns one line. */
function stripMarkup(text: string): string {
  const plain = text
    .replace(/!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])/g, '')
    .replace(/\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, '$1')
    .replace(/<[^>]{1,300}>|[*_`]{2,}|`/g, '');
  return plainLine(oneLine(plain));
}

/**
 * Returns a new PROJECT.md. Its headings are part of the file format. Texts in brackets are hints for the
 * user.
 */

export function projectMd(facts: ProjectFacts): string {
  const stack = (label: string, found: readonly Guess[]) => {
    const sources = [...new Set(found.map(({ from }) => from))];
    const summary = found.map(({ what }) => what).join(', ');
    return `- ${label}:${found.length ? ` ${summary} (guessed from ${sources.join(', ')})` : ''}`;
  };
  const folders = facts.folders.map((name) => `/${name}`);
  return `${[
    `# ${facts.name}`,
    '',
    '## One-Line Description',
    facts.description ?? '[Describe in one sentence what the project does and for whom]',
    '',
    '## Tech Stack',
    stack('Frontend', facts.frontend),
    stack('Backend', facts.backend),
    stack('Database', facts.database),
    stack('Deployment', facts.deployment),
    '',
    '## Directory Structure',
    ...(folders.length ? folders : ['[List the important folders, one per line]']),
    '',
    '## Key Constraints',
    '[List what must not change: public interfaces, limits, promises]',
    '',
    '## Related Documents',
    `- Architecture decisions: ${DECISIONS_MD}`,
    `- Current state: ${STATE_JSON}`,
    `- Todo items: ${TODOS_JSON}`,
    ...(facts.repository ? [`- Repository: ${facts.repository}`] : []),
  ].join('\n')}\n`;
}

export function stateJson(at: string): string {
  return json({
    phase: '',
    current_task: '',
    progress: { completed: [], in_progress: '', blocked: [], next_steps: [] },
    last_update: at,
    session_id: '',
    notes: '',
  });
}

export function todosJson(at: string): string {
  return json({ todos: [], last_review: at });
}

/** Returns a new decisions.md. It lists existing decision files with their paths and does not copy them. */
function decisionsMd(_at: string, adopted: readonly AdoptedDecision[] = []): string {
  const records = adopted.map(({ id, title, status, date, path }) =>
    [
      `\n## ${id}: ${title}`,
      ...(date === null ? [] : [`- Date: ${date}`]),
      ...(status === null ? [] : [`- Status: ${status}`]),
      `- Decision: see ${path}\n`,
    ].join('\n'),
  );
  return `# Architecture Decision Records\n${records.join('')}`;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Functions that return the text of each new file, except PROJECT.md. */
export const TEMPLATES = { [STATE_JSON]: stateJson, [TODOS_JSON]: todosJson, [DECISIONS_MD]: decisionsMd };
