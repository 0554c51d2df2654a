import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import {
  API,
  type Symbol as Declared,
  NodeBuilderFlags,
  type Project,
  SymbolFlags,
  type Type,
} from 'typescript/unstable/sync';

const FOLDER = join(import.meta.dirname, '..', '..', 'src', 'schemas');
/** File with shared parts of schemas. It is skipped, because it declares no type of the API. */
const MATERIAL = join(FOLDER, 'shapes.ts');

/**
 * Replaces the compiler's output for `src/schemas` with plain declarations. The types of the API are inferred
 * from zod schemas, but users of the SDK do not have zod. They get interfaces, in which each field has the
 * comment of its key in the schema.
 */
export function writePlainTypes(outDir: string): void {
  const folder = join(outDir, 'src', 'schemas');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [path, text] of plainTypes()) {
    writeFileSync(join(folder, basename(path).replace('.ts', '.d.ts')), text);
  }
}

/** Returns plain declarations of all types that `src/schemas` exports, keyed by file path. */
export function plainTypes(): Map<string, string> {
  const api = new API();
  try {
    const [project] = api
      .updateSnapshot({ openProjects: [join(FOLDER, '..', '..', 'tsconfig.build.json')] })
      .getProjects();
    const types = new PlainTypes(project!);
    return new Map(types.files.map((path) => [path, types.declarationsOf(path)]));
  } finally {
    api.close();
  }
}

class PlainTypes {
  readonly files: readonly string[];
  readonly #project: Project;
  readonly #exported = new Map<
    string,
    { readonly path: string; readonly symbol: Declared; readonly type: Type }
  >();
  /** Name of each interface. The key is the compiler's id of the type that the interface extends. */
  readonly #shapes = new Map<number, string>();
  /** Name of each exported union type that has text values. The key is the union as text. */
  readonly #unions = new Map<string, string>();

  constructor(project: Project) {
    this.#project = project;
    this.files = project.program
      .getSourceFileNames()
      .filter((path) => dirname(path) === FOLDER && path !== MATERIAL);
    for (const path of this.files) {
      for (const symbol of this.#exportsOf(path)) {
        if (!(symbol.flags & (SymbolFlags.Interface | SymbolFlags.TypeAlias))) continue;
        const type = project.checker.getDeclaredTypeOfSymbol(symbol);
        this.#exported.set(symbol.name, { path, symbol, type });
        // Register the base types, because a nested field has the base type of an interface, not the interface itself.
        for (const shape of type.getBaseTypes() ?? []) this.#shapes.set(shape.id, symbol.name);
        // Register only unions of text values, because for `string | number` a name would be less clear than the union.
        const text = this.#text(type);
        if (text.includes("'")) this.#unions.set(text, symbol.name);
      }
    }
  }

  declarationsOf(path: string): string {
    const ownTypes = [...this.#exported].filter(([, declared]) => declared.path === path);
    const body = ownTypes.map(([name, { symbol, type }]) => {
      const says = comment(this.#project.checker.getDocumentationCommentOfSymbol(symbol), '');
      return symbol.flags & SymbolFlags.Interface
        ? `${says}export interface ${name} ${this.#object(type, '')}\n`
        : `${says}export type ${name} = ${this.#text(type)};\n`;
    });
    return [this.#imports(path, body.join('\n')), ...body].join('\n').trimStart();
  }

  #exportsOf(path: string): readonly Declared[] {
    const { checker, program } = this.#project;
    return checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(path)!)!);
  }

