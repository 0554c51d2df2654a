/** Lists the fields of a pipeline from its schema, for docs/pipelines.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Schema {
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly $ref?: string;
  readonly required?: readonly string[];
  readonly properties?: { readonly [name: string]: Schema };
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly $defs?: { readonly [name: string]: Schema };
}

const FILE = join(import.meta.dirname, '..', '..', 'schemas', 'pipeline.schema.json');

export function pipelineFields(): string {
  const schema: Schema = JSON.parse(readFileSync(FILE, 'utf8'));
  const { agent, step, trigger, budget, notify } = schema.$defs!;
  const kinds = agent!.oneOf!.flatMap((kind) => ['', `**\`${kind.required![0]}\`**`, '', ...table(kind)]);
  const input = (schema.properties!.inputs!.additionalProperties as Schema).anyOf![1]!;
  return [
    '### The file',
    '',
    ...table(schema),
    '',
    '### An input',
    '',
    ...table(input),
    '',
    '### An agent',
    '',
    'Exactly one of these fields sets the kind of the agent: `provider`, `cli`, `shell`, `capability`, `bridge`, `a2a`.',
    ...kinds,
    '',
    '### A step',
    '',
    ...table(step!),
    '',
    '### A trigger',
    '',
    'Exactly one of these fields sets the kind of the trigger: `channel`, `schedule`, `webhook`.',
    ...trigger!.anyOf!.flatMap((kind) => ['', `**\`${kind.required![0]}\`**`, '', ...table(kind)]),
    '',
    '### A budget',
    '',
    ...table(budget!),
    '',
    '### A notification',
    '',
    ...table(notify!.anyOf![1]!),
  ].join('\n');
}

function table(schema: Schema, above = ''): string[] {
  const rows = Object.entries(schema.properties ?? {}).flatMap(([name, field]): string[] => {
    const needed = schema.required?.includes(name) ? ' (required)' : '';
    const row = `| \`${above}${name}\`${needed} | ${kindOf(field)} | ${field.description ?? ''} |`;
    const inside = field.anyOf?.find((one) => one.properties);
    return [row, ...(inside ? table(inside, `${above}${name}.`).slice(2) : [])];
  });
  return [
    '| field | type | description |',
    '|---|---|---|',
    ...rows.map((row) => row.replace(/(?<=\w)\|(?=\w)/g, '\\|')),
  ];
}

const WORDS: { readonly [type: string]: string } = {
  string: 'text',
  integer: 'whole number',
  boolean: 'true or false',
  array: 'list',
  object: 'object',
  '#/$defs/span': 'time: `90s`, `15m`, `2h`',
  '#/$defs/cache': 'true, false or a time',
  '#/$defs/texts': 'text or list of texts',
  '#/$defs/type': 'type',
  '#/$defs/notify': 'text or [notification](#a-notification)',
  '#/$defs/budget': '[budget](#a-budget)',
  '#/$defs/trigger': '[trigger](#a-trigger)',
  number: 'number',
  null: 'empty',
};

function kindOf(field: Schema): string {
  if (field.enum) return field.enum.map((word) => `\`${word}\``).join(', ');
  if (field.$ref) return WORDS[field.$ref] ?? field.$ref;
  if (field.anyOf) return field.anyOf.map(kindOf).join(' or ');
  const types = [field.type ?? []].flat();
  return types.map((type) => WORDS[type] ?? type).join(' or ') || 'any value';
}
