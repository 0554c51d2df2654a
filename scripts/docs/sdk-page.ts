/** Generates docs/sdk-reference.md from the types that the package exports (`npm run docs`). */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { plainTypes } from '../build/types.ts';

const PUBLIC = join(import.meta.dirname, '..', '..', 'src', 'public', 'index.ts');

/** Exports that the page lists first, in this order. All other exports follow in alphabetical order. */
const FIRST = [
  'ContextRelay',
  'ContextRelayOptions',
  'PushOptions',
  'CallOptions',
  'PartRequest',
  'Subscription',
  'SubscriptionOptions',
  'ReceivedMessage',
  'Threads',
  'Thread',
  'ThreadArtifacts',
  'Files',
  'FileSpace',
  'AgentBridge',
  'AgentBridgeOptions',
  'RelayError',
];

export function sdkPage(): string {
  const exported = new Map(exports());
  const plain = plainTypes();
  const names = [...FIRST, ...[...exported.keys()].filter((name) => !FIRST.includes(name)).sort()];
  const parts = names.map((name) => {
    const declared = declaration(sourceOf(exported.get(name)!, plain), name);
    return `## ${name}\n\n\`\`\`typescript\n${declared}\n\`\`\`\n`;
  });
  return `${HEAD}\n${parts.join('\n')}`;
}

/**
 * Returns the text of a file. A line that re-exports types of `src/schemas` is replaced by plain declarations
 * of these types.
 */
function sourceOf(file: string, plain: ReadonlyMap<string, string>): string {
  const source = readFileSync(file, 'utf8').replaceAll('shapes.', '');
  return source.replace(
    /^export type \* from '([^']+)';/m,
    (_, from) => plain.get(join(dirname(file), from))!,
  );
}

const HEAD = `# SDK reference

This page has the declarations of everything that you can import from 'contextrelay'. \`npm run docs\` generates it from the
types. [sdk.md](sdk.md) shows how to use the SDK.
`;

/** Returns the exported names and the files that declare them. */
function exports(): [name: string, file: string][] {
  const lists = readFileSync(PUBLIC, 'utf8').matchAll(/^export (?:type )?\{([^}]*)\} from '([^']+)';/gm);
  return [...lists].flatMap(([, names, file]) =>
    names!
      .split(',')
      .map((name) => name.replace('type ', '').trim())
      .filter(Boolean)
      .map((name): [string, string] => [name, join(dirname(PUBLIC), file!)]),
  );
}

/**
 * Returns the declaration of a name without method bodies and private members. The end of a body or member is found by
 * its indentation. For a name that ends with `Api`, returns the table of its verbs as an interface.
 */
function declaration(source: string, name: string): string {
  if (name.endsWith('Api')) return verbTable(source, name);
  const start = new RegExp(
    `^(?:/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/\\n)?export (?:abstract )?(class|interface|type) ${name}\\b`,
    'm',
  ).exec(source);
  if (!start) throw new Error(`${name} is not declared where it is exported from`);
  const text = source.slice(start.index);
  const kind = start[1];
  if (kind === 'type') return text.slice(0, typeEnd(text)).replace(/^export /m, '');
  const whole = text.slice(0, text.indexOf('\n}\n') + 2);
  return (kind === 'class' ? withoutBodies(whole) : whole).replace(/^export /m, '');
}

interface Verb {
  readonly name: string;
  /**
   * Type of the verb: `(name: string) => Promise<…>`, or `OfThread<T>` where the contract uses this
   * shorthand.
   */
  readonly type: string;
  readonly summary: string;
}

/**
 * Returns the verbs in a table of the contract. A row is `list: verb<TYPE>('channels.list')({ summary:
 * 'SUMMARY', …`.
 */
