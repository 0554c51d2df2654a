/**
 * Generates `python/src/contextrelay/types.py`: the answers of the relay as TypedDicts, from the schemas of the API.
 *
 * node scripts/python-types.ts           writes the file
 * node scripts/python-types.ts --check   fails if the file is not up to date
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { agentSchemas } from '../src/schemas/agents.ts';
import { channelSchemas } from '../src/schemas/channels.ts';
import { fileSchemas } from '../src/schemas/files.ts';
import { receiptSchemas } from '../src/schemas/pointers.ts';
import { cost, tokenCount } from '../src/schemas/shapes.ts';
import { taskSchemas } from '../src/schemas/tasks.ts';
import { capabilitySchemas, threadSchemas } from '../src/schemas/threads.ts';

interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  /** `{}` means that the object may have further fields. */
  readonly additionalProperties?: Schema | false;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly description?: string;
}

/** Answers that the Python client returns, with the names of their classes. */
const TYPES: readonly (readonly [name: string, schema: z.ZodType])[] = [
  ['TokenCount', tokenCount],
  ['Cost', cost],
  ['ReceiptLadder', receiptSchemas.get.output],
  ['Published', channelSchemas.publish.output],
  ['Nacked', channelSchemas.nack.output],
  ['ChannelPage', channelSchemas.list.output],
  ['ChannelDetail', channelSchemas.inspect.output],
  ['SpacePage', fileSchemas.spaces.output],
  ['TaskResult', taskSchemas.done.output],
  ['Task', taskSchemas.get.output],
  ['TaskInfo', taskSchemas.list.output.shape.tasks.element],
  ['Agent', agentSchemas.list.output.shape.agents.element],
  ['ConversationDetail', agentSchemas.conversation.output],
  ['ThreadCreated', threadSchemas.create.output],
  ['ThreadPage', threadSchemas.list.output],
  ['ThreadInfo', threadSchemas.get.output],
  ['State', threadSchemas.state.output],
  ['Header', threadSchemas.header.output],
  ['PatchAnswer', threadSchemas.patch.output],
  ['DiffAnswer', threadSchemas.diff.output],
  ['EventPage', threadSchemas.events.output],
  ['ThreadEvent', threadSchemas.record.output],
  ['Artifact', threadSchemas.deleteArtifact.output],
  ['ArtifactCreated', threadSchemas.putArtifact.output],
  ['ArtifactPage', threadSchemas.artifacts.output],
  ['SearchHit', threadSchemas.search.output.shape.hits.element],
  ['Stats', threadSchemas.stats.output],
  ['Rendered', threadSchemas.render.output],
  ['Report', threadSchemas.report.output],
  ['CapabilityInfo', capabilitySchemas.list.output.shape.capabilities.element],
  ['InvokeAnswer', capabilitySchemas.invoke.output],
];

/** Names of nested types, by parent and field. A nested type that is not listed is named after its parent and field. */
const NAMES: { readonly [path: string]: string } = {
  'ReceiptLadder.receipts': 'Receipt',
  'ChannelPage.channels': 'ChannelInfo',
  'ChannelDetail.groups': 'GroupDetail',
  'GroupDetail.waiting': 'WaitingMessage',
  'Agent.bridge': 'BridgeInfo',
  'Agent.session': 'SessionInfo',
  'Task.lease': 'TaskLease',
  'ConversationDetail.messages': 'AgentMessage',
  'ConversationDetail.conversation': 'Conversation',
  'ThreadPage.threads': 'ThreadItem',
  'State.metrics': 'Metrics',
  'DiffAnswer.ops': 'PatchOp',
  'Artifact.preview': 'Preview',
};

const SCALARS = new Map([
  ['string', 'str'],
  ['integer', 'int'],
  ['number', 'float'],
  ['boolean', 'bool'],
]);
const KEYWORDS = new Set(['from', 'import', 'class', 'in', 'is', 'as', 'with', 'global', 'pass']);
const FILE = resolve(import.meta.dirname, '../python/src/contextrelay/types.py');

