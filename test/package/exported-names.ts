import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Names {
  /** Exported classes, functions and constants. */
  readonly values: readonly string[];
  /** Exported types and interfaces, which exist only for the compiler. */
  readonly types: readonly string[];
}

const LIST = /^export (type )?\{([^}]*)\}(?: from '[^']+')?;/;
const ALL = /^export \* from '([^']+)';/;
const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:async )?(class|function|const|let|interface|type)\*? (\w+)/;

/** Returns all exported names of a module, from its source or its declaration file. */
export function exportedNames(file: string): Names {
  const kinds = new Map<string, 'value' | 'type'>();
  const text = readFileSync(file, 'utf8');
  for (const { index } of text.matchAll(/^export\b/gm)) {
    const rest = text.slice(index);
    const [, typeOnly, list] = LIST.exec(rest) ?? [];
    const [, kind, name] = DECLARATION.exec(rest) ?? [];
    const [, from] = ALL.exec(rest) ?? [];
    if (list !== undefined) {
      for (const item of list.split(',').map((each) => each.trim())) {
        if (item === '') continue;
        const isTypeItem = /^type /.test(item);
        const exportedName = item.replace(/^type /, '').replace(/^\w+ as /, '');
        kinds.set(exportedName, typeOnly || isTypeItem ? 'type' : 'value');
      }
    } else if (kind && name) {
      // A name that is both a type and a value counts as a value.
      if (!kinds.has(name)) kinds.set(name, /^(interface|type)$/.test(kind) ? 'type' : 'value');
    } else if (from) {
      const more = exportedNames(importedFile(file, from));
      for (const each of more.types) kinds.set(each, 'type');
      for (const each of more.values) kinds.set(each, 'value');
    } else {
      throw new Error(`This export of ${file} is of a kind not known here: ${rest.split('\n')[0]}`);
    }
  }
  const of = (kind: string) => [...kinds].flatMap(([name, is]) => (is === kind ? [name] : [])).sort();
  return { values: of('value'), types: of('type') };
}

const IMPORT =
  /(?<!['"\w])(?:from|import|import\()\s*['"]([^'"]+)['"]|\/\/\/ <reference (?:types|path)="([^"]+)"/g;

/** Returns all declaration files that are reachable from these files, and all packages that they import. */
export function reachableTypes(entries: readonly string[]): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string) => {
    if (files.has(file)) return;
    files.add(file);
    for (const [, imported, referenced] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      const specifier = (imported ?? referenced)!;
      if (specifier.startsWith('.')) visit(importedFile(file, specifier));
      else packages.add(specifier);
    }
  };
  entries.forEach(visit);
  return { files, packages };
}

/** Returns the file that an import reads. A declaration file names `.ts` or `.js`, but the compiler reads `.d.ts`. */
function importedFile(file: string, specifier: string): string {
  const ending = file.endsWith('.d.ts') ? '.d.ts' : '.ts';
  return join(file, '..', specifier.replace(/(?:\.d)?\.[tj]s$/, ending));
}
