import { isJsonObject, type Json, type JsonObject } from './json.ts';
import { jsonEqual } from './json-patch/equal.ts';
import { joinPath } from './json-patch/path.ts';

/**
 * Checks a value against the part of JSON Schema (2020-12) that arguments are described in. What a schema says beyond
 * that part is refused when the schema is made known, and never silently let pass.
 */
export class JsonSchema {
  readonly #root: Json;

  /** Throws a plain Error that names what is not understood. */
  constructor(schema: Json) {
    this.#root = schema;
    understand(schema, '#');
  }

  /** What is wrong, as `/place: what`; null when nothing is. */
  check(value: Json): string | null {
    return this.#check(this.#root, value, [], 0);
  }

  #check(schema: Json, value: Json, path: (string | number)[], depth: number): string | null {
    if (schema === true) return null;
    if (!isJsonObject(schema)) return said(path, 'nothing is allowed here');
    if (depth > 64) return said(path, 'the schema refers to itself without end');
    const inner = (part: Json, at = value, to = path) => this.#check(part, at, to, depth + 1);
    if (typeof schema.$ref === 'string') {
      const problem = inner(this.#resolve(schema.$ref));
      if (problem) return problem;
    }
    const plain = scalarProblem(schema, value);
    if (plain) return said(path, plain);
    for (const part of (schema.allOf as Json[] | undefined) ?? []) {
      const problem = inner(part);
      if (problem) return problem;
    }
    if (schema.anyOf && !(schema.anyOf as Json[]).some((part) => inner(part) === null)) {
      return said(path, 'fits none of the alternatives');
    }
    if (schema.oneOf && (schema.oneOf as Json[]).filter((part) => inner(part) === null).length !== 1) {
      return said(path, 'does not fit exactly one of the alternatives');
    }
    if (schema.not !== undefined && inner(schema.not) === null) return said(path, 'is what it must not be');
    if (Array.isArray(value)) return this.#array(schema, value, path, depth);
    return isJsonObject(value) ? this.#object(schema, value, path, depth) : null;
  }

  #array(schema: JsonObject, items: Json[], path: (string | number)[], depth: number): string | null {
    const { minItems, maxItems, uniqueItems } = schema;
    if (typeof minItems === 'number' && items.length < minItems)
      return said(path, `needs at least ${minItems} items`);
    if (typeof maxItems === 'number' && items.length > maxItems)
      return said(path, `has more than ${maxItems} items`);
    if (
      uniqueItems === true &&
      items.some((item, i) => items.slice(0, i).some((other) => jsonEqual(item, other)))
    ) {
      return said(path, 'has an item twice');
    }
    const prefix = (schema.prefixItems as Json[] | undefined) ?? [];
    for (const [i, item] of items.entries()) {
      const part = i < prefix.length ? prefix[i] : schema.items;
      const problem = part === undefined ? null : this.#check(part, item, [...path, i], depth + 1);
      if (problem) return problem;
    }
    return null;
  }

  #object(schema: JsonObject, value: JsonObject, path: (string | number)[], depth: number): string | null {
    for (const name of (schema.required as string[] | undefined) ?? []) {
      if (!Object.hasOwn(value, name)) return said(path, `"${name}" is missing`);
    }
    const keys = Object.keys(value);
    const { minProperties, maxProperties } = schema;
    if (typeof minProperties === 'number' && keys.length < minProperties)
      return said(path, 'has too few members');
    if (typeof maxProperties === 'number' && keys.length > maxProperties)
      return said(path, 'has too many members');
    const known = (schema.properties ?? {}) as JsonObject;
    const patterns = Object.entries((schema.patternProperties ?? {}) as JsonObject);
    for (const key of keys) {
      const parts = [
        ...(Object.hasOwn(known, key) ? [known[key]!] : []),
        ...patterns.filter(([pattern]) => new RegExp(pattern, 'u').test(key)).map(([, part]) => part),
      ];
      if (parts.length === 0 && schema.additionalProperties === false)
        return said(path, `does not take "${key}"`);
      if (parts.length === 0 && schema.additionalProperties !== undefined)
        parts.push(schema.additionalProperties);
      for (const part of parts) {
        const problem = this.#check(part, value[key]!, [...path, key], depth + 1);
        if (problem) return problem;
      }
    }
    return null;
  }

  #resolve(ref: string): Json {
    if (ref === '#') return this.#root;
    const segments = ref
      .slice(2)
      .split('/')
      .map((s) => s.replaceAll('~1', '/').replaceAll('~0', '~'));
    let at: Json | undefined = this.#root;
    for (const segment of segments)
      at = isJsonObject(at) && Object.hasOwn(at, segment) ? at[segment] : undefined;
    return at ?? false;
  }
}

