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
export async function discover(files: ProjectFiles, git: ProjectGit): Promise<ProjectFacts> {
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
  const repository = await git.remote();
  const dependencies = new Set(manifests.flatMap((manifest) => manifest.dependencies));
  const named = manifests.find(({ name }) => name)?.name;
  const languages = new Set(manifests.map(({ language }) => language));
  return {
    name: oneLine(named ?? lastPart(repository ?? '') ?? lastPart(files.folder) ?? 'Project'),
    description:
      manifests.map(({ description }) => description && oneLine(description)).find(Boolean) ?? null,
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
  };
}

function meaningsOf(table: Signs, found: ReadonlySet<string>): string[] {
  return Object.keys(table).filter((meaning) => table[meaning]!.some((sign) => found.has(sign)));
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
