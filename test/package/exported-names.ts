import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Names {
  /** Classes, functions and constants. */
  readonly values: readonly string[];
  /** What there is for the compiler alone. */
  readonly types: readonly string[];
}

const LIST = /^export (type )?\{([^}]*)\}(?: from '[^']+')?;/;
const ALL = /^export \* from '([^']+)';/;
const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:async )?(class|function|const|let|interface|type)\*? (\w+)/;

/** All names that a module of ours exports, whether it is a source or a file of types. */
export function exportedNames(file: string): Names {
  const found = new Map<string, 'value' | 'type'>();
  const text = readFileSync(file, 'utf8');
  for (const { index } of text.matchAll(/^export\b/gm)) {
    const rest = text.slice(index);
    const [, typeOnly, list] = LIST.exec(rest) ?? [];
    const [, kind, name] = DECLARATION.exec(rest) ?? [];
    const [, from] = ALL.exec(rest) ?? [];
    if (list !== undefined) {
      for (const item of list.split(',').map((each) => each.trim())) {
        if (item === '') continue;
        const own = /^type /.test(item);
        const shown = item.replace(/^type /, '').replace(/^\w+ as /, '');
        found.set(shown, typeOnly || own ? 'type' : 'value');
      }
    } else if (kind && name) {
      // A name may be both a type and a value; then it is a value.
      if (!found.has(name)) found.set(name, /^(interface|type)$/.test(kind) ? 'type' : 'value');
    } else if (from) {
      const more = exportedNames(beside(file, from));
      for (const each of more.types) found.set(each, 'type');
      for (const each of more.values) found.set(each, 'value');
    } else {
      throw new Error(`This export of ${file} is of a kind not known here: ${rest.split('\n')[0]}`);
    }
  }
  const of = (kind: string) => [...found].flatMap(([name, is]) => (is === kind ? [name] : [])).sort();
  return { values: of('value'), types: of('type') };
}

const IMPORT =
  /(?<!['"\w])(?:from|import|import\()\s*['"]([^'"]+)['"]|\/\/\/ <reference (?:types|path)="([^"]+)"/g;

/** Every file of types that a compiler reads from these on, and every package that they name. */
export function reachableTypes(entries: readonly string[]): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string) => {
    if (files.has(file)) return;
    files.add(file);
    for (const [, imported, referenced] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      const specifier = (imported ?? referenced)!;
      if (specifier.startsWith('.')) visit(beside(file, specifier));
      else packages.add(specifier);
    }
  };
  entries.forEach(visit);
  return { files, packages };
}

/** A file of types names its neighbours as sources or as JavaScript; they are files of types themselves. */
function beside(file: string, specifier: string): string {
  const ending = file.endsWith('.d.ts') ? '.d.ts' : '.ts';
  return join(file, '..', specifier.replace(/(?:\.d)?\.[tj]s$/, ending));
}
