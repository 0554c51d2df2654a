import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { readToml } from '../../formats/toml.ts';
import { oneLine } from './decisions.ts';
import { type AdoptedDecision, existingDecisions, firstWords } from './existing-documents.ts';
import type { ProjectFiles, ProjectGit } from './files.ts';

/** What can be found out about a folder without asking anybody. */
export interface ProjectFacts {
  readonly name: string;
  readonly description: string | null;
  readonly frontend: readonly string[];
  readonly backend: readonly string[];
  readonly database: readonly string[];
  readonly deployment: readonly string[];
  readonly folders: readonly { readonly name: string; readonly purpose: string | null }[];
  readonly repository: string | null;
  /** Decisions that have files of their own. */
  readonly decisions: readonly AdoptedDecision[];
}

interface Manifest {
  readonly name?: string;
  readonly description?: string;
  readonly language: string;
  readonly dependencies: readonly string[];
}

/** Reads the manifests it knows, the README, the names in the folder and what was decided; a broken manifest is passed over. */
export async function discover(files: ProjectFiles, git: ProjectGit): Promise<ProjectFacts> {
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
  const dependencies = new Set(manifests.flatMap((manifest) => manifest.dependencies));
  const named = manifests.find(({ name }) => name)?.name;
  const readme = [...names].find((name) => /^readme(?:\.(?:md|markdown|rst|txt))?$/i.test(name));
  const languages = new Set(manifests.map(({ language }) => language));
  return {
    name: oneLine(named ?? lastPart(repository ?? '') ?? lastPart(files.folder) ?? 'Project'),
    description:
      manifests.map(({ description }) => description && oneLine(description)).find(Boolean) ??
      firstWords((await read(readme ?? '')) ?? ''),
    frontend: meaningsOf(FRONTEND, dependencies),
    backend: [...languages, ...meaningsOf(BACKEND, dependencies)],
    database: meaningsOf(DATABASE, dependencies),
    deployment: meaningsOf(DEPLOYMENT, names),
    folders: entries
      .filter(({ name, folder }) => folder && !name.startsWith('.') && !MADE.test(name))
      .slice(0, 20)
      .map(({ name }) => ({
        name: oneLine(name),
        purpose: meaningsOf(FOLDERS, new Set([name.toLowerCase()]))[0] ?? null,
      })),
    repository,
    decisions: await existingDecisions(files),
  };
}

function meaningsOf(table: Signs, found: ReadonlySet<string>): string[] {
  return Object.keys(table).filter((meaning) => table[meaning]!.some((sign) => found.has(sign)));
}

function fromPackageJson(text: string | null, names: ReadonlySet<string>): Manifest | null {
  const manifest = parsed(text, JSON.parse);
  if (manifest === null) return null;
  const dependencies = ['dependencies', 'devDependencies', 'peerDependencies'].flatMap((field) =>
    Object.keys(tableAt(manifest, field)),
  );
  const typed = names.has('tsconfig.json') || dependencies.includes('typescript');
  return manifestOf(typed ? 'TypeScript on Node.js' : 'JavaScript on Node.js', dependencies, manifest);
}

function fromPyproject(text: string | null): Manifest | null {
  const manifest = parsed(text, readToml);
  if (manifest === null) return null;
  const project = tableAt(manifest, 'project');
  const poetry = tableAt(manifest, 'tool', 'poetry');
  const groups = Object.values(tableAt(poetry, 'group'));
  const required = Array.isArray(project.dependencies) ? project.dependencies : [];
  const dependencies = [
    ...required.map((line) => /^[A-Za-z0-9._-]+/.exec(String(line))?.[0] ?? ''),
    ...[poetry, ...groups].flatMap((group) => Object.keys(tableAt(group, 'dependencies'))),
  ];
  return manifestOf('Python', dependencies, project, poetry);
}

function fromCargo(text: string | null): Manifest | null {
  const manifest = parsed(text, readToml);
  if (manifest === null) return null;
  const required = [tableAt(manifest, 'dependencies'), tableAt(manifest, 'workspace', 'dependencies')];
  return manifestOf('Rust', required.flatMap(Object.keys), tableAt(manifest, 'package'));
}

/** Name and description are those of the first table that has them. */
function manifestOf(language: string, dependencies: readonly string[], ...tables: JsonObject[]): Manifest {
  const text = (key: string) => tables.map((table) => table[key]).find((value) => typeof value === 'string');
  return {
    name: text('name'),
    description: text('description'),
    language,
    dependencies: dependencies.map((name) => name.toLowerCase()),
  };
}

/** Empty where there is no such table. */
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
  const name = module
    ?.replace(/\/v\d+$/, '')
    .split('/')
    .at(-1);
  return { name, language: 'Go', dependencies: required.map((path) => path.replace(/\/v\d+$/, '')) };
}

/** Null where it is missing, broken or no object. */
function parsed(text: string | null, parse: (text: string) => unknown): JsonObject | null {
  try {
    const value = parse((text ?? '').replace(/^\uFEFF/, ''));
    return text !== null && isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

function lastPart(path: string): string | null {
  return (
    path
      .replace(/[\\/]+$/, '')
      .replace(/\.git$/, '')
      .split(/[\\/:]/)
      .at(-1) || null
  );
}

/** Folders that tools make: nobody has to know them. */
const MADE = /^(?:node_modules|dist|build|target|out|venv|__pycache__|coverage|vendor)$/;

/** What the names of dependencies, files and folders usually mean. Anything else is left for its owner to say. */
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
    'pg',
    'postgres',
    'psycopg',
    'psycopg2',
    'psycopg2-binary',
    'asyncpg',
    'github.com/jackc/pgx',
    'github.com/lib/pq',
    'tokio-postgres',
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

const FOLDERS: Signs = {
  'the code': ['src'],
  'the code that others import': ['lib'],
  'the application': ['app'],
  'programs to run': ['bin', 'cmd'],
  'code for this repository alone': ['internal'],
  'packages for others': ['pkg'],
  'the packages of this workspace': ['packages'],
  'the applications of this workspace': ['apps'],
  documents: ['docs', 'doc'],
  tests: ['test', 'tests', 'spec'],
  'tests of the whole': ['e2e'],
  'examples that run': ['examples'],
  chores: ['scripts', 'tools'],
  'files served as they are': ['public', 'static'],
  'pictures and other material': ['assets'],
  'changes to the database, in order': ['migrations'],
  settings: ['config'],
  'where it runs': ['infra', 'deploy'],
  measurements: ['bench'],
};