function verbsIn(source: string, group: string): Verb[] {
  const from = source.indexOf(`export const ${group} = {`);
  const table = source.slice(from, source.indexOf('\n};', from)).replaceAll('shapes.', '');
  return table.split(/^ {2}(?=\w+: \w*[vV]erb<)/m).flatMap((row) => {
    const [start = '', name] = /^(\w+): \w+</.exec(row) ?? [];
    const summary = /summary:\s*(['"])(.*?)\1,/.exec(row)?.[2];
    if (name === undefined || summary === undefined) return [];
    const type = firstTypeArgument(row.slice(start.length));
    return type === 'null' ? [] : [{ name, type, summary }];
  });
}

/**
 * Returns the first type argument: the text up to the comma or `>` that ends it. The `>` of an arrow does not
 * count.
 */
function firstTypeArgument(text: string): string {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!;
    const arrow = sign === '>' && text[at - 1] === '=';
    if (depth === 0 && !arrow && (sign === ',' || sign === '>'))
      return text.slice(0, at).trim().replace(/\s+/g, ' ');
    if ('<({['.includes(sign)) depth++;
    else if ('>)}]'.includes(sign) && !arrow) depth--;
  }
  return text;
}

function verbTable(source: string, name: string): string {
  const group = name.replace('Api', '').toLowerCase();
  const members = verbsIn(source, group).map(
    (verb) => `  /** ${verb.summary} */\n  ${verb.name}: ${verb.type};`,
  );
  if (members.length === 0) throw new Error(`no verbs were found for ${name}`);
  return `interface ${name} {\n${members.join('\n')}\n}`;
}

/**
 * Returns the result type, as `: TYPE`, if a method only calls a verb of the contract. Otherwise returns an empty text.
 */
function passedOn(body: string): string {
  const called = /this\.#(api|capabilities)\.(\w+)\(/.exec(body);
  if (!called) return '';
  const file = called[1] === 'api' && body.includes('this.name') ? 'files' : 'threads';
  const source = readFileSync(join(dirname(PUBLIC), '..', 'contract', `${file}.ts`), 'utf8');
  const type =
    verbsIn(source, called[1] === 'api' ? file : 'capabilities').find(({ name }) => name === called[2])
      ?.type ?? '';
  const short = /^\w+<(.*)>$/.exec(type)?.[1];
  const returnType = short ? `Promise<${short.split(', ').at(-1)}>` : /^.*\) => (.*)$/.exec(type)?.[1];
  return returnType ? `: ${returnType}` : '';
}

/**
 * Returns the position after the semicolon that ends a type: the first one at the end of a line and outside of all
 * brackets.
 */
function typeEnd(text: string): number {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if ('{(['.includes(text[at]!)) depth++;
    else if ('})]'.includes(text[at]!)) depth--;
    else if (text[at] === ';' && depth === 0 && text[at + 1] === '\n') return at + 1;
  }
  return text.length;
}

/** Classes that users construct. The page omits the constructors of all other classes. */
const CONSTRUCTED = /class (?:ContextRelay|AgentBridge|RelayError)\b/;

function withoutBodies(source: string): string {
  const lines = source.split('\n');
  const first = lines.findIndex((line) => line.endsWith('{') && !line.startsWith(' '));
  const outputLines = lines.slice(0, first + 1);
  const hidden = CONSTRUCTED.test(source)
    ? /^ {2}(?:[\w ]*#|private|override readonly name)/
    : /^ {2}(?:[\w ]*#|private|constructor|override readonly name)/;
  const overloaded = new Set<string>();
  let comment: string[] = [];
  for (let at = first + 1; at < lines.length; at++) {
    const line = lines[at]!;
    if (/^ {2}(?:\/\*\*| \*)/.test(line)) comment.push(line);
    if (!/^ {2}[^\s/]/.test(line)) continue;
    const end = memberEnd(lines, at);
    const name = /^ {2}(?:async )?([\w$]+)\(/.exec(line)?.[1] ?? '';
    const implementsOverload = overloaded.has(name) && lines[end]!.endsWith('{');
    if (lines[end]!.endsWith(';') && name) overloaded.add(name);
    if (!hidden.test(line) && !implementsOverload) {
      const body = lines.slice(at, bodyEnd(lines, end) + 1).join('\n');
      const untyped = /\)(?: \{|;)$/.test(lines[end]!) && !/constructor/.test(line);
      const returnType = untyped ? passedOn(body) : '';
      outputLines.push(...comment, signature(lines.slice(at, end + 1)).replace(/;$/, `${returnType};`));
    }
    comment = [];
    at = bodyEnd(lines, end);
  }
  return [...outputLines, '}'].join('\n');
}

/**
 * Returns the index of the line on which a signature ends: with a semicolon, or with the brace that opens the
 * body.
 */
function memberEnd(lines: readonly string[], at: number): number {
  let end = at;
  while (!/[;{]$/.test(lines[end]!)) end++;
  return end;
}

function bodyEnd(lines: readonly string[], end: number): number {
  return lines[end]!.endsWith(';') ? end : lines.indexOf('  }', end);
}

/** Formats a signature. Parameters with a default value become optional parameters. */
function signature(member: readonly string[]): string {
  return member
    .join('\n')
    .replace(/ \{$/, ';')
    .replace(/\basync \*?/, '')
    .replace(/^( {2})\*/, '$1')
    .replace(/(\w+)(: (?:[^,(){}=<]|<[^<>]*>|\{(?:[^{}]|\{[^{}]*\})*\})+?) = (?:\{\}|'\w+')/g, '$1?$2');
}
