import { isJsonObject } from '../../base/json.ts';
import { oneLine } from './decisions.ts';
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
}

interface Manifest {
  readonly name?: string;
  readonly description?: string;
  readonly language: string;
  readonly dependencies: readonly string[];
}

/** Reads the manifests it knows and the names in the folder; a broken manifest is passed over. */
export async function discover(files: ProjectFiles, git: ProjectGit | null): Promise<ProjectFacts> {
  const entries = await files.list();
  const names = new Set(entries.map(({ name }) => name));
  const read = async (name: string) =>
    names.has(name) ? ((await files.read(name).catch(() => null))?.text ?? null) : null;
  const manifests = [
    fromPackageJson(await read('package.json'), names),
    fromToml(await read('pyproject.toml'), 'Python', ['project', 'tool.poetry'], pythonDependencies),
    fromToml(await read('Cargo.toml'), 'Rust', ['package'], (text) =>
      keysOf(text, /^(?:workspace\.)?dependencies$/),
    ),
    fromGoMod(await read('go.mod')),
  ].filter((manifest) => manifest !== null);
  const repository = await git?.remote().catch(() => null);
  const dependencies = new Set(manifests.flatMap((manifest) => manifest.dependencies));
  const pick = (kind: 'frontend' | 'backend') =>
    Object.entries(FRAMEWORKS)
      .filter(([dependency, [side]]) => side === kind && dependencies.has(dependency))
      .map(([, [, label]]) => label);
  const named = manifests.find(({ name }) => name)?.name;
  return {
    name: oneLine(named ?? lastPart(repository ?? '') ?? lastPart(files.folder) ?? 'Project'),
    description:
      manifests.map(({ description }) => description && oneLine(description)).find(Boolean) ?? null,
    frontend: unique(pick('frontend')),
    backend: unique([...manifests.map(({ language }) => language), ...pick('backend')]),
    database: unique(
      Object.entries(DATABASE)
        .filter(([name]) => dependencies.has(name))
        .map(([, label]) => label),
    ),
    deployment: unique(
      Object.entries(DEPLOYMENT)
        .filter(([name]) => names.has(name))
        .map(([, label]) => label),
    ),
    folders: entries
      .filter(
        ({ name, folder }) =>
          folder &&
          !name.startsWith('.') &&
          !/^(?:node_modules|dist|build|target|out|venv|__pycache__|coverage|vendor)$/.test(name),
      )
      .slice(0, 20)
      .map(({ name }) => ({ name: oneLine(name), purpose: FOLDERS[name.toLowerCase()] ?? null })),
    repository: repository ?? null,
  };
}

function fromPackageJson(text: string | null, names: ReadonlySet<string>): Manifest | null {
  const manifest = parsed(text);
  if (!isJsonObject(manifest)) return null;
  const dependencies = ['dependencies', 'devDependencies', 'peerDependencies'].flatMap((field) =>
    isJsonObject(manifest[field]) ? Object.keys(manifest[field]) : [],
  );
  const typed = names.has('tsconfig.json') || dependencies.includes('typescript');
  return {
    name: typeof manifest.name === 'string' ? manifest.name : undefined,
    description: typeof manifest.description === 'string' ? manifest.description : undefined,
    language: typed ? 'TypeScript on Node.js' : 'JavaScript on Node.js',
    dependencies,
  };
}

/** Only the plain lines of a table are looked at: enough for a name, and no parser to carry around. */
function fromToml(
  text: string | null,
  language: string,
  tables: readonly string[],
  dependencies: (text: string) => string[],
): Manifest | null {
  if (text === null) return null;
  const value = (key: string) => {
    for (const table of tables) {
      const line = tableLines(text, (name) => name === table).find((entry) => entry.key === key);
      const found = line && /^(?:"((?:[^"\\]|\\.)*)"|'([^']*)')/.exec(line.value);
      if (found) return found[1] ?? found[2];
    }
    return undefined;
  };
  return {
    name: value('name'),
    description: value('description'),
    language,
    dependencies: dependencies(text),
  };
}

