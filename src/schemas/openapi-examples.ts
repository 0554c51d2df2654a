import type { Json, JsonObject } from '../base/json.ts';

type Schema = { readonly [key: string]: unknown };

/** What a field is called says more about it than its type; the rest is told by the schema. */
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

/** A value that fits a JSON Schema, for people to look at. The same for the same schema. */
export function exampleOf(schema: Schema, name = '', depth = 0): Json {
  if (schema.const !== undefined) return schema.const as Json;
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
