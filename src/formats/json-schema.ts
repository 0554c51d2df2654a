import {
  childAt,
  isJsonObject,
  type Json,
  type JsonObject,
  joinPath,
  jsonEqual,
  parsePath,
} from '../base/json.ts';

/** A problem at one path of a value. */
interface SchemaProblem {
  readonly path: readonly (string | number)[];
  readonly what: string;
}

/** Checks for `format`, by the name of the format. Any other `format` is only an annotation, as in the standard. */
type Formats = { readonly [name: string]: (text: string) => boolean };

/**
 * Maximum depth of nested schemas, where each `$ref` counts as a level. A deeper schema probably refers to
 * itself without end.
 */
const DEPTH = 64;

/**
 * Validates values with the subset of JSON Schema (2020-12) that project files, pipelines and arguments use. The
 * constructor rejects keywords outside this subset, so that none is silently ignored.
 */
export class JsonSchema {
  readonly #root: Json;
  readonly #formats: Formats;

  /** Throws an Error that names the first unsupported keyword. */
  constructor(schema: Json, o: { formats?: Formats } = {}) {
    this.#root = schema;
    this.#formats = o.formats ?? {};
    checkKeywords(schema, '#');
  }

  /** Returns the first problem as `/path text`. Returns null if the value is valid. */
  check(value: Json): string | null {
    for (const { path, what } of this.#check(this.#root, value, [], 0))
      return path.length === 0 ? what : `${joinPath(path)} ${what}`;
    return null;
  }

  /** Returns all problems. */
  problems(value: Json): SchemaProblem[] {
    return [...this.#check(this.#root, value, [], 0)];
  }

  *#check(schema: Json, value: Json, path: Path, depth: number): Problems {
    if (schema === true) return;
    if (!isJsonObject(schema)) return yield { path, what: 'nothing is allowed here' };
    if (depth > DEPTH) return yield { path, what: 'the schema refers to itself without end' };
    const inner = (part: Json) => this.#check(part, value, path, depth + 1);
    const fits = (part: Json) => inner(part).next().done === true;
    if (typeof schema.$ref === 'string') yield* inner(this.#resolve(schema.$ref));
    const type = typeProblem(schema, value);
    // If the type is wrong, stop, because all further problems would follow from it.
    if (type) return yield { path, what: type };
    for (const what of this.#plain(schema, value)) yield { path, what };
    for (const part of (schema.allOf as Json[] | undefined) ?? []) yield* inner(part);
    if (schema.anyOf && !(schema.anyOf as Json[]).some(fits))
      yield { path, what: 'matches none of the alternatives' };
    if (schema.oneOf && (schema.oneOf as Json[]).filter(fits).length !== 1)
      yield { path, what: 'must match exactly one of the alternatives' };
    if (schema.not !== undefined && fits(schema.not)) yield { path, what: 'has a forbidden value' };
    if (schema.if !== undefined) yield* inner((fits(schema.if) ? schema.then : schema.else) ?? true);
    if (Array.isArray(value)) yield* this.#items(schema, value, path, depth);
    else if (isJsonObject(value)) yield* this.#members(schema, value, path, depth);
  }

  *#items(schema: JsonObject, items: Json[], path: Path, depth: number): Problems {
    const prefix = (schema.prefixItems as Json[] | undefined) ?? [];
    for (const [i, item] of items.entries())
      yield* this.#check(prefix[i] ?? schema.items ?? true, item, [...path, i], depth + 1);
  }

  *#members(schema: JsonObject, value: JsonObject, path: Path, depth: number): Problems {
    const properties = (schema.properties ?? {}) as JsonObject;
    const patterns = Object.entries((schema.patternProperties ?? {}) as JsonObject);
    for (const key of Object.keys(value)) {
      const parts = [
        ...(Object.hasOwn(properties, key) ? [properties[key]!] : []),
        ...patterns.filter(([pattern]) => new RegExp(pattern, 'u').test(key)).map(([, part]) => part),
      ];
      if (parts.length === 0 && schema.additionalProperties === false)
        yield { path, what: `does not allow "${key}"` };
      else if (parts.length === 0) parts.push(schema.additionalProperties ?? true);
      for (const part of parts) yield* this.#check(part, value[key]!, [...path, key], depth + 1);
    }
  }

  *#plain(schema: JsonObject, value: Json): Generator<string> {
    const { enum: options, const: only } = schema;
    if (options !== undefined && !(options as Json[]).some((one) => jsonEqual(one, value)))
      yield `must be one of ${(options as Json[]).map((one) => JSON.stringify(one)).join(', ')}, not ${formatValue(value)}`;
    if (only !== undefined && !jsonEqual(only, value))
      yield `must be ${JSON.stringify(only)}, not ${formatValue(value)}`;
    if (typeof value === 'string') {
      yield* textProblems(schema, value);
      const format = this.#formats[String(schema.format)];
      if (format && !format(value)) yield `must be a ${schema.format}, not ${formatValue(value)}`;
    } else if (typeof value === 'number') yield* numberProblems(schema, value);
    else if (Array.isArray(value)) yield* arrayProblems(schema, value);
    else if (isJsonObject(value)) yield* objectProblems(schema, value);
  }

