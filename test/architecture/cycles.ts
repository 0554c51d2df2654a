import { posix } from 'node:path';
import { importsOf } from './imports.ts';
import { type Finding, isCode, type SourceFile } from './source-file.ts';

/**
 * Finds import cycles, including type imports and dynamic imports. Reports each cycle once, beginning with its first file.
 */
export function checkCycles(files: readonly SourceFile[]): Finding[] {
  const sources = files.filter(({ path }) => isCode(path));
  const sourcePaths = new Set(sources.map(({ path }) => path));
  const edges = new Map(
    sources.map(({ path, text }) => [
      path,
      importsOf(text)
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => posix.join(posix.dirname(path), specifier))
        .filter((target) => sourcePaths.has(target)),
    ]),
  );
  const findings: Finding[] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (path: string): void => {
    const start = trail.indexOf(path);
    if (start >= 0) {
      findings.push({ path, what: `loads itself: ${[...trail.slice(start), path].join(' → ')}` });
      return;
    }
    if (done.has(path)) return;
    trail.push(path);
    for (const target of edges.get(path)!) visit(target);
    trail.pop();
    done.add(path);
  };
  for (const path of edges.keys()) visit(path);
  return findings;
}
