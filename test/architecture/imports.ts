import { type Token, tokensOf } from './tokens.ts';

export interface Import {
  readonly specifier: string;
  readonly line: number;
  /**
   * `type`: erased, so nothing is loaded (`import type`, `export type`). `value`: loaded with the file, also for
   * `import { type X }`. `dynamic`: loaded when the code runs, by `import()`, `require()` or `getBuiltinModule()`.
   */
  readonly kind: 'type' | 'value' | 'dynamic';
}

const LOADERS = new Set(['import', 'require', 'getBuiltinModule']);

/** Words after `export` that begin a declaration. A later `from` does not belong to such an export. */
const DECLARATIONS = new Set(
  'const let var function class interface enum namespace module default abstract async declare'.split(' '),
);

/** Returns every import of a source whose module name is a literal. */
export function importsOf(source: string): Import[] {
  const tokens = tokensOf(source);
  const imports: Import[] = [];
  for (const [i, token] of tokens.entries()) {
    if (token.kind !== 'word') continue;
    const each = called(tokens, i) ?? declared(tokens, i);
    if (each) imports.push(each);
  }
  return imports;
}

/** Finds `import('x')`, `require('x')` and `process.getBuiltinModule('x')`. */
function called(tokens: readonly Token[], i: number): Import | undefined {
  const { text, line } = tokens[i]!;
  const argument = tokens[i + 2];
  if (!LOADERS.has(text) || tokens[i + 1]?.text !== '(' || argument?.kind !== 'string') return undefined;
  if (tokens[i - 1]?.text === '.' && text !== 'getBuiltinModule') return undefined;
  return { specifier: argument.text, line, kind: 'dynamic' };
}

/** Finds `import … from 'x'`, `import 'x'` and `export … from 'x'`. */
function declared(tokens: readonly Token[], i: number): Import | undefined {
  const { text, line } = tokens[i]!;
  const next = tokens[i + 1];
  if ((text !== 'import' && text !== 'export') || tokens[i - 1]?.text === '.') return undefined;
  if (text === 'import' && next?.kind === 'string') return { specifier: next.text, line, kind: 'value' };
  const from = fromClause(tokens, i + 1);
  if (!from) return undefined;
  // `import type from 'x'` imports a default called type.
  const typed = next?.text === 'type' && tokens[i + 2]?.text !== 'from';
  return { specifier: from.text, line, kind: typed ? 'type' : 'value' };
}

/** Returns the module name after `from`. Returns undefined if anything but a list of names comes before `from`. */
function fromClause(tokens: readonly Token[], start: number): Token | undefined {
  if (DECLARATIONS.has(tokens[start]?.text ?? '')) return undefined;
  for (let i = start; i < tokens.length; i++) {
    const token = tokens[i]!;
    const next = tokens[i + 1];
    if (token.kind === 'word' && token.text === 'from' && next?.kind === 'string') return next;
    if (token.kind === 'punctuation' && !'{},*'.includes(token.text)) return undefined;
  }
  return undefined;
}