function pythonDependencies(text: string): string[] {
  const list = /^dependencies\s*=\s*\[([^\]]*)\]/m.exec(text)?.[1] ?? '';
  const listed = [...list.matchAll(/["']([A-Za-z0-9._-]+)/g)].map((found) => found[1]!.toLowerCase());
  return [...listed, ...keysOf(text, /^tool\.poetry\.(?:.*\.)?dependencies$/)];
}

function keysOf(text: string, table: RegExp): string[] {
  return tableLines(text, (name) => table.test(name)).map(({ key }) => key.toLowerCase());
}

function tableLines(text: string, wanted: (table: string) => boolean): { key: string; value: string }[] {
  const found: { key: string; value: string }[] = [];
  let inside = false;
  for (const line of text.split(/\r\n|\n|\r/)) {
    const table = /^\s*\[+\s*([^\]]+?)\s*\]/.exec(line);
    const pair = /^\s*"?([A-Za-z0-9_.-]+)"?\s*=\s*(.*)$/.exec(line);
    if (table) inside = wanted(table[1]!);
    else if (inside && pair) found.push({ key: pair[1]!, value: pair[2]! });
  }
  return found;
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

function parsed(text: string | null): unknown {
  try {
    return JSON.parse((text ?? '').replace(/^\uFEFF/, ''));
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

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}

/** What a dependency usually means, and below a file or a folder. Anything else is left for its owner to say. */
const FRAMEWORKS: { readonly [dependency: string]: readonly ['frontend' | 'backend', string] } = {
  react: ['frontend', 'React'],
  vue: ['frontend', 'Vue'],
  svelte: ['frontend', 'Svelte'],
  'solid-js': ['frontend', 'Solid'],
  preact: ['frontend', 'Preact'],
  '@angular/core': ['frontend', 'Angular'],
  lit: ['frontend', 'Lit'],
  next: ['frontend', 'Next.js'],
  nuxt: ['frontend', 'Nuxt'],
  astro: ['frontend', 'Astro'],
  vite: ['frontend', 'Vite'],
  tailwindcss: ['frontend', 'Tailwind CSS'],
  electron: ['frontend', 'Electron'],
  'react-native': ['frontend', 'React Native'],
  express: ['backend', 'Express'],
  fastify: ['backend', 'Fastify'],
  hono: ['backend', 'Hono'],
  koa: ['backend', 'Koa'],
  '@nestjs/core': ['backend', 'NestJS'],
  django: ['backend', 'Django'],
  flask: ['backend', 'Flask'],
  fastapi: ['backend', 'FastAPI'],
  starlette: ['backend', 'Starlette'],
  axum: ['backend', 'Axum'],
  'actix-web': ['backend', 'Actix Web'],
  rocket: ['backend', 'Rocket'],
  'github.com/gin-gonic/gin': ['backend', 'Gin'],
  'github.com/labstack/echo': ['backend', 'Echo'],
  'github.com/go-chi/chi': ['backend', 'chi'],
  'github.com/gofiber/fiber': ['backend', 'Fiber'],
};

const DATABASE: { readonly [dependency: string]: string } = {
  pg: 'PostgreSQL',
  postgres: 'PostgreSQL',
  psycopg: 'PostgreSQL',
  psycopg2: 'PostgreSQL',
  'psycopg2-binary': 'PostgreSQL',
  asyncpg: 'PostgreSQL',
  'github.com/jackc/pgx': 'PostgreSQL',
  'github.com/lib/pq': 'PostgreSQL',
  'tokio-postgres': 'PostgreSQL',
  mysql2: 'MySQL',
  pymysql: 'MySQL',
  'better-sqlite3': 'SQLite',
  rusqlite: 'SQLite',
  'github.com/mattn/go-sqlite3': 'SQLite',
  mongodb: 'MongoDB',
  mongoose: 'MongoDB',
  pymongo: 'MongoDB',
  redis: 'Redis',
  ioredis: 'Redis',
  'github.com/redis/go-redis': 'Redis',
  '@prisma/client': 'Prisma',
  'drizzle-orm': 'Drizzle',
  sqlalchemy: 'SQLAlchemy',
  sqlx: 'SQLx',
};

const DEPLOYMENT: { readonly [file: string]: string } = {
  Dockerfile: 'Docker',
  'docker-compose.yml': 'Docker Compose',
  'compose.yaml': 'Docker Compose',
  'wrangler.toml': 'Cloudflare Workers',
  'wrangler.jsonc': 'Cloudflare Workers',
  'vercel.json': 'Vercel',
  'netlify.toml': 'Netlify',
  'fly.toml': 'Fly.io',
  'render.yaml': 'Render',
  Procfile: 'Procfile',
  'serverless.yml': 'Serverless Framework',
  'Chart.yaml': 'Helm',
};

const FOLDERS: { readonly [name: string]: string } = {
  src: 'the code',
  lib: 'the code that others import',
  app: 'the application',
  bin: 'programs to run',
  cmd: 'programs to run',
  internal: 'code for this repository alone',
  pkg: 'packages for others',
  packages: 'the packages of this workspace',
  apps: 'the applications of this workspace',
  docs: 'documents',
  doc: 'documents',
  test: 'tests',
  tests: 'tests',
  spec: 'tests',
  e2e: 'tests of the whole',
  examples: 'examples that run',
  scripts: 'chores',
  tools: 'chores',
  public: 'files served as they are',
  static: 'files served as they are',
  assets: 'pictures and other material',
  migrations: 'changes to the database, in order',
  config: 'settings',
  infra: 'where it runs',
  deploy: 'where it runs',
  bench: 'measurements',
};
