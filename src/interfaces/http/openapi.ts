import { z } from 'zod';
import { ERRORS, type ErrorCode, RelayError } from '../../base/errors.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { hasBody, routeOf, type Verb } from '../../contract/verb.ts';
import type { Operation } from './operations.ts';

type Schema = { readonly [key: string]: unknown };

interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly required: boolean;
}

/** Generates the OpenAPI 3.1 document from the table of operations. */
export function openApiDocument(operations: readonly Operation[], version: string): Schema {
  const paths: { [path: string]: { [method: string]: Schema } } = {};
  for (const operation of operations) {
    const { method, path } = routeOf(operation.verb);
    const template = path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}');
    paths[template] ??= {};
    const described = describe(operation, template);
    paths[template][method.toLowerCase()] = described;
    const { name, alsoBy } = operation.verb;
    if (!alsoBy) continue;
    const operationId = `${name}.${alsoBy.toLowerCase()}`;
    // `alsoBy` is a second HTTP method of the operation. A request with it has no body: all fields are in the query.
    const { requestBody: _, ...other } = described;
    paths[template][alsoBy.toLowerCase()] = { ...other, operationId };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'ContextRelay',
      version,
      description:
        'Agents hand each other a short pointer instead of the payload. Every path is served under /v1 too.',
    },
    paths,
    components: {
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key: cr_live_…. Not needed in open mode.',
        },
      },
      schemas: {
        Error: {
          type: 'object',
          required: ['error', 'code', 'hint'],
          properties: {
            error: { type: 'string' },
            code: { type: 'string', enum: Object.keys(ERRORS) },
            hint: { type: 'string', description: 'what to do next' },
          },
        },
      },
    },
  };
}

function describe(operation: Operation, path: string): Schema {
  const { verb } = operation;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
  const fields = fieldsOf(operation.input);
  const byName = new Map(fields.map((field) => [field.name, field]));
  const headers = verb.headers ?? {};
  const inBody = hasBody(routeOf(verb).method);
  const rest = fields.filter(({ name }) => !inPath.includes(name) && !Object.hasOwn(headers, name));
  const parameters = [
    ...inPath.map((name) => parameter('path', name, byName.get(name))),
    ...fields
      .filter(({ name }) => Object.hasOwn(headers, name))
      .map((field) => parameter('header', headers[field.name]!, field)),
    ...rest
      .filter(({ name }) => !inBody || verb.query?.includes(name))
      .map((field) => parameter('query', field.name, field)),
    ...rest
      .filter(({ name }) => verb.raw?.includes(name))
      .map((field) => ({
        ...parameter('query', field.name, field),
        schema: present(field.schema),
        description: 'only with a raw body: in JSON it is a field',
      })),
  ];
  const carried = rest.filter(({ name }) => !verb.query?.includes(name));
  const status = String(verb.status ?? 200);
  return {
    operationId: verb.name,
    summary: verb.summary,
    ...(verb.scope === null ? {} : { 'x-scope': verb.scope }),
    security: verb.scope === null || verb.byLink ? [{}, { key: [] }] : [{ key: [] }],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(inBody && (carried.length > 0 || verb.raw) ? { requestBody: bodyOf(carried, verb) } : {}),
    responses: {
      [status]:
        status === '204'
          ? { description: 'Done.' }
          : {
              description: verb.summary,
              content: {
                'application/json': withExample(schemaOf(operation.output, 'output')),
                ...contentOf(operation),
              },
            },
      ...Object.fromEntries(
        Object.entries(operation.also ?? {}).map(([other, description]) => [
          other,
          { description, ...(other === '206' ? { content: contentOf(operation) } : {}) },
        ]),
      ),
      ...failuresOf(operation),
      default: {
        description: 'An error: what went wrong and what to do next.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  };
}

function contentOf({ content = [] }: Operation): Schema {
  return Object.fromEntries(content.map((type) => [type, {}]));
}

function parameter(where: string, name: string, field: Field | undefined): Schema {
  return {
    name,
    in: where,
    required: where === 'path' || (field?.required ?? false),
    schema: field?.schema ?? { type: 'string' },
  };
}

/**
 * Removes null and the empty string from the schema of a query field. In JSON they mean "none"; in a query
 * such a field is omitted.
 */
function present(schema: Schema): Schema {
  if (!Array.isArray(schema.anyOf)) return schema;
  const { anyOf, ...rest } = schema as { anyOf: Schema[] };
  const [only, ...others] = anyOf.map(present).filter((one) => one.type !== 'null' && one.const !== '');
  return others.length === 0 ? { ...rest, ...only } : schema;
}

function bodyOf(fields: readonly Field[], { body: whole, raw }: Verb): Schema {
  const only = whole === undefined ? undefined : fields.find((field) => field.name === whole);
  const schema = only?.schema ?? {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [field.name, field.schema])),
    required: fields.filter((field) => field.required).map((field) => field.name),
  };
  const required = only ? only.required : fields.some((field) => field.required);
  const bytes = raw ? { 'application/octet-stream': {}, 'text/plain': {} } : {};
  if (fields.length === 0) return { required, content: bytes };
  return { required, content: { 'application/json': withExample(schema), ...bytes } };
}

function withExample(schema: Schema): Schema {
  return { schema, example: exampleOf(schema) };
}

function fieldsOf(input: z.ZodType): Field[] {
  const { properties = {}, required = [] } = schemaOf(input, 'input') as {
    properties?: { [name: string]: Schema };
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    schema,
    required: required.includes(name),
  }));
}