const TYPES: { readonly [name: string]: (value: Json) => boolean } = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: (value) => isJsonObject(value),
};

function scalarProblem(schema: JsonObject, value: Json): string | null {
  const { type } = schema;
  if (type !== undefined) {
    const allowed = (Array.isArray(type) ? type : [type]) as string[];
    if (!allowed.some((name) => TYPES[name]!(value))) return `must be ${allowed.join(' or ')}`;
  }
  if (schema.enum !== undefined && !(schema.enum as Json[]).some((one) => jsonEqual(one, value))) {
    return `must be one of ${(schema.enum as Json[]).map((one) => JSON.stringify(one)).join(', ')}`;
  }
  if (schema.const !== undefined && !jsonEqual(schema.const, value))
    return `must be ${JSON.stringify(schema.const)}`;
  if (typeof value === 'string') return textProblem(schema, value);
  return typeof value === 'number' ? numberProblem(schema, value) : null;
}

function textProblem({ minLength, maxLength, pattern }: JsonObject, text: string): string | null {
  const length = [...text].length;
  if (typeof minLength === 'number' && length < minLength)
    return `must have at least ${minLength} characters`;
  if (typeof maxLength === 'number' && length > maxLength) return `must have at most ${maxLength} characters`;
  if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(text)) return `must match ${pattern}`;
  return null;
}

function numberProblem(schema: JsonObject, value: number): string | null {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === 'number' && value < minimum) return `must be at least ${minimum}`;
  if (typeof maximum === 'number' && value > maximum) return `must be at most ${maximum}`;
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)
    return `must be above ${exclusiveMinimum}`;
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum)
    return `must be below ${exclusiveMaximum}`;
  if (typeof multipleOf === 'number' && !Number.isInteger(value / multipleOf))
    return `must be a multiple of ${multipleOf}`;
  return null;
}

/** Words that say something about the value, by the kind of what they hold. */
const SCHEMA_WORDS = new Set(['not', 'items', 'additionalProperties']);
const SCHEMA_LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const SCHEMA_MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions']);
const PLAIN_WORDS = new Set(
  'type enum const required minLength maxLength pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems uniqueItems minProperties maxProperties $ref'.split(
    ' ',
  ),
);
/** Words that only tell people something. */
const NOTES = new Set(
  'title description default examples $schema $id $comment deprecated format readOnly writeOnly'.split(' '),
);

function understand(schema: Json | undefined, at: string): void {
  if (typeof schema === 'boolean') return;
  if (!isJsonObject(schema)) throw new Error(`${at} is not a schema`);
  for (const [word, value] of Object.entries(schema)) {
    const place = `${at}/${word}`;
    if (SCHEMA_WORDS.has(word)) understand(value, place);
    else if (SCHEMA_LISTS.has(word)) {
      if (!Array.isArray(value)) throw new Error(`${place} is not a list`);
      value.forEach((part, i) => {
        understand(part, `${place}/${i}`);
      });
    } else if (SCHEMA_MAPS.has(word)) {
      if (!isJsonObject(value)) throw new Error(`${place} is not an object`);
      for (const [name, part] of Object.entries(value)) understand(part, `${place}/${name}`);
    } else if (!PLAIN_WORDS.has(word) && !NOTES.has(word)) throw new Error(`${place} is not understood`);
  }
  const { type, $ref, pattern } = schema;
  const types = type === undefined ? [] : Array.isArray(type) ? type : [type];
  for (const name of types)
    if (!Object.hasOwn(TYPES, String(name))) throw new Error(`${at}/type is not understood`);
  if ($ref !== undefined && !/^#(?:\/|$)/.test(String($ref))) throw new Error(`${at}/$ref leads elsewhere`);
  if (typeof pattern === 'string') new RegExp(pattern, 'u');
}

function said(path: readonly (string | number)[], what: string): string {
  return path.length === 0 ? what : `${joinPath(path)} ${what}`;
}
