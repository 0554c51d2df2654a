import type { Json, JsonObject } from '../../base/json.ts';
import { STEP_BACKOFF_MS, STEP_CACHE_MS, STEP_RETRIES_MAX, STEP_TIMEOUT_MS } from '../../base/limits.ts';
import type { ArtifactType } from '../../contract/threads/artifacts.ts';
import type { Agent, Retry, Step } from './definition.ts';
import {
  type Expression,
  parseExpression,
  type Reference,
  referencesOf,
  templateReferences,
  valueReferences,
} from './expression.ts';
import type { FieldReader, Path } from './field-reader.ts';

const KEYS = [
  'id',
  'agent',
  'prompt',
  'needs',
  'context',
  'when',
  'retry',
  'timeout',
  'cache',
  'output',
  'for_each',
];
const TYPES: readonly ArtifactType[] = ['markdown', 'json', 'html', 'text', 'binary', 'tool_output', 'email'];
const ID = /^[A-Za-z][\w-]{0,63}$/;

/** A step with the references that were found in it, for the checks that need to know all steps. */
export interface ReadStep {
  readonly step: Step;
  readonly path: Path;
  readonly references: readonly { readonly key: string; readonly path: readonly string[] }[];
}

export interface Around {
  readonly agents: { readonly [name: string]: Agent };
  readonly cacheMs: number | null;
}

export function readStep(reader: FieldReader, index: number, value: Json, around: Around): ReadStep | null {
  const path: Path = ['steps', index];
  const raw = reader.object(path, value, 'a step', KEYS);
  const id = reader.text([...path, 'id'], raw.id, '"id"');
  if (id === undefined || !ID.test(id)) {
    const what = id === undefined ? 'a step has no "id"' : `"${id}" is not an id: letters, digits, - and _`;
    reader.error(id === undefined ? path : [...path, 'id'], what);
    return null;
  }
  const text = (key: string) => reader.text([...path, key], raw[key], `"${key}" of ${id}`);
  const agentName = text('agent');
  if (agentName === undefined) reader.error(path, `the step "${id}" has no "agent"`);
  const agent = agentName === undefined ? undefined : around.agents[agentName];
  const prompt = text('prompt') ?? '';
  if (prompt.trim() === '' && needsPrompt(agent)) reader.error(path, `the step "${id}" has no "prompt"`);
  const context = reader.texts([...path, 'context'], raw.context, '"context"');
  const when = text('when');
  const forEach = readForEach(reader, path, raw.for_each);
  const references = findReferences(reader, path, { prompt, when, forEach, agent });
  const steps = references.filter((ref) => ref.path[0] === 'steps').map((ref) => ref.path[1] ?? '');
  const needs = [
    ...new Set([...reader.texts([...path, 'needs'], raw.needs, '"needs"'), ...context, ...steps]),
  ];
  const output = readOutput(reader, path, raw.output, id, agent);
  const step: Step = {
    id,
    agent: agentName ?? '',
    prompt,
    needs,
    context,
    ...(when === undefined ? {} : { when }),
    retry: readRetry(reader, path, raw.retry),
    timeoutMs: reader.span([...path, 'timeout'], raw.timeout, '"timeout"') ?? STEP_TIMEOUT_MS,
    cacheMs: readCache(reader, [...path, 'cache'], raw.cache, around.cacheMs),
    output,
    ...(forEach === undefined ? {} : { forEach }),
  };
  return { step, path, references };
}

/** `true`, `false`, or how long. */
export function readCache(
  reader: FieldReader,
  path: Path,
  value: Json | undefined,
  otherwise: number | null,
): number | null {
  if (value === undefined || value === null) return otherwise;
  if (typeof value === 'boolean') return value ? STEP_CACHE_MS : null;
  return reader.span(path, value, '"cache"') ?? null;
}

function needsPrompt(agent: Agent | undefined): boolean {
  if (agent === undefined) return false;
  if (agent.kind === 'capability') return agent.prompt_as !== undefined;
  return agent.kind !== 'shell' || agent.command === null;
}

function readForEach(
  reader: FieldReader,
  path: Path,
  value: Json | undefined,
): string | readonly Json[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) return value;
  if (typeof value !== 'string') {
    reader.error([...path, 'for_each'], '"for_each" is a list, or a reference such as steps.plan.output');
    return undefined;
  }
  return /^\s*\{\{\s*([\w.-]+)\s*\}\}\s*$/.exec(value)?.[1] ?? value.trim();
}

function readRetry(reader: FieldReader, path: Path, value: Json | undefined): Retry {
  const whole = typeof value === 'number' ? { max: value } : value;
  const raw: JsonObject = reader.object([...path, 'retry'], whole, '"retry"', ['max', 'backoff']);
  const max = reader.count([...path, 'retry'], raw.max, '"retry"', 0, STEP_RETRIES_MAX) ?? 0;
  const backoffMs = reader.span([...path, 'retry', 'backoff'], raw.backoff, '"backoff"') ?? STEP_BACKOFF_MS;
  return { max, backoffMs };
}

function readOutput(
  reader: FieldReader,
  path: Path,
  value: Json | undefined,
  id: string,
  agent: Agent | undefined,
): Step['output'] {
  const whole = typeof value === 'string' ? { type: value } : value;
  const raw = reader.object([...path, 'output'], whole, '"output"', ['type', 'name']);
  const said = reader.text([...path, 'output'], raw.type, 'the type of "output"');
  if (said !== undefined && !TYPES.includes(said as ArtifactType))
    reader.error([...path, 'output'], `"${said}" is not a type of output; there are ${TYPES.join(', ')}`);
  const usual = agent?.kind === 'shell' || agent?.kind === 'capability' ? 'tool_output' : 'markdown';
  const type = (said as ArtifactType | undefined) ?? usual;
  return { type, name: reader.text([...path, 'output', 'name'], raw.name, 'the name of "output"') ?? id };
}

function findReferences(
  reader: FieldReader,
  path: Path,
  { prompt, when, forEach, agent }: Pick<Step, 'prompt' | 'when' | 'forEach'> & { agent?: Agent },
): ReadStep['references'] {
  const found: { key: string; path: readonly string[] }[] = [];
  const add = (key: string, references: readonly Reference[]) => {
    for (const reference of references) found.push({ key, path: reference.path });
  };
  add('prompt', templateReferences(prompt));
  if (typeof forEach === 'string') add('for_each', [{ path: forEach.split('.') }]);
  if (agent?.kind === 'capability') add('agent', valueReferences(agent.args));
  if (when !== undefined) {
    const condition = condense(reader, path, when);
    if (condition) add('when', referencesOf(condition));
  }
  return found;
}

function condense(reader: FieldReader, path: Path, when: string): Expression | null {
  try {
    return parseExpression(when);
  } catch (error) {
    reader.error([...path, 'when'], `"when" is not understood: ${(error as Error).message}`);
    return null;
  }
}
