import { isJsonObject, type Json, type JsonObject, jsonEqual } from '../../base/json.ts';
import { JsonDocument, type JsonPath } from '../../formats/json-document.ts';
import { readToml } from '../../formats/toml.ts';
import { HOOK_ENDS } from './launcher.ts';

/** An entry that we add to the settings of a client. `ourHook` and `isOurServer` recognize it later. */
export type Entry = HooksEntry | ServerEntry;

/**
 * Hooks of a client: `{"hooks": {"SessionStart": [{"hooks": [{type, command, timeout}]}]}}`. With `flat`, the
 * handlers are not in groups: `{"hooks": {"SessionStart": [{type, command, timeout}]}}`.
 */
interface HooksEntry {
  readonly kind: 'hooks';
  readonly client: string;
  readonly flat?: boolean;
  /** Fields other than `hooks` that the client requires in the file. */
  readonly fields?: JsonObject;
  readonly hooks: { readonly [name: string]: OurHook };
}

/** One of our hooks: the client's event, a pattern that selects tools, and the handler to write. */
export interface OurHook {
  readonly event: string;
  readonly matcher?: string;
  readonly handler: JsonObject & { readonly command: string };
}

/** Our MCP server, in an object that may contain other servers: `mcpServers.relay`. */
interface ServerEntry {
  readonly kind: 'mcp';
  readonly path: readonly string[];
  readonly value: JsonObject;
}

/**
 * Recognizes a hook command of this or an earlier version, whatever the path of the program. Returns the
 * program (the text before `hook`) and the name of the hook, or null for any other command.
 */
export function ourHook(
  command: unknown,
  client: string,
): { readonly program: string; readonly name: string } | null {
  if (typeof command !== 'string') return null;
  const program = `((?:.*[\\s"'/\\\\])?(?:context)?relay(?:\\.js|\\.ts|\\.cmd)?["']?)`;
  const end = HOOK_ENDS.find((each) => command.trimEnd().endsWith(each)) ?? '';
  const line = `^\\s*(?:unset BUN_BE_BUN; )?${program}\\s+hook\\s+${client}\\s+([a-z-]+)\\s*$`;
  const found = new RegExp(line).exec(command.trimEnd().slice(0, -end.length || undefined));
  return found && { program: found[1]!, name: found[2]! };
}

/** Returns the command line of an MCP server: the program and its arguments. */
export function serverCommandLine(value: Json | undefined): string[] {
  const { command, args } = isJsonObject(value) ? value : {};
  return [command, args].flat().filter((word) => typeof word === 'string');
}

/** Returns whether an MCP server runs `relay mcp`, however the client writes the command. */
export function isOurServer(value: Json | undefined): boolean {
  const { words } = splitTools(serverCommandLine(value));
  return (
    words.at(-1) === 'mcp' &&
    words.some((word) => /(?:^|[/\\])(?:context)?relay(?:\.js|\.ts|\.cmd)?$/.test(word))
  );
}

/** Splits `--tools NAMES` off the end of the command line of an MCP server. */
export function splitTools(line: readonly string[]): { words: readonly string[]; tools: readonly string[] } {
  const end = line.at(-2) === '--tools' ? -2 : line.length;
  return { words: line.slice(0, end), tools: line.slice(end) };
}

/**
 * Thrown if an entry cannot be added or removed: another program uses its name, or the file has an unexpected
 * structure.
 */
export class Occupied extends Error {}

/** Returns the text with our entries added or corrected. Correct entries leave the text as it is. */
export function addEntries(text: string, entries: readonly Entry[], comments: boolean): string {
  const doc = new JsonDocument(text.trim() === '' ? '{}\n' : text, { comments });
  if (doc.root.kind !== 'object') throw new Occupied('it must contain a JSON object');
  for (const entry of entries) {
    if (entry.kind === 'mcp') addServer(doc, entry);
    else addHooks(doc, entry);
  }
  return doc.text === '{}\n' ? text : doc.text;
}

/**
 * Returns the text without our entries. Also removes objects and lists that become empty, except those in `keep`,
 * which existed before our entries were added.
 */