  #resolve(ref: string): Json {
    return parsePath(ref.slice(1))?.reduce<Json | undefined>(childAt, this.#root) ?? false;
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

type Path = readonly (string | number)[];
type Problems = Generator<SchemaProblem, void>;

function typeProblem({ type }: JsonObject, value: Json): string | null {
  if (type === undefined) return null;
  const allowed = (Array.isArray(type) ? type : [type]) as string[];
  if (allowed.some((name) => TYPES[name]!(value))) return null;
  const name = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  return `must be ${allowed.join(' or ')}, not ${name === 'number' ? formatValue(value) : name}`;
}

function* textProblems({ minLength, maxLength, pattern }: JsonObject, text: string): Generator<string> {
  const length = [...text].length;
  if (typeof minLength === 'number' && length < minLength)
    yield minLength === 1 ? 'must not be empty' : `must have at least ${minLength} characters`;
  if (typeof maxLength === 'number' && length > maxLength) yield `must have at most ${maxLength} characters`;
  if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(text))
    yield `must match ${pattern}, not ${formatValue(text)}`;
}

function* numberProblems(schema: JsonObject, value: number): Generator<string> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === 'number' && value < minimum) yield `must be at least ${minimum}`;
  if (typeof maximum === 'number' && value > maximum) yield `must be at most ${maximum}`;
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)
    yield `must be above ${exclusiveMinimum}`;
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum)
    yield `must be below ${exclusiveMaximum}`;
  if (typeof multipleOf === 'number' && !Number.isInteger(value / multipleOf))
    yield `must be a multiple of ${multipleOf}`;
}

function* arrayProblems({ minItems, maxItems, uniqueItems }: JsonObject, items: Json[]): Generator<string> {
  if (typeof minItems === 'number' && items.length < minItems) yield `needs at least ${minItems} items`;
  if (typeof maxItems === 'number' && items.length > maxItems) yield `has more than ${maxItems} items`;
  const twice = (item: Json, i: number) => items.slice(0, i).some((other) => jsonEqual(item, other));
  if (uniqueItems === true && items.some(twice)) yield 'has an item twice';
}

function* objectProblems(schema: JsonObject, value: JsonObject): Generator<string> {
  const { required, minProperties, maxProperties } = schema;
  for (const name of (required as string[] | undefined) ?? [])
    if (!Object.hasOwn(value, name)) yield `"${name}" is missing`;
  const count = Object.keys(value).length;
  if (typeof minProperties === 'number' && count < minProperties) yield 'has too few members';
  if (typeof maxProperties === 'number' && count > maxProperties) yield 'has too many members';
}

/** Formats a value for a message. */
function formatValue(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** Keywords that contain one schema. */
const SCHEMA_WORDS = new Set(['not', 'if', 'then', 'else', 'items', 'additionalProperties']);
/** Keywords that contain a list of schemas. */
const SCHEMA_LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
/** Keywords that contain schemas by name. */
const SCHEMA_MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions']);
/** Keywords that contain plain values. */
const PLAIN_WORDS = new Set(
  'type enum const required minLength maxLength pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems uniqueItems minProperties maxProperties $ref'.split(
    ' ',
  ),
);
/** Keywords that are only annotations and do not constrain the value. */
const NOTES = new Set(
  'title description default examples $schema $id $comment deprecated format readOnly writeOnly'.split(' '),
);

function checkKeywords(schema: Json | undefined, at: string): void {
  if (typeof schema === 'boolean') return;
  if (!isJsonObject(schema)) throw new Error(`${at} is not a schema`);
  for (const [word, value] of Object.entries(schema)) {
    const place = `${at}/${word}`;
    if (SCHEMA_WORDS.has(word)) checkKeywords(value, place);
    else if (SCHEMA_LISTS.has(word)) {
      if (!Array.isArray(value)) throw new Error(`${place} is not a list`);
      value.forEach((part, i) => {
        checkKeywords(part, `${place}/${i}`);
      });
    } else if (SCHEMA_MAPS.has(word)) {
      if (!isJsonObject(value)) throw new Error(`${place} is not an object`);
      for (const [name, part] of Object.entries(value)) checkKeywords(part, `${place}/${name}`);
    } else if (!PLAIN_WORDS.has(word) && !NOTES.has(word)) throw new Error(`${place} is not supported`);
  }
  const { type, $ref, pattern } = schema;
  const types = type === undefined ? [] : Array.isArray(type) ? type : [type];
  for (const name of types)
    if (!Object.hasOwn(TYPES, String(name))) throw new Error(`${at}/type is not supported`);
  if ($ref !== undefined && !/^#(?:\/|$)/.test(String($ref)))
    throw new Error(`${at}/$ref points outside the schema`);
  if (typeof pattern === 'string') new RegExp(pattern, 'u');
}