const HEAD = `"""The answers of the relay. \`scripts/python-types.ts\` generates this file from the schemas of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired
`;

/** Names of the classes, keyed by their schema as JSON, so that equal schemas become one class. */
const classNames = new Map<string, string>();
const classes: string[] = [];
const schemas = TYPES.map(([name, type]) => {
  const { $schema: _, ...schema } = z.toJSONSchema(type, {
    io: 'output',
    unrepresentable: 'any',
    reused: 'inline',
  });
  classNames.set(JSON.stringify(schema), name);
  return [name, schema as Schema] as const;
});
for (const [name, schema] of schemas) addClass(name, schema);
const generated = `${HEAD}${classes.map((each) => `\n\n${each}\n`).join('')}`;

if (!process.argv.includes('--check')) writeFileSync(FILE, generated);
else if (readFileSync(FILE, 'utf8') !== generated) {
  console.error('python/src/contextrelay/types.py is not up to date. Run: node scripts/python-types.ts');
  process.exitCode = 1;
}

/** Adds a class. The classes of its fields are added before it, because Python needs them first. */
function addClass(name: string, { properties = {}, required = [] }: Schema): void {
  const fields = Object.entries(properties).map(([field, schema]) => {
    const type = typeOf(schema, `${name}.${field}`);
    return { field, type, required: required.includes(field), about: schema.description };
  });
  const isPlain = ({ field }: { field: string }) => /^[a-z_]\w*$/i.test(field) && !KEYWORDS.has(field);
  const odd = fields.filter((each) => !isPlain(each));
  // A class cannot have a field with a reserved name such as `from`. Declare these fields in a base class that a call
  // of `TypedDict` makes.
  if (odd.length > 0) {
    const total = odd.every((each) => each.required) ? '' : ', total=False';
    const entries = odd.map(({ field, type }) => `"${field}": ${type}`).join(', ');
    classes.push(`_${name} = TypedDict("_${name}", {${entries}}${total})`);
  }
  const lines = fields
    .filter(isPlain)
    .flatMap(({ field, type, required, about }) => [
      ...(about ? [`    #: ${about.replaceAll('\n', ' ')}`] : []),
      `    ${field}: ${required ? type : `NotRequired[${type}]`}`,
    ]);
  classes.push([`class ${name}(${odd.length > 0 ? `_${name}` : 'TypedDict'}):`, ...lines].join('\n'));
}

function typeOf(schema: Schema, path: string): string {
  if (Array.isArray(schema.type))
    return typeOf({ anyOf: schema.type.map((type: string) => ({ ...schema, type })) }, path);
  if (schema.const !== undefined) return `Literal[${literal(schema.const)}]`;
  if (schema.enum) return `Literal[${schema.enum.map(literal).join(', ')}]`;
  if (schema.anyOf) {
    const kinds = schema.anyOf.filter(({ type }) => type !== 'null').map((each) => typeOf(each, path));
    const one = kinds.length === 1 ? kinds[0]! : `Union[${kinds.join(', ')}]`;
    return kinds.length < schema.anyOf.length ? `Optional[${one}]` : one;
  }
  const scalar = SCALARS.get(String(schema.type));
  if (scalar) return scalar;
  if (schema.type === 'array') return `List[${typeOf(schema.items ?? {}, path)}]`;
  if (schema.type !== 'object') return 'Any';
  // An object with further fields is a dict, because type checkers reject unknown keys of a TypedDict.
  if (schema.additionalProperties !== false || !schema.properties)
    return schema.properties
      ? 'Dict[str, Any]'
      : `Dict[str, ${typeOf(schema.additionalProperties || {}, path)}]`;
  const { description: _, ...rest } = schema;
  const key = JSON.stringify(rest);
  const cachedName = classNames.get(key);
  if (cachedName) return cachedName;
  const [parent, field] = path.split('.') as [string, string];
  const name = NAMES[path] ?? parent + pascal(field).replace(/s$/, '');
  classNames.set(key, name);
  addClass(name, rest);
  return name;
}

function pascal(field: string): string {
  return field.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function literal(value: unknown): string {
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value);
}