export function removeEntries(text: string, entries: readonly Entry[], keep: readonly string[] = []): string {
  const doc = new JsonDocument(text, { comments: true });
  for (const entry of entries) {
    if (entry.kind === 'mcp') {
      if (isOurServer(doc.get(entry.path))) removeUpwards(doc, entry.path, keep);
    } else removeHooks(doc, entry.client, keep);
  }
  return doc.text;
}

/**
 * Returns the paths of the objects and lists around our entries that the text already has. They stay when our
 * entries are removed.
 */
export function presentContainers(text: string, entries: readonly Entry[]): string[] {
  if (text.trim() === '') return [];
  const doc = new JsonDocument(text, { comments: true });
  const paths = entries.flatMap((entry) =>
    entry.kind === 'mcp'
      ? entry.path.slice(0, -1).map((_, index) => entry.path.slice(0, index + 1))
      : [['hooks'], ...Object.values(entry.hooks).map(({ event }) => ['hooks', event])],
  );
  return paths.filter((path) => doc.find(path)).map((path) => path.join('/'));
}

function addServer(doc: JsonDocument, { path, value }: ServerEntry): void {
  const present = doc.get(path);
  if (present !== undefined && !isOurServer(present)) {
    throw new Occupied(`"${path.join('.')}" already exists and runs another program`);
  }
  needObjects(doc, path.slice(0, -1));
  doc.set(path, mergedServer(present, value));
}

/**
 * Updates our server entry, and keeps what a person added to it, such as a variable or a flag of the client.
 */
function mergedServer(present: Json | undefined, value: JsonObject): JsonObject {
  if (!isJsonObject(present)) return value;
  const { env, env_vars: names } = present;
  const { tools } = splitTools(serverCommandLine(present));
  const keep = splitTools(serverCommandLine(value)).tools.length > 0 ? [] : tools;
  const line = value.args === undefined ? 'command' : 'args';
  return {
    ...present,
    ...value,
    ...(keep.length > 0 ? { [line]: [...(value[line] as string[]), ...keep] } : {}),
    ...(isJsonObject(env) && isJsonObject(value.env) ? { env: { ...value.env, ...env } } : {}),
    ...(Array.isArray(names) && Array.isArray(value.env_vars)
      ? { env_vars: [...new Set([...names, ...value.env_vars])] }
      : {}),
  };
}

function addHooks(doc: JsonDocument, { client, hooks, flat, fields = {} }: HooksEntry): void {
  needObjects(doc, ['hooks']);
  for (const [name, value] of Object.entries(fields)) if (!doc.find([name])) doc.set([name], value);
  const present = new Set<string>();
  for (const ours of ourHandlers(doc.get(), client).reverse()) {
    const [hook, path] = [hooks[ours.name], pathOf(ours)];
    if (hook?.event === ours.event && !present.has(ours.name)) {
      for (const [key, value] of Object.entries(hook.handler)) doc.set([...path, key], value);
      if (hook.matcher && ours.alone) doc.set(['hooks', ours.event, ours.group, 'matcher'], hook.matcher);
      present.add(ours.name);
    } else removeHandler(doc, path, []);
  }
  for (const [name, { event, matcher, handler }] of Object.entries(hooks)) {
    if (present.has(name)) continue;
    const list = doc.find(['hooks', event]);
    if (list && list.kind !== 'array') throw new Occupied(`"hooks.${event}" must be a list`);
    doc.append(['hooks', event], flat ? handler : { ...(matcher && { matcher }), hooks: [handler] });
  }
}

function removeHooks(doc: JsonDocument, client: string, keep: readonly string[]): void {
  // Search again after each removal: if a JSON key occurs twice, removing the second one reveals the first.
  for (let ours = ourHandlers(doc.get(), client).at(-1); ours; ours = ourHandlers(doc.get(), client).at(-1))
    removeHandler(doc, pathOf(ours), keep);
}

/** Removes a handler, and every group and container around it that is then empty. */
function removeHandler(doc: JsonDocument, path: JsonPath, keep: readonly string[]): void {
  const group = path.length === 3 ? path : path.slice(0, -2);
  const siblings = doc.get(path.slice(0, -1));
  if (path.length > 3 && Array.isArray(siblings) && siblings.length > 1) doc.remove(path);
  else removeUpwards(doc, group, keep);
}

