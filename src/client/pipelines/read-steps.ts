import { STEP_BACKOFF_MS, STEP_CACHE_MS, STEP_RETRIES_MAX, STEP_TIMEOUT_MS } from '../../base/limits.ts';
import type { ArtifactType } from '../../contract/threads/artifacts.ts';
import type { Agent, Step } from './definition.ts';
import {
  parseExpression,
  type Reference,
  referencesOf,
  templateReferences,
  valueReferences,
} from './expression.ts';
import type { Fields } from './fields.ts';

export const STEP_KEYS = [
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
  readonly fields: Fields;
  readonly references: readonly { readonly key: string; readonly path: Reference }[];
}

export function readStep(
  fields: Fields,
  agents: { readonly [name: string]: Agent },
  pipelineCacheMs: number | null,
): ReadStep | null {
  const id = fields.text('id');
  if (id === undefined) {
    fields.error('a step has no "id"');
    return null;
  }
  if (!ID.test(id)) {
    fields.error(`"${id}" is not an id: letters, digits, - and _`, 'id');
    return null;
  }
  const text = (key: string) => fields.text(key, `"${key}" of ${id}`);
  const agentName = text('agent');
  if (agentName === undefined) fields.error(`the step "${id}" has no "agent"`);
  const agent = agentName === undefined ? undefined : agents[agentName];
  const prompt = text('prompt') ?? '';
  if (prompt.trim() === '' && needsPrompt(agent)) fields.error(`the step "${id}" has no "prompt"`);
  const context = fields.texts('context');
  const when = text('when');
  const forEach = readForEach(fields);
  const references = findReferences(fields, { prompt, when, forEach, agent });
  const steps = references.filter(({ path }) => path[0] === 'steps').map(({ path }) => path[1] ?? '');
  const step: Step = {
    id,
    agent: agentName ?? '',
    prompt,
    needs: [...new Set([...fields.texts('needs'), ...context, ...steps])],
    context,
    ...(when === undefined ? {} : { when }),
    retry: readRetry(fields),
    timeoutMs: fields.span('timeout') ?? STEP_TIMEOUT_MS,
    cacheMs: readCache(fields, pipelineCacheMs),
    output: readOutput(fields, id, agent),
    ...(forEach === undefined ? {} : { forEach }),
  };
  return { step, fields, references };
}

/** `true`, `false`, or how long. */
export function readCache(fields: Fields, otherwise: number | null): number | null {
  const value = fields.raw.cache ?? undefined;
  if (value === undefined) return otherwise;
  if (typeof value === 'boolean') return value ? STEP_CACHE_MS : null;
  return fields.span('cache') ?? null;
}

function needsPrompt(agent: Agent | undefined): boolean {
  if (agent === undefined) return false;
  if (agent.kind === 'capability') return agent.prompt_as !== undefined;
  return agent.kind !== 'shell' || agent.command === null;
}

function readForEach(fields: Fields): Step['forEach'] {
  const value = fields.raw.for_each ?? undefined;
  if (value === undefined || Array.isArray(value)) return value;
  if (typeof value === 'string') return /^\s*\{\{\s*([\w.-]+)\s*\}\}\s*$/.exec(value)?.[1] ?? value.trim();
  fields.error('"for_each" is a list, or a reference such as steps.plan.output', 'for_each');
  return undefined;
}

function readRetry(fields: Fields): Step['retry'] {
  const value = fields.raw.retry;
  const whole = typeof value === 'number' ? { max: value } : value;
  const retry = fields.map('retry', ['max', 'backoff'], '"retry"', whole);
  return {
    max: retry.count('max', 0, STEP_RETRIES_MAX, '"retry"') ?? 0,
    backoffMs: retry.span('backoff') ?? STEP_BACKOFF_MS,
  };
}

function readOutput(fields: Fields, id: string, agent: Agent | undefined): Step['output'] {
  const value = fields.raw.output;
  const whole = typeof value === 'string' ? { type: value } : value;
  const output = fields.map('output', ['type', 'name'], '"output"', whole);
  const said = output.text('type', 'the type of "output"') as ArtifactType | undefined;
  if (said !== undefined && !TYPES.includes(said))
    output.error(`"${said}" is not a type of output; there are ${TYPES.join(', ')}`, 'type');
  const usual = agent?.kind === 'shell' || agent?.kind === 'capability' ? 'tool_output' : 'markdown';
  return { type: said ?? usual, name: output.text('name', 'the name of "output"') ?? id };
}

function findReferences(
  fields: Fields,
  { prompt, when, forEach, agent }: Pick<Step, 'prompt' | 'when' | 'forEach'> & { agent?: Agent },
): ReadStep['references'] {
  const found: { key: string; path: Reference }[] = [];
  const add = (key: string, references: readonly Reference[]) => {
    for (const path of references) found.push({ key, path });
  };
  add('prompt', templateReferences(prompt));
  if (typeof forEach === 'string') add('for_each', [forEach.split('.')]);
  if (agent?.kind === 'capability') add('agent', valueReferences(agent.args));
  try {
    if (when !== undefined) add('when', referencesOf(parseExpression(when)));
  } catch (error) {
    fields.error(`"when" is not understood: ${(error as Error).message}`, 'when');
  }
  return found;
}
