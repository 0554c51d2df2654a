import { type JsonNode, jsonValue } from '../../base/json-syntax.ts';
import { timeOf } from './times.ts';

/** The part of JSON Schema (2020-12) that the project files need. */
export interface Schema {
  readonly $schema?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: TypeName | readonly TypeName[];
  readonly required?: readonly string[];
  readonly properties?: { readonly [name: string]: Schema };
  readonly items?: Schema;
  readonly enum?: readonly (string | null)[];
  readonly const?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly format?: 'date-time';
  readonly allOf?: readonly Schema[];
  readonly if?: Schema;
  readonly then?: Schema;
}

type TypeName = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

export interface Violation {
  /** `todos/3/status`. */
  readonly path: string;
  readonly what: string;
  /** Where in the text. */
  readonly at: number;
}

/** What in a file breaks the schema, in the order of the file. */
export function violations(schema: Schema, node: JsonNode): Violation[] {
  const found: Violation[] = [];
  visit(schema, node, '', found);
  return found.sort((a, b) => a.at - b.at);
}

function visit(schema: Schema, node: JsonNode, path: string, found: Violation[]): void {
  const say = (what: string) => void found.push({ path, what, at: node.start });
  const types = schema.type === undefined ? null : [schema.type].flat();
  if (types && !types.includes(typeOf(node))) {
    say(`must be ${types.map(article).join(' or ')}, not ${article(typeOf(node))}`);
    return;
  }
  if (node.kind === 'scalar') scalar(schema, node.value, say);
  else if (node.kind === 'object') {
    for (const name of schema.required ?? []) {
      if (!node.entries.some((entry) => entry.key === name)) say(`has no "${name}"`);
    }
    for (const entry of node.entries) {
      const own = schema.properties && Object.hasOwn(schema.properties, entry.key!);
      if (own) visit(schema.properties[entry.key!]!, entry.node, join(path, entry.key!), found);
    }
  } else if (schema.items) {
    for (const [index, entry] of node.entries.entries()) {
      visit(schema.items, entry.node, join(path, String(index)), found);
    }
  }
  for (const part of schema.allOf ?? []) visit(part, node, path, found);
  if (schema.if && schema.then && violations(schema.if, node).length === 0)
    visit(schema.then, node, path, found);
}

function scalar(schema: Schema, value: unknown, say: (what: string) => void): void {
  const shown = JSON.stringify(value);
  if (schema.enum && !schema.enum.includes(value as string)) {
    say(`must be one of ${schema.enum.join(', ')}, not ${shown}`);
  }
  if (schema.const !== undefined && value !== schema.const) say(`must be "${schema.const}", not ${shown}`);
  if (typeof value !== 'string') return;
  if (schema.minLength !== undefined && value.length < schema.minLength) say('must not be empty');
  if (schema.pattern && !patternOf(schema.pattern).test(value)) {
    say(`must look like ${schema.pattern}, not ${shown}`);
  }
  if (schema.format === 'date-time' && timeOf(value) === null) say(`must be a date and time, not ${shown}`);
}

const patterns = new Map<string, RegExp>();

function patternOf(source: string): RegExp {
  const pattern = patterns.get(source) ?? new RegExp(source);
  patterns.set(source, pattern);
  return pattern;
}

function typeOf(node: JsonNode): TypeName {
  if (node.kind !== 'scalar') return node.kind;
  const value = jsonValue(node);
  return value === null ? 'null' : (typeof value as 'string' | 'number' | 'boolean');
}

function article(type: TypeName): string {
  if (type === 'null') return 'null';
  return `${/^[ao]/.test(type) ? 'an' : 'a'} ${type}`;
}

function join(path: string, step: string): string {
  return path === '' ? step : `${path}/${step}`;
}