function removeUpwards(doc: JsonDocument, path: JsonPath, keep: readonly string[]): void {
  doc.remove(path);
  for (let depth = path.length - 1; depth > 0; depth--) {
    const above = path.slice(0, depth);
    const value = doc.get(above);
    if (keep.includes(above.join('/')) || !jsonEqual(value, Array.isArray(value) ? [] : {})) return;
    doc.remove(above);
  }
}

/** One of our hook handlers: its name, its event, the index of its group and its index in the group. */
type OurHandler = ReturnType<typeof allHandlers>[number] &
  NonNullable<ReturnType<typeof ourHook>> & { readonly handler: { readonly command: string } };

/** Returns our hook handlers in the settings of a client. */
export function ourHandlers(settings: Json | undefined, client: string): OurHandler[] {
  return allHandlers(settings).flatMap((one) => {
    const found = ourHook(one.handler.command, client);
    return found ? [{ ...one, ...found } as OurHandler] : [];
  });
}

/** Returns the hook handlers of other programs: event, and command, URL or type. */
export function otherHandlers(
  settings: Json | undefined,
  client: string,
): { readonly event: string; readonly words: string }[] {
  return allHandlers(settings)
    .filter(({ handler }) => ourHook(handler.command, client) === null)
    .map(({ event, handler: { command, url, type } }) => ({
      event,
      words: String(command ?? url ?? type ?? 'unknown'),
    }));
}

function allHandlers(settings: Json | undefined) {
  const hooks = isJsonObject(settings) && isJsonObject(settings.hooks) ? settings.hooks : {};
  return Object.entries(hooks).flatMap(([event, groups]) =>
    (Array.isArray(groups) ? groups : []).flatMap((entry, group) => {
      if (!isJsonObject(entry)) return [];
      const flat = !Array.isArray(entry.hooks);
      const handlers = flat ? [entry] : (entry.hooks as Json[]);
      const [alone, matcher] = [!flat && handlers.length === 1, flat ? undefined : entry.matcher];
      return handlers.flatMap((handler, index) =>
        isJsonObject(handler) ? [{ event, group, index, handler, flat, alone, matcher }] : [],
      );
    }),
  );
}

function pathOf({ event, group, index, flat }: OurHandler): JsonPath {
  return flat ? ['hooks', event, group] : ['hooks', event, group, 'hooks', index];
}

function needObjects(doc: JsonDocument, path: readonly string[]): void {
  for (const [index] of path.entries()) {
    const node = doc.find(path.slice(0, index + 1));
    if (node && node.kind !== 'object')
      throw new Occupied(`"${path.slice(0, index + 1).join('.')}" must be an object`);
  }
}

/**
 * TOML table of MCP servers. The functions below edit it as text, so that comments, order and line endings
 * stay.
 */
const TABLE = 'mcp_servers';
/** Name of our server in the table. */
const NAME = 'relay';

export function addTomlServer(text: string, server: JsonObject): string {
  const before = readToml(text);
  const servers = before[TABLE] ?? {};
  const present = isJsonObject(servers) ? servers[NAME] : undefined;
  if (present !== undefined && !isOurServer(present)) {
    throw new Occupied(`"${TABLE}.${NAME}" already exists and runs another program`);
  }
  const merged = mergedServer(present, server);
  if (jsonEqual(present, merged)) return text;
  const after =
    present === undefined ? appended(text, server) : replaceServer(text, merged, Object.keys(server));
  const expected = { ...before, [TABLE]: { ...(servers as JsonObject), [NAME]: merged } };
  return verifyToml(after, expected);
}

/**
 * Changes some keys of another program's MCP server in the TOML text. All other lines of the server stay unchanged.
 */
export function editTomlServer(text: string, name: string, server: JsonObject): string {
  const before = readToml(text);
  const servers = (before[TABLE] ?? {}) as JsonObject;
  const present = servers[name] as JsonObject;
  const changed = Object.keys(server).filter((key) => !jsonEqual(present[key], server[key]!));
  const after = replaceServer(text, server, changed, name);
  return verifyToml(after, { ...before, [TABLE]: { ...servers, [name]: server } });
}

