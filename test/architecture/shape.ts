import { importsOf } from './imports.ts';
import { type Finding, isCode, type SourceFile } from './source-file.ts';

/** Names without meaning. Such files collect unrelated code. */
const EMPTY_NAMES = new Set(['util', 'utils', 'helper', 'helpers', 'common', 'misc', 'manager', 'managers']);

/** Allowed names, such as `json-patch`, `x.test`, `relay.config`. */
const KEBAB = /^[a-z0-9]+(?:[-.][a-z0-9]+)*$/;

/** Checks the names of files, and that imports name the exact file. */
export function checkShape(files: readonly SourceFile[]): Finding[] {
  return files.filter(({ path }) => isCode(path)).flatMap((file) => [...names(file), ...extensions(file)]);
}

function* names({ path }: SourceFile): Generator<Finding> {
  for (const segment of path.split('/')) {
    const name = segment.replace(/\.[a-z]+$/, '');
    if (name.split(/[-.]/).some((word) => EMPTY_NAMES.has(word))) {
      yield { path, what: `${segment} is a name for anything; call it what it is` };
    }
    if (!KEBAB.test(name)) yield { path, what: `${segment} is not in kebab-case` };
  }
}

/** Node runs the sources directly, so an import needs the full file name. */
function* extensions({ path, text }: SourceFile): Generator<Finding> {
  if (!/\.tsx?$/.test(path)) return;
  for (const { specifier, line } of importsOf(text)) {
    if (!specifier.startsWith('.') || /\.(?:tsx?|mjs|json|html|css|wasm)$/.test(specifier)) continue;
    yield { path: `${path}:${line}`, what: `imports ${specifier} without the .ts it ends in` };
  }
}