function schemaOf(type: z.ZodType, io: 'input' | 'output'): Schema {
  const { $schema: _, ...schema } = z.toJSONSchema(type, { io, unrepresentable: 'any' });
  return schema;
}

/** Describes the error responses of an operation by status, with their error codes and an example. */
function failuresOf(operation: Operation): { [status: string]: Schema } {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codesOf(operation)) {
    const { status } = ERRORS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const sorted = [...byStatus].sort(([one], [other]) => one - other);
  return Object.fromEntries(sorted.map(([status, codes]) => [String(status), failure(codes)]));
}

/** Scopes whose verbs store data and can therefore exceed the storage quota. */
const STORES: ReadonlySet<string | null> = new Set(['push', 'threads', 'files', 'tasks']);

function codesOf({ verb, input, codes = [] }: Operation): ErrorCode[] {
  const { scope, byLink } = verb;
  const { method, path } = routeOf(verb);
  const takesPart = Object.hasOwn(input.shape, 'outline');
  const writes = hasBody(method);
  const headers = Object.values(verb.headers ?? {});
  return [
    'bad_request',
    ...(writes ? (['bad_json', 'too_large'] as const) : []),
    ...(verb.raw?.length ? (['empty_payload'] as const) : []),
    ...(takesPart ? (['bad_part', 'not_json', 'not_text'] as const) : []),
    ...(scope === null ? [] : (['unauthorized', 'forbidden'] as const)),
    ...(method === 'POST' && scope === 'push' ? (['over_quota'] as const) : []),
    ...(writes && STORES.has(scope) ? (['over_storage'] as const) : []),
    ...(path.includes(':') || byLink ? (['not_found'] as const) : []),
    ...(method === 'GET' && path.includes('/artifacts/:ref') ? (['artifact_deleted'] as const) : []),
    ...(headers.includes('Idempotency-Key') ? (['idempotency_conflict'] as const) : []),
    ...(headers.includes('If-Match')
      ? [scope === 'files' ? ('file_changed' as const) : ('version_conflict' as const)]
      : []),
    'rate_limited',
    ...codes,
  ];
}

function failure(codes: readonly ErrorCode[]): Schema {
  const [first] = codes as [ErrorCode];
  const example = new RelayError(first, DETAILS[first] ?? {}).toJSON();
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' }, example } },
  };
}

/** Values for the example error messages, by error code. */
const DETAILS: { readonly [code in ErrorCode]?: { readonly [name: string]: unknown } } = {
  bad_request: { what: '"limit": expected a number.' },
  bad_json: { what: 'Unexpected end of JSON input' },
  too_large: { what: 'a payload', limit: 26_214_400 },
  bad_part: { what: 'lines start at 1, not at 0' },
  not_json: { what: 'syntax error at line 3, column 7' },
  forbidden: { what: 'The key "ci" does not have the scope "push".' },
  over_quota: { what: 'pushes', limit: 1000, used: 1000, reset: '2026-12-01T00:00:00Z' },
  over_storage: { plan: 'free', limit: 268_435_456, used: 268_435_000, needed: 2_048 },
  not_found: { what: 'the pointer' },
  artifact_deleted: { ref: '01914a2b3c4d5e6f7890abcdef', at: '2026-11-16T12:00:00.000Z' },
  file_changed: { path: 'src/main.ts', current: 'at v8-9f86d081884c7d65' },
  version_conflict: { current: 'v8', expected: 'v7' },
  rate_limited: { seconds: 3 },
  too_many_keys: { plan: 'free', limit: 2 },
  range_not_satisfiable: { size: 1234 },
  conflict: { what: 'This task already has a result: done.' },
  claimed: { by: 'codex-hono', what: 'src/auth/**', left: '12 more minutes' },
  unknown_agent: { name: '"codex-hon"', near: ' Did you mean codex-hono?' },
  state_invalid: { path: '/facts/0', what: 'must be an object' },
  capability_failed: { capability: 'http.fetch', what: 'the host does not answer' },
};

