import { isJsonObject, jsonObjectIn } from '../../base/json.ts';
import { BUILD_FILE_BYTES } from '../../base/limits.ts';
import { plainLine } from './brief.ts';
import type { ProjectFiles } from './files.ts';

/** Commands of a project, one per line, and the names of the entries in its source folders. */
export interface Build {
  readonly commands: readonly string[];
  readonly layout: readonly { readonly folder: string; readonly names: readonly string[] }[];
}

/** A command of the project: what it is for, the command, and the file that names it. */
interface BuildCommand {
  readonly use: Use;
  readonly command: string;
  /** Content of the command, such as the body of a script. */
  readonly runs?: string;
  readonly source: string;
  /** True if the command is a guess: the usual command for a project that has the file `source`. */
  readonly guessed?: boolean;
}

type Use = keyof typeof NAMES;

/** Names of scripts and make targets for each use. */
const NAMES = {
  Install: ['deps', 'bootstrap', 'setup'],
  Build: ['build', 'compile'],
  Test: ['test', 'tests'],
  Check: ['check', 'lint', 'typecheck', 'type-check', 'vet'],
  Run: ['dev', 'start', 'serve', 'run'],
};

const LOCKFILES = {
  'pnpm-lock.yaml': 'pnpm',
  'yarn.lock': 'yarn',
  'bun.lock': 'bun',
  'bun.lockb': 'bun',
  'package-lock.json': 'npm',
};

/** Maximum number of characters of a script's body that are shown. */
const BODY_CHARS = 90;
/** Maximum number of commands for each use, such as build or test. */
const PER_USE = 2;
/** Maximum length of a list of names. Together with its label, such a list fits into a line of a brief. */
const LIST_CHARS = 170;
/** Maximum length of a list of scripts or targets. */
const NAMES_CHARS = 80;
/** Pattern of the script names that are listed under `Other` if the full list is longer than `NAMES_CHARS`. */
const MAJOR = /^(?:build|test|lint|check|run|dev|start)\b/;
/**
 * Matches commands that watch for changes and never end. `vitest` has its own pattern: it watches only in a terminal,
 * so it ends if an agent runs it.
 */
const WATCH = /--watch\b/;
const VITEST_WATCH = /\bvitest(?!.*\brun\b)/;

/**
 * Finds out how to install, build, test, check and run a project, and how its source folders are divided.
 * Reads build files as text and runs nothing. Skips a file that is missing, invalid or too large.
 */
export async function readBuild(files: ProjectFiles): Promise<Build> {
  const entries = await files.list().catch(() => []);
  const names = new Set(entries.map(({ name }) => name));
  const read = async (name: string) =>
    (await files.read(name, BUILD_FILE_BYTES).catch(() => null))?.text ?? null;
  const readRoot = async (name: string) => (names.has(name) ? await read(name) : null);
  const scripts = packageScripts(await readRoot('package.json'), names);
  const makefile = ['GNUmakefile', 'makefile', 'Makefile'].find((name) => names.has(name)) ?? '';
  const targets = makeTargets(await readRoot(makefile), makefile);
  const python = pythonCommands(await readRoot('pyproject.toml'), names);
  const all = [...scripts.commands, ...targets.commands, ...python, ...usualCommands(names)];
  const others = [scripts.others, targets.others].filter((line) => line !== null);
  return {
    commands: [...commandLines(all), ...(await ciLines(files, names, read)), ...others],
    layout: await sourceFolders(files, names),
  };
}

function commandLines(all: readonly BuildCommand[]): string[] {
  return (Object.keys(NAMES) as Use[]).flatMap((use) => {
    const same = all.filter((one) => one.use === use);
    const named = same.filter(({ guessed }) => !guessed);
    // If a file names a command for this use, drop the guesses.
    return (named.length > 0 ? named : same).slice(0, PER_USE).map(({ command, runs, source, guessed }) => {
      const body = runs ? ` = ${plainLine(runs, BODY_CHARS)}` : '';
      const watches = WATCH.test(runs ?? '') || (use === 'Run' && VITEST_WATCH.test(runs ?? ''));
      return `${use}: ${command}${body} (${watches ? 'watch mode, ' : ''}${guessed ? 'guessed from ' : ''}${source})`;
    });
  });
}

/** Matches scripts that package managers run by themselves. They are not listed. */
const LIFECYCLE = /^(?:pre|post)[a-z]|^prepare$/;

