import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { jsonEqual } from '../../formats/json-patch/equal.ts';
import { readToml } from '../../formats/toml.ts';
import { isOurServer, mergedServer, Occupied } from './entries.ts';

/** `[mcp_servers.relay]` in a TOML file, added and removed as text: comments, order and line ends stay. */

const TABLE = 'mcp_servers';
const NAME = 'relay';

export function addTomlServer(text: string, server: JsonObject): string {
  const before = readToml(text);
  const servers = before[TABLE] ?? {};
  const present = isJsonObject(servers) ? servers[NAME] : undefined;
  if (present !== undefined && !isOurServer(present)) {
    throw new Occupied(`"${TABLE}.${NAME}" is there already and runs something else`);
  }
  const merged = mergedServer(present, server);
  if (jsonEqual(present, merged)) return text;
  const after = present === undefined ? appended(text, server) : replaced(text, merged, Object.keys(server));
  const expected = { ...before, [TABLE]: { ...(servers as JsonObject), [NAME]: merged } };
  return proven(after, expected);
}

export function removeTomlServer(text: string): string {
  const before = readToml(text);
  const servers = before[TABLE];
  if (!isJsonObject(servers) || !isOurServer(servers[NAME])) return text;
  const { [NAME]: _, ...others } = servers;
  const { [TABLE]: __, ...rest } = before;
  const expected = Object.keys(others).length > 0 ? { ...before, [TABLE]: others } : rest;
  const lines = text.split(/(?<=\n)/);
  const kept = lines.filter((_line, index) => !ourLines(lines).has(index));
  return proven(kept.join(''), expected);
}

function appended(text: string, server: JsonObject): string {
  const eol = /\r\n|\n/.exec(text)?.[0] ?? '\n';
  const gap = text === '' ? '' : /\n$/.test(text) ? eol : eol + eol;
  const lines = Object.entries(server).map(([key, value]) => `${key} = ${tomlValue(value)}`);
  return `${text}${gap}${[`[${TABLE}.${NAME}]`, ...lines].join(eol)}${eol}`;
}

/** The lines of our keys anew, and behind `args` the keys that were not there. */
function replaced(text: string, server: JsonObject, keys: readonly string[]): string {
  const lines = text.split(/(?<=\n)/);
  const ours = ourLines(lines);
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

/** The header, what stands below it up to the last pair, tables of its own, and the blank line we put before it. */
function ourLines(lines: readonly string[]): Set<number> {
  const ours = new Set<number>();
  let inside = false;
  let held: number[] = [];
  for (const [index, line] of lines.entries()) {
    const header = /^\s*\[\[?\s*([^\]]+?)\s*\]/.exec(line)?.[1]?.replace(/["'\s]/g, '');
    if (header !== undefined) {
      const was = inside;
      inside = header === `${TABLE}.${NAME}` || header.startsWith(`${TABLE}.${NAME}.`);
      if (inside && was) for (const at of held) ours.add(at);
      if (inside && !was && index > 0 && lines[index - 1]!.trim() === '') ours.add(index - 1);
      if (inside) ours.add(index);
      held = [];
    } else if (inside && /^\s*(?:#|$)/.test(line)) held.push(index);
    else if (inside) {
      for (const at of [...held, index]) ours.add(at);
      held = [];
    }
  }
  return ours;
}

/** What was written is what was meant, or nothing is written. */
function proven(text: string, expected: Json): string {
  try {
    if (jsonEqual(readToml(text), expected)) return text;
  } catch {
    // What no longer parses is not what was meant either.
  }
  throw new Occupied(`"${TABLE}" is written in a form that cannot be changed safely; change it by hand`);
}

function tomlValue(value: Json): string {
  // Strings and lists of strings are the same in TOML and in JSON, but for the escape of DEL, which JSON leaves out.
  return Array.isArray(value)
    ? `[${value.map(tomlValue).join(', ')}]`
    : JSON.stringify(value).replaceAll('\u007f', '\\u007F');
}