/** Example values by field name. Other examples are derived from the schema. */
const BY_NAME: { readonly [name: string]: Json } = {
  name: 'notes',
  channel: 'agent-tasks',
  done_channel: 'agent-done',
  task_channel: 'agent-tasks',
  group: 'reviewers',
  agent: 'ada',
  member: 'ada',
  from: 'ada',
  by: 'ada',
  created_by: 'ada',
  data: '# Notes\n…',
  content: '# Notes\n…',
  text: '# Notes\n…',
  q: 'login form',
  query: 'login form',
  summary: 'Notes on the login form',
  lines: '10-40',
  grep: 'TODO',
  json: '/users/0/name',
  state_ref: 'v7',
  if_match: 'v7',
  at: '2026-11-15T12:00:00.000Z',
  from_version: 'v3',
  tokenizer: 'o200k_base',
  content_type: 'text/markdown',
  mime: 'text/markdown',
  path: '/facts/-',
  op: 'add',
  hash: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  ref: '0191d2c4b6a87f3e5d1c9b0a42',
  key_check: 'f711e4be97ed8786',
};

const BY_FORMAT: { readonly [format: string]: string } = {
  uuid: '0b54a5c3-6a8f-4a63-9d5f-0e6a1c9f8a11',
  'date-time': '2026-11-15T12:00:00.000Z',
  uri: 'https://relay.example/pull/0b54a5c3-6a8f-4a63-9d5f-0e6a1c9f8a11',
};

/** Returns an example value for a JSON Schema. The same schema always gives the same example. */
export function exampleOf(schema: Schema, name = '', depth = 0): Json {
  if (schema.const !== undefined) return schema.const as Json;
  if (Array.isArray(schema.examples)) return schema.examples[0] as Json;
  if (Array.isArray(schema.enum)) return schema.enum[0] as Json;
  const choice = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
  if (choice) return exampleOf(choice.find((one) => one.type !== 'null') ?? choice[0]!, name, depth);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'object' || schema.properties) return objectExample(schema, depth);
  if (type === 'array')
    return depth > 4 ? [] : [exampleOf((schema.items ?? {}) as Schema, singular(name), depth + 1)];
  if (type === 'integer' || type === 'number') return numberExample(schema, name);
  if (type === 'boolean') return schema.default === true;
  if (type === 'null') return null;
  if (type !== undefined && type !== 'string') return null;
  return textExample(schema, name);
}

function objectExample(schema: Schema, depth: number): JsonObject {
  const required = (schema.required ?? []) as string[];
  const example: JsonObject = {};
  for (const [key, value] of Object.entries((schema.properties ?? {}) as { [name: string]: Schema })) {
    if (depth > 2 && !required.includes(key)) continue;
    example[key] = exampleOf(value, key, depth + 1);
  }
  return example;
}

function numberExample(schema: Schema, name: string): number {
  if (typeof schema.default === 'number') return schema.default;
  const [least, most] = [Number(schema.minimum ?? 0), Number(schema.maximum ?? Number.MAX_SAFE_INTEGER)];
  const wished = name === 'ttl' ? 3600 : name === 'size' || name === 'bytes' ? 1234 : 7;
  return Math.min(Math.max(wished, Math.max(least, -1)), most);
}

function textExample(schema: Schema, name: string): Json {
  if (typeof schema.default === 'string') return schema.default;
  if (typeof schema.format === 'string' && BY_FORMAT[schema.format]) return BY_FORMAT[schema.format]!;
  const named = BY_NAME[name];
  if (typeof named === 'string' && fits(named, schema)) return named;
  if (/(^|_)at$/.test(name)) return BY_FORMAT['date-time']!;
  if (/(^|_)id$/.test(name)) return BY_FORMAT.uuid!;
  return fits('text', schema) ? 'text' : '';
}

function fits(text: string, { pattern, maxLength }: Schema): boolean {
  if (typeof maxLength === 'number' && text.length > maxLength) return false;
  return typeof pattern !== 'string' || new RegExp(pattern, 'u').test(text);
}

function singular(name: string): string {
  return name.replace(/s$/, '');
}