export function removeTomlServer(text: string): string {
  const before = readToml(text);
  const servers = before[TABLE];
  if (!isJsonObject(servers) || !isOurServer(servers[NAME])) return text;
  const { [NAME]: _, ...others } = servers;
  const { [TABLE]: __, ...rest } = before;
  const expected = Object.keys(others).length > 0 ? { ...before, [TABLE]: others } : rest;
  const lines = text.split(/(?<=\n)/);
  const otherLines = lines.filter((_line, index) => !ourLines(lines).has(index));
  return verifyToml(otherLines.join(''), expected);
}

function appended(text: string, server: JsonObject): string {
  const eol = /\r\n|\n/.exec(text)?.[0] ?? '\n';
  const gap = text === '' ? '' : /\n$/.test(text) ? eol : eol + eol;
  const lines = Object.entries(server).map(([key, value]) => `${key} = ${tomlValue(value)}`);
  return `${text}${gap}${[`[${TABLE}.${NAME}]`, ...lines].join(eol)}${eol}`;
}

/** Rewrites the lines of the keys that we set, and inserts missing keys after `args`. */
function replaceServer(text: string, server: JsonObject, keys: readonly string[], name = NAME): string {
  const lines = text.split(/(?<=\n)/);
  const ours = ourLines(lines, name);
  const missing = new Set(keys);
  const found = lines.map((line, index) => {
    const [, indent, key, equals, eol] = /^(\s*)([\w-]+)(\s*=\s*)[^\r\n]*(\r?\n?)$/.exec(line) ?? [];
    if (!ours.has(index) || key === undefined || !missing.delete(key)) return null;
    return { key, start: `${indent}${key}${equals}`, eol: eol || '\n' };
  });
  return lines
    .map((line, index) => {
      const { key, start, eol } = found[index] ?? {};
      if (key === undefined) return line;
      const added =
        key === 'args' ? [...missing].map((name) => `${name} = ${tomlValue(server[name]!)}${eol}`) : [];
      return [`${start}${tomlValue(server[key]!)}${eol}`, ...added].join('');
    })
    .join('');
}

/**
 * Returns the indexes of the lines of an MCP server; by default, of our server. They are the blank line before its
 * header, the header, its keys and its sub-tables.
 */
function ourLines(lines: readonly string[], name = NAME): Set<number> {
  const ours = new Set<number>();
  let isInOurEntry = false;
  let pendingLines: number[] = [];
  for (const [index, line] of lines.entries()) {
    const header = /^\s*\[\[?\s*([^\]]+?)\s*\]/.exec(line)?.[1]?.replace(/["'\s]/g, '');
    if (header !== undefined) {
      const was = isInOurEntry;
      isInOurEntry = header === `${TABLE}.${name}` || header.startsWith(`${TABLE}.${name}.`);
      if (isInOurEntry && was) for (const at of pendingLines) ours.add(at);
      if (isInOurEntry && !was && index > 0 && lines[index - 1]!.trim() === '') ours.add(index - 1);
      if (isInOurEntry) ours.add(index);
      pendingLines = [];
    } else if (isInOurEntry && /^\s*(?:#|$)/.test(line)) pendingLines.push(index);
    else if (isInOurEntry) {
      for (const at of [...pendingLines, index]) ours.add(at);
      pendingLines = [];
    }
  }
  return ours;
}

/** Returns the text if it parses to `expected`. Otherwise throws, so that a wrong edit is never written. */
function verifyToml(text: string, expected: Json): string {
  try {
    if (jsonEqual(readToml(text), expected)) return text;
  } catch {
    // Text that is not valid TOML is reported with the error below.
  }
  throw new Occupied(`"${TABLE}" has a form that relay cannot edit safely; edit it by hand`);
}

function tomlValue(value: Json): string {
  // JSON and TOML write strings and lists of strings alike, except DEL, which JSON does not escape.
  return Array.isArray(value)
    ? `[${value.map(tomlValue).join(', ')}]`
    : JSON.stringify(value).replaceAll('\u007f', '\\u007F');
}
