/** Generates docs/api.md from the table of operations (`npm run docs`). */
import { openApiDocument } from '../../src/interfaces/http/openapi.ts';
import { OPERATIONS } from '../../src/interfaces/http/operations.ts';

interface Described {
  readonly operationId: string;
  readonly summary: string;
  readonly 'x-scope'?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly content: {
      readonly 'application/json'?: { readonly example: unknown };
      readonly 'application/octet-stream'?: unknown;
    };
  };
  readonly responses: { readonly [status: string]: Answer };
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: {
    readonly type?: string;
    readonly description?: string;
    readonly enum?: readonly string[];
    readonly minimum?: number;
    readonly maximum?: number;
  };
}

interface Answer {
  readonly description: string;
  readonly content?: { readonly 'application/json': { readonly example: unknown } };
}

export function apiPage(): string {
  const { paths } = openApiDocument(OPERATIONS, '') as {
    paths: { [path: string]: { [method: string]: Described } };
  };
  const sections = new Map<string, string[]>();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, described] of Object.entries(methods)) {
      const subject = described.operationId.split('.')[0]!;
      sections.set(subject, [
        ...(sections.get(subject) ?? []),
        operation(method.toUpperCase(), path, described),
      ]);
    }
  }
  const parts = [...sections].map(([subject, list]) => `## ${subject}\n\n${list.join('\n')}`);
  return `${HEAD}\n${parts.join('\n')}`;
}

const HEAD = `# The HTTP API

\`npm run docs\` generates this page from the table of operations. A running relay serves the same description as OpenAPI 3.1
at \`/openapi.json\`. Every path also works under \`/v1\`. If the relay requires keys, send
\`Authorization: Bearer cr_live_…\`. Each operation names the scope that the key needs. Every error is \`{"error", "code", "hint"}\`.
`;

function operation(method: string, path: string, described: Described): string {
  const { summary, parameters = [], requestBody, responses } = described;
  const scope = described['x-scope'];
  const [status, answer] = Object.entries(responses).find(([one]) => one.startsWith('2'))!;
  const refusals = Object.entries(responses)
    .filter(([one]) => Number(one) >= 400)
    .map(([one, { description }]) => `${one} ${description}`);
  const lines = [`### ${method} ${path}`, '', `${summary}.${scope ? ` Scope: \`${scope}\`.` : ''}`, ''];
  if (parameters.length > 0) lines.push('| parameter | in | |', '|---|---|---|', ...parameters.map(row), '');
  if (requestBody) {
    const raw = requestBody.content['application/octet-stream'] !== undefined;
    const json = requestBody.content['application/json'];
    const bytes = 'the payload itself with any';
    if (!json) lines.push(`Takes ${bytes} Content-Type.`, '');
    else
      lines.push(
        raw ? `Takes JSON (below), or ${bytes} other Content-Type:` : 'Takes:',
        '',
        block(json.example),
        '',
      );
  }
  const example = answer.content?.['application/json'].example;
  lines.push(example === undefined ? `Answers ${status}.` : `Answers ${status}:`, '');
  if (example !== undefined) lines.push(block(example), '');
  lines.push(`Refused with ${refusals.join(' · ')}.`, '');
  return lines.join('\n');
}

function row({ name, in: where, required, description, schema }: Parameter): string {
  const { minimum, maximum } = schema;
  const bounds =
    maximum === undefined
      ? undefined
      : minimum === undefined
        ? `at most ${maximum}`
        : `from ${minimum} to ${maximum}`;
  // An empty value counts as true, see `looseFlag` in src/schemas/shapes.ts.
  const isFlag = schema.enum?.includes('') === true;
  const choices = isFlag
    ? 'on: `1`, `true` or no value; off: `0` or `false`'
    : schema.enum?.map((one) => `\`${one}\``).join(' or ');
  const details = [schema.description, choices, bounds, description].filter(Boolean).join('; ');
  return `| \`${name}\`${required ? ' (required)' : ''} | ${where} | ${details.replaceAll('|', '\\|')} |`;
}

function block(example: unknown): string {
  return `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``;
}