function packageScripts(text: string | null, names: ReadonlySet<string>) {
  const manifest = jsonObjectIn(text?.replace(/^\uFEFF/, ''));
  const own = /^(npm|pnpm|yarn|bun)@/.exec(String(manifest?.packageManager ?? ''))?.[1];
  const lock = Object.entries(LOCKFILES).find(([name]) => names.has(name));
  const manager = own ?? lock?.[1] ?? 'npm';
  const source = 'package.json';
  const scripts = isJsonObject(manifest?.scripts) ? manifest.scripts : {};
  const run = (name: string) =>
    manager !== 'bun' && (name === 'test' || name === 'start')
      ? `${manager} ${name}`
      : `${manager} run ${name}`;
  const { commands, others } = byUse(Object.entries(scripts), run, source);
  const install = {
    use: 'Install',
    command: `${manager} install`,
    source: lock?.[0] ?? source,
    guessed: true,
  };
  return { commands: manifest ? [install as BuildCommand, ...commands] : [], others };
}

function makeTargets(text: string | null, source: string) {
  const rules = [...(text ?? '').matchAll(/^([A-Za-z][\w.-]*)[ \t]*:(?![:=])([^\n]*)((?:\n\t[^\n]*)*)/gm)];
  const targets = rules.map(([, name = '', needs = '', recipe = '']): [string, string] => {
    const steps = recipe.split(/\n\t[@-]*/).filter((step) => !/^(?:echo\b|#|\s*$)/.test(step));
    // A recipe of several lines is not shown, because its first line is not the whole command.
    if (steps.length > 0) return [name, steps.length === 1 ? steps[0]! : ''];
    return [name, needs.replace(/\.PHONY|#.*$/g, '').trim()];
  });
  return byUse(targets, (name) => `make ${name}`, source);
}

/** Groups scripts or targets by their use. Scripts without a known use are only listed by name. */
function byUse(
  scripts: readonly (readonly [name: string, body: unknown])[],
  commandOf: (name: string) => string,
  source: string,
): { commands: BuildCommand[]; others: string | null } {
  const bodies = new Map(scripts.filter(([name]) => !LIFECYCLE.test(name)));
  const commands = (Object.keys(NAMES) as Use[]).flatMap((use) =>
    NAMES[use].flatMap((name): BuildCommand[] => {
      const runs = bodies.get(name);
      if (typeof runs !== 'string' || !bodies.delete(name)) return [];
      return [{ use, command: commandOf(name), runs, source }];
    }),
  );
  const rest = [...bodies.keys()];
  const major = rest.join(', ').length > NAMES_CHARS ? rest.filter((name) => MAJOR.test(name)) : rest;
  const list = shortList(major, ', ', NAMES_CHARS, rest.length);
  return { commands, others: rest.length > 0 ? `Other (${commandOf('NAME')}): ${list} (${source})` : null };
}

/**
 * Joins names up to a maximum length. If names had to be left out, adds their number. `total` is the number
 * of all names.
 */
export function shortList(
  names: readonly string[],
  separator = ', ',
  most = LIST_CHARS,
  total = names.length,
): string {
  let fit = 0;
  for (let length = 0; fit < names.length; fit++) {
    length += names[fit]!.length + separator.length;
    if (fit > 0 && length > most + separator.length) break;
  }
  const rest = total - fit;
  return [...names.slice(0, fit), ...(rest > 0 ? [fit > 0 ? `and ${rest} more` : `${rest} names`] : [])].join(
    separator,
  );
}

function pythonCommands(text: string | null, names: ReadonlySet<string>): BuildCommand[] {
  if (text === null) return [];
  const source = 'pyproject.toml';
  const has = (table: string) => text.includes(`[${table}`);
  const [uv, poetry] = [names.has('uv.lock'), has('tool.poetry')];
  const prefix = uv ? 'uv run ' : poetry ? 'poetry run ' : '';
  const install = uv ? 'uv sync' : poetry ? 'poetry install' : 'pip install -e .';
  const guesses: [Use, string, boolean][] = [
    ['Install', install, true],
    ['Test', `${prefix}pytest`, has('tool.pytest') || /["']pytest\b/.test(text)],
    ['Check', `${prefix}ruff check`, has('tool.ruff')],
    ['Check', `${prefix}mypy .`, has('tool.mypy')],
  ];
  const table = /^\[project\.scripts\][^\n]*\n((?:(?!\[)[^\n]*\n?)*)/m.exec(text)?.[1] ?? '';
  const programs = [...table.matchAll(/^\s*["']?([\w.-]+)["']?\s*=/gm)].map(([, name]) => name!);
  return [
    ...guesses
      .filter(([, , isKnown]) => isKnown)
      .map(([use, command]) => ({ use, command, source, guessed: true })),
    ...programs.map((name) => ({ use: 'Run' as const, command: `${prefix}${name}`, source })),
  ];
}

/** File name → usual commands of a project that has this file. */
const USUAL = {
  'Cargo.toml': { Build: 'cargo build', Test: 'cargo test', Check: 'cargo clippy' },
  'go.mod': { Build: 'go build ./...', Test: 'go test ./...', Check: 'go vet ./...' },
  'main.go': { Run: 'go run .' },
};

function usualCommands(names: ReadonlySet<string>): BuildCommand[] {
  return Object.entries(USUAL).flatMap(([source, commands]) =>
    Object.entries(names.has(source) ? commands : {}).map(([use, command]) => ({
      use: use as Use,
      command,
      source,
      guessed: true,
    })),
  );
}

const WORKFLOWS = '.github/workflows';
/** Maximum number of CI files that are read. */
const CI_FILES = 2;
/**
 * Matches the start of a command that builds or tests. Other commands in CI files prepare a machine or
 * publish a release.
 */
const CI_COMMAND =
  /^(?:[A-Z_]+=\S+ )*(?:npm|pnpm|yarn|bun|deno|make|go|cargo|pytest|tox|nox|uv|poetry|mvn|\.\/\w+|gradle|dotnet|rake|bundle|mix|cmake|ctest|swift|just|task|hatch|python3? -m) /;
const NOT_FOR_AGENTS =
  /\b(?:publish|release|deploy|login|upload|docker|corepack|canary)\b|\$\{\{|(?:^| )(?:-g|--global)\b/;

/** Lists the build and test commands of CI files. */
async function ciLines(
  files: ProjectFiles,
  names: ReadonlySet<string>,
  read: (name: string) => Promise<string | null>,
): Promise<string[]> {
  const listed = names.has('.github') ? await files.list(WORKFLOWS).catch(() => []) : [];
  const workflows = listed
    .map(({ name }) => name)
    .filter((name) => /^(?:.*[-_.])?(?:ci|tests?|build|checks?|main|pr)\b.*\.ya?ml$/i.test(name))
    .sort((a, b) => Number(/\b(?:ci|tests?)\b/i.test(b)) - Number(/\b(?:ci|tests?)\b/i.test(a)));
  const paths = [
    ...(names.has('.gitlab-ci.yml') ? ['.gitlab-ci.yml'] : []),
    ...workflows.map((name) => `${WORKFLOWS}/${name}`),
  ];
  const lines: string[] = [];
  for (const path of paths.slice(0, CI_FILES)) {
    const found = runLines((await read(path)) ?? '');
    const fit = [...new Set(found)].filter(
      (line) => CI_COMMAND.test(`${line} `) && !NOT_FOR_AGENTS.test(line),
    );
    if (fit.length > 0) lines.push(`CI runs: ${shortList(fit, '; ')} (${path})`);
  }
  return lines;
}

/**
 * Returns the commands in the `run` and `script` fields of a CI file. A field is one line, a block or a list. It
 * does not parse YAML, because hooks must start fast.
 */
function runLines(text: string): string[] {
  const commands: string[] = [];
  let depth: number | null = null;
  for (const line of text.split(/\r?\n/)) {
    const [, indent = '', field, value = ''] =
      /^([\s-]*)(?:(run|script|before_script):)?\s*(.*)$/.exec(line) ?? [];
    if (field !== undefined) {
      depth = /^(?:[|>][+-]?)?$/.test(value) ? indent.length : null;
      if (depth === null) commands.push(value.replace(/^(["'])(.*)\1$/, '$2'));
    } else if (depth !== null && value !== '') {
      if (indent.length > depth) commands.push(value);
      else depth = null;
    }
  }
  return commands;
}

/** Folders whose subfolders say how the code is divided. */
const SOURCE_FOLDERS = 'src lib app apps packages crates cmd internal pkg server'.split(' ');
/** Matches tests and hidden files, because they say little about how the code is divided. */
const MINOR = /^\.|[._-](?:test|spec)\.\w+$/;

async function sourceFolders(files: ProjectFiles, present: ReadonlySet<string>): Promise<Build['layout']> {
  const found: Build['layout'][number][] = [];
  for (const folder of SOURCE_FOLDERS.filter((each) => present.has(each))) {
    const children = (await files.list(folder).catch(() => [])).filter((child) => !MINOR.test(child.name));
    const sorted = children.toSorted((a, b) => Number(b.folder) - Number(a.folder));
    const names = sorted.map((child) => `${child.name}${child.folder ? '/' : ''}`);
    if (names.length > 0) found.push({ folder, names });
  }
  return found;
}