  /** Prints a type with single quotes, as in our sources. */
  #text(type: Type, flags = NodeBuilderFlags.InTypeAlias): string {
    const text = this.#project.checker.typeToString(type, undefined, NodeBuilderFlags.NoTruncation | flags);
    return text.replaceAll('"', "'");
  }

  /** Returns a type's name, or its structure if it has no name. */
  #print(type: Type, indent: string): string {
    const { checker } = this.#project;
    const name = this.#shapes.get(type.id) ?? type.getAliasSymbol()?.name;
    if (name) return name;
    const text = this.#text(type, NodeBuilderFlags.None);
    const [, union = '', absent = ''] = /^(.*?)((?: \| (?:null|undefined))*)$/s.exec(text) ?? [];
    const unionName = this.#unions.get(union);
    if (unionName) return unionName + absent;
    if (!text.includes('{')) return text;
    if (type.isUnionType()) {
      const members = type.getTypes().map((member) => this.#print(member, indent));
      return members.sort((a, b) => Number(ABSENT.has(a)) - Number(ABSENT.has(b))).join(' | ');
    }
    if (checker.isArrayLikeType(type) && type.isTypeReference()) {
      const item = this.#print(checker.getTypeArguments(type)[0]!, indent);
      return `readonly ${/^\w+$|^\{/.test(item) ? item : `(${item})`}[]`;
    }
    return this.#object(type, indent);
  }

  #object(type: Type, indent: string): string {
    const { checker } = this.#project;
    const inner = `${indent}  `;
    const fields = checker.getPropertiesOfType(type).map((field) => {
      const optional = (field.flags & SymbolFlags.Optional) !== 0;
      const printed = this.#print(checker.getTypeOfSymbol(field)!, inner);
      const says = comment(checker.getDocumentationCommentOfSymbol(field) || this.#described(field), inner);
      const value = optional ? printed.replace(/ \| undefined$/, '') : printed;
      return `${says}${inner}readonly ${field.name}${optional ? '?' : ''}: ${value};\n`;
    });
    const [index] = checker.getIndexInfosOfType(type);
    if (index) return `{ readonly [key: string]: ${this.#print(index.valueType, indent)} }`;
    return `{\n${fields.join('')}${indent}}`;
  }

  /** Returns the text of a field's `.describe()` in the schema. It is used if the field has no comment. */
  #described(field: Declared): string {
    const source = field.declarations[0]?.resolve(this.#project)?.getText() ?? '';
    const [, , text = ''] = /\.describe\(\s*(['`])((?:\\.|(?!\1).)*)\1,?\s*\)$/s.exec(source) ?? [];
    return text === '' || text.includes('${') ? '' : `${text[0]!.toUpperCase()}${text.slice(1)}.`;
  }

  #imports(path: string, body: string): string {
    const code = body.replace(/\/\*[\s\S]*?\*\/|'[^']*'/g, '');
    const from = new Map<string, Set<string>>();
    for (const [name] of code.matchAll(/\b[A-Z]\w*\b/g)) {
      const source = this.#exported.get(name)?.path ?? this.#outside(name);
      if (source === path) continue;
      from.set(source, (from.get(source) ?? new Set()).add(name));
    }
    return [...from]
      .map(([source, names]) => {
        const specifier = relative(dirname(path), source).replace(/^(?!\.)/, './');
        return `import type { ${[...names].join(', ')} } from '${specifier}';\n`;
      })
      .join('');
  }

  /**
   * Returns the path of the file that declares a type outside of `src/schemas`. `shapes.ts` must import the
   * type.
   */
  #outside(name: string): string {
    const { checker, program } = this.#project;
    const symbol = checker.resolveName(
      name,
      SymbolFlags.Type | SymbolFlags.Alias,
      program.getSourceFile(MATERIAL),
    );
    const declared = symbol && checker.getAliasedSymbol(symbol).declarations[0];
    if (!declared) throw new Error(`${MATERIAL} does not import the type ${name}.`);
    return program.getSourceFileNames().find((path) => path.toLowerCase() === declared.path.toLowerCase())!;
  }
}

const ABSENT: ReadonlySet<string> = new Set(['null', 'undefined']);

function comment(text: string, indent: string): string {
  if (text === '') return '';
  const lines = text.split('\n');
  if (lines.length === 1) return `${indent}/** ${text} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}
