import { RelayError } from '../../base/errors.ts';
import { isJsonObject } from '../../base/json.ts';
import {
  PIPELINE_FILE_BYTES,
  PIPELINE_PARALLEL,
  PIPELINE_PARALLEL_MAX,
  PIPELINE_STEPS,
  QUESTION_CHOICES,
  QUESTION_TTL_MAX_S,
  STEP_BACKOFF_MS,
  STEP_CACHE_MS,
  STEP_PULL_ROUNDS,
  STEP_PULL_TOKENS,
  STEP_RETRIES_MAX,
  STEP_ROUNDS,
  STEP_ROUNDS_MAX,
  STEP_TIMEOUT_MS,
} from '../../base/limits.ts';
import type { ArtifactType } from '../../contract/threads.ts';
import { readYaml } from '../../formats/yaml.ts';
import { PROVIDER_LIST, PROVIDER_NAMES, type ProviderName } from '../prompts/providers.ts';
import { PROMPT_WAYS, type PromptWay } from '../prompts/types.ts';
import { nextTime } from './cron.ts';
import type {
  Agent,
  AgentKind,
  Budget,
  Input,
  Notify,
  PersonAgent,
  Pipeline,
  PipelineFile,
  Problem,
  Secret,
  Step,
  Trigger,
} from './definition.ts';
import {
  evaluate,
  parseExpression,
  type Reference,
  referencesOf,
  templateReferences,
  truth,
  valueReferences,
} from './expression.ts';
import { didYouMean, Fields, type Report } from './fields.ts';
import { findCycle } from './graph.ts';

type Inputs = { [name: string]: Input };

const KEYS =
  'name description inputs agents steps max_parallel cache $schema env secrets budget outputs triggers concurrency notify'.split(
    ' ',
  );
const FIELDS = ['output', 'outputs', 'preview', 'ref', 'status'];

export interface Reading {
  /** The pipeline without its invalid parts. Null if the text is not valid YAML or not a map. */
  readonly pipeline: Pipeline | null;
  /** Errors and warnings, ordered by line. */
  readonly problems: readonly Problem[];
}

/** Parses and validates a pipeline. Does not stop at the first problem: reports all problems, each with its line. */
export function readPipeline(text: string, fallbackName: string): Reading {
  if (text.length > PIPELINE_FILE_BYTES)
    throw new RelayError('too_large', { what: 'a pipeline', limit: PIPELINE_FILE_BYTES });
  const yaml = readYaml(text);
  const problems: Problem[] = yaml.problems.map((problem) => ({ ...problem, severity: 'error' }));
  if (problems.length > 0) return { pipeline: null, problems };
  const report: Report = (path, what, severity = 'error') =>
    problems.push({ line: yaml.lineOf(path), what, severity });
  if (!isJsonObject(yaml.value)) {
    report([], 'a pipeline is a map with "agents" and "steps"');
    return { pipeline: null, problems };
  }
  const fields = new Fields(report, [], yaml.value, 'a pipeline', KEYS);
  const named = fields.map('agents');
  const agents = readAgents(named);
  const cacheMs = readCache(fields, null);
  const inputs = readInputs(fields.map('inputs'));
  const triggers = readTriggers(fields, report);
  const outputs = fields.variables('outputs');
  const concurrency = readConcurrency(fields);
  const read = stepsOf(fields, report).flatMap((step) => readStep(step, agents, cacheMs) ?? []);
  checkSteps(read, Object.keys(named.raw));
  checkReferences(read, inputs);
  const elsewhere = [
    ...Object.entries(outputs).map(([name, text]) => ({ key: ['outputs', name], text })),
    ...(concurrency ? [{ key: ['concurrency'], text: concurrency.key }] : []),
    ...triggers.flatMap((trigger, at) =>
      Object.entries(trigger.inputs).map(([name, text]) => ({ key: ['triggers', at, 'inputs', name], text })),
    ),
  ];
  const loose = elsewhere.flatMap(({ key, text }) => templateReferences(text).map((path) => ({ key, path })));
  for (const { key, path } of loose) {
    const problem = wrongReference(path, inputs, false);
    if (problem) report(key, `${path.join('.')}: ${problem}`);
  }
  for (const [at, { inputs: triggerInputs }] of triggers.entries())
    for (const name of Object.keys(triggerInputs))
      if (!Object.hasOwn(inputs, name))
        report(['triggers', at, 'inputs', name], `there is no input "${name}"`);
  const cycle = findCycle(read.map(({ step }) => step));
  const waiting = read.find(({ step }) => step.id === cycle?.[0]);
  waiting?.fields.error(`these steps wait for each other: ${cycle!.join(' → ')}`, 'needs');
  checkUnused(report, read, inputs, agents, loose);
  const pipeline: Pipeline = {
    maxParallel: fields.count('max_parallel', 1, PIPELINE_PARALLEL_MAX) ?? PIPELINE_PARALLEL,
    name: fields.text('name')?.trim() || fallbackName,
    description: fields.text('description') ?? '',
    inputs,
    agents,
    steps: read.map(({ step }) => step),
    env: fields.variables('env'),
    secrets: readSecrets(fields),
    budget: readBudget(fields),
    outputs,
    triggers,
    concurrency,
    notify: readNotify(fields),
  };
  return { pipeline, problems: problems.sort((a, b) => a.line - b.line) };
}

/** Parses a pipeline. Throws if the file has errors, or if a step in `only` does not exist. */
export function soundPipeline(source: PipelineFile, only: readonly string[] = []): Pipeline {
  const { text, file, name } = source;
  const { pipeline, problems } = readPipeline(text, name);
  const errors = problems.filter(({ severity }) => severity === 'error');
  for (const used of Object.values(source.uses ?? {})) soundPipeline(used);
  if (!pipeline || errors.length > 0) {
    const what = errors.map((problem) => `${file}:${problem.line}: ${problem.what}`).join('\n');
    throw new RelayError('bad_pipeline', { what, file });
  }
  const ids = pipeline.steps.map(({ id }) => id);
  const unknown = only.find((id) => !ids.includes(id));
  if (unknown === undefined) return pipeline;
  const hint = `The steps are: ${ids.join(', ')}.`;
  throw new RelayError('bad_usage', { what: `There is no step "${unknown}".`, hint });
}

function readInputs(inputs: Fields): Inputs {
  const found: Inputs = {};
  for (const [name, raw] of Object.entries(inputs.raw)) {
    if (!/^[A-Za-z]\w{0,63}$/.test(name)) inputs.error(`"${name}" is not a valid name for an input`, name);
    if (!isJsonObject(raw)) {
      found[name] = { description: '', value: raw ?? undefined };
      continue;
    }
    const input = inputs.map(name, ['description', 'default', 'required'], `the input "${name}"`);
    const optional = raw.required === false ? '' : undefined;
    found[name] = { description: input.text('description') ?? '', value: raw.default ?? optional };
  }
  return found;
}

function stepsOf(fields: Fields, report: Report): Fields[] {
  const { steps } = fields.raw;
  if (!Array.isArray(steps) || steps.length === 0)
    fields.error('a pipeline needs "steps": a list with at least one step', 'steps');
  else if (steps.length > PIPELINE_STEPS)
    fields.error(`a pipeline has at most ${PIPELINE_STEPS} steps`, 'steps');
  else return steps.map((raw, index) => new Fields(report, ['steps', index], raw, 'a step', STEP_KEYS));
  return [];
}

function checkSteps(read: readonly ReadStep[], agents: readonly string[]): void {
  const seen = new Set<string>();
  const ids = read.map(({ step }) => step.id);
  for (const { step, fields } of read) {
    if (seen.has(step.id)) fields.error(`two steps have the id "${step.id}"`, 'id');
    seen.add(step.id);
    if (!step.own && step.agent !== '' && !agents.includes(step.agent))
      fields.error(`there is no agent "${step.agent}"${didYouMean(step.agent, agents)}`, 'agent');
    for (const need of step.needs) {
      if (ids.includes(need)) continue;
      const what = `the step "${step.id}" needs "${need}", which does not exist`;
      fields.error(`${what}${didYouMean(need, ids)}`, step.context.includes(need) ? 'context' : 'needs');
    }
  }
}

function checkReferences(read: readonly ReadStep[], inputs: Inputs): void {
  for (const { step, fields, references } of read) {
    for (const { key, path } of references) {
      if (key === 'until' && ['output', 'exit_code', 'round'].includes(path[0]!)) continue;
      const problem = wrongReference(path, inputs, step.forEach !== undefined);
      if (problem) fields.error(`${path.join('.') || '{{ }}'}: ${problem}`, key);
    }
  }
}

function wrongReference([root, name, field]: Reference, inputs: Inputs, many: boolean): string | null {
  if (root === 'inputs') {
    if (name !== undefined && Object.hasOwn(inputs, name)) return null;
    return `there is no such input${didYouMean(name ?? '', Object.keys(inputs))}`;
  }
  if (root === 'item' || root === 'index') return many ? null : 'it exists only in a step with "for_each"';
  if (root === 'run') return name === 'id' ? null : 'a run has only the field "id"';
  if (root === 'trigger') return null;
  if (root !== 'steps') return 'it must start with inputs, steps, item, index, run or trigger';
  if (field === undefined || !FIELDS.includes(field)) return `the fields of a step are ${FIELDS.join(', ')}`;
  return null;
}

function checkUnused(
  report: Report,
  read: readonly ReadStep[],
  inputs: Inputs,
  agents: object,
  elsewhere: readonly { readonly path: Reference }[],
): void {
  const all = [...read.flatMap(({ references }) => references), ...elsewhere];
  const used = new Set(all.map(({ path }) => path.slice(0, 2).join('.')));
  const never = new Set<string>();
  for (const { step, fields } of read)
    if (step.when !== undefined && isNever(step.when)) {
      never.add(step.id);
      fields.warn(`the step "${step.id}" can never run: its condition is always false`, 'when');
    }
  // A step that needs a skipped step is skipped too, unless it has its own condition. Such a step is added to
  // `never` while the loop iterates over `never`. So the loop also finds the steps that need the added step.
  for (const skipped of never)
    for (const { step, fields } of read) {
      if (never.has(step.id) || step.when !== undefined || !step.needs.includes(skipped)) continue;
      never.add(step.id);
      fields.warn(`the step "${step.id}" can never run: it needs "${skipped}"`);
    }
  for (const name of Object.keys(inputs))
    if (!used.has(`inputs.${name}`)) report(['inputs', name], `the input "${name}" is never used`, 'warning');
  const working = new Set(read.map(({ step }) => step.agent));
  for (const name of Object.keys(agents))
    if (!working.has(name)) report(['agents', name], `no step uses the agent "${name}"`, 'warning');
}

/** Keys that an agent may have, by kind. The first key of a list decides the kind of the agent. */
const AGENT_KEYS: { readonly [kind in NamedKind]: readonly string[] } = {
  provider: ['provider', 'model', 'base_url', 'system', 'max_tokens'],
  cli: ['cli', 'args', 'prompt_by', 'system'],
  shell: ['shell', 'env'],
  capability: ['capability', 'args', 'prompt_as'],
  bridge: ['bridge', 'done_channel', 'to'],
  a2a: ['a2a'],
};
type NamedKind = Exclude<AgentKind, 'person' | 'pipeline'>;
const KINDS = Object.keys(AGENT_KEYS) as NamedKind[];

const TOKENS_MAX = 1_000_000;

function readAgents(agents: Fields): { [name: string]: Agent } {
  const result: { [name: string]: Agent } = {};
  for (const [name, raw] of Object.entries(agents.raw)) {
    if (!NAME.test(name)) agents.error(`"${name}" is not a valid name for an agent`, name);
    if (!isJsonObject(raw)) {
      agents.error(`the agent "${name}" must be a map with one of ${KINDS.join(', ')}`, name);
      continue;
    }
    const kinds = KINDS.filter((kind) => Object.hasOwn(raw, kind));
    if (kinds.length !== 1) {
      const what = kinds.length === 0 ? 'has no kind' : `has several kinds (${kinds.join(', ')})`;
      agents.error(`the agent "${name}" ${what}; it must have exactly one of ${KINDS.join(', ')}`, name);
      continue;
    }
    const kind = kinds[0]!;
    const agent = readAgent(name, kind, agents.map(name, AGENT_KEYS[kind], `the agent "${name}"`));
    if (agent) result[name] = agent;
  }
  return result;
}

function readAgent(name: string, kind: NamedKind, fields: Fields): Agent | undefined {
  const itself = fields.text(kind);
  if (kind === 'shell') {
    const command = fields.raw.shell === true ? null : itself;
    if (command === undefined || command === '')
      return fields.error(
        '"shell" must be a command, or true if the prompt of the step is the command',
        'shell',
      );
    const env = Object.entries(fields.map('env').raw).map(([key, value]) => [key, String(value)]);
    return { kind, command, env: Object.fromEntries(env) };
  }
  if (!itself) return fields.error(`"${kind}" of the agent "${name}" is empty`, kind);
  if (kind === 'provider') {
    const [model, base_url, system] = ['model', 'base_url', 'system'].map((key) => fields.text(key));
    if (!PROVIDER_NAMES.includes(itself as ProviderName)) {
      const near = didYouMean(itself, PROVIDER_NAMES);
      const hint = near === '' ? '; there are' : `${near} There are`;
      fields.error(`there is no provider "${itself}"${hint} ${PROVIDER_LIST}`, 'provider');
    }
    const max_tokens = fields.count('max_tokens', 1, TOKENS_MAX);
    return { kind, provider: itself, model, base_url, system, max_tokens };
  }
  if (kind === 'cli') {
    const by = fields.text('prompt_by') as PromptWay | undefined;
    if (by !== undefined && !PROMPT_WAYS.includes(by))
      fields.error('"prompt_by" must be stdin, argument or file', 'prompt_by');
    return { kind, cli: itself, args: fields.texts('args'), prompt_by: by, system: fields.text('system') };
  }
  if (kind === 'capability')
    return { kind, capability: itself, args: fields.map('args').raw, prompt_as: fields.text('prompt_as') };
  if (kind === 'bridge') {
    const done_channel = fields.text('done_channel') ?? 'agent-done';
    return { kind, channel: itself, done_channel, to: fields.text('to') };
  }
  if (!/^https?:\/\//.test(itself)) fields.error('"a2a" must be an http:// or https:// address', 'a2a');
  return { kind, url: itself };
}

const STEP_KEYS =
  'id agent prompt needs context when retry timeout cache output pulls for_each approve uses with until budget env'.split(
    ' ',
  );
const TYPES: readonly ArtifactType[] = ['markdown', 'json', 'html', 'text', 'binary', 'tool_output', 'email'];
/** Pattern for the ids of steps and the names of agents. */
const NAME = /^[A-Za-z][\w-]{0,63}$/;

/** A parsed step with its references. Checks use it after all steps were read. */
interface ReadStep {
  readonly step: Step;
  readonly fields: Fields;
  readonly references: readonly { readonly key: string; readonly path: Reference }[];
}

function readStep(
  fields: Fields,
  agents: { readonly [name: string]: Agent },
  pipelineCacheMs: number | null,
): ReadStep | undefined {
  const id = fields.text('id');
  if (id === undefined) return fields.error('a step has no "id"');
  if (!NAME.test(id))
    return fields.error(
      `"${id}" is not a valid id: use letters, digits, - and _, and start with a letter`,
      'id',
    );
  const text = (key: string) => fields.text(key, `"${key}" of ${id}`);
  const ownAgent = readOwnAgent(fields, id);
  const agentName =
    ownAgent === undefined ? text('agent') : ownAgent.kind === 'person' ? 'person' : ownAgent.uses;
  if (agentName === undefined)
    fields.error(`the step "${id}" has no "agent"; it needs "agent", "approve" or "uses"`);
  const agent = ownAgent ?? (agentName === undefined ? undefined : agents[agentName]);
  const prompt = ownAgent?.kind === 'person' ? ownAgent.question : (text('prompt') ?? '');
  if (prompt.trim() === '' && needsPrompt(agent)) fields.error(`the step "${id}" has no "prompt"`);
  const context = fields.texts('context');
  const when = text('when');
  const forEach = readForEach(fields);
  const until = readUntil(fields);
  const references = findReferences(fields, { prompt, when, forEach, agent, until });
  const steps = references.filter(({ path }) => path[0] === 'steps').map(({ path }) => path[1] ?? '');
  const step: Step = {
    id,
    agent: agentName ?? '',
    prompt,
    needs: [...new Set([...fields.texts('needs'), ...context, ...steps])],
    context,
    when,
    retry: readRetry(fields),
    timeoutMs: fields.span('timeout') ?? STEP_TIMEOUT_MS,
    cacheMs: readCache(fields, pipelineCacheMs),
    output: readOutput(fields, id, agent),
    pulls: readPulls(fields),
    forEach,
    own: ownAgent,
    until,
    budget: readBudget(fields),
    env: fields.variables('env'),
  };
  return { step, fields, references };
}

/**
 * Parses the field `cache`: `true`, `false` or a duration. Returns a time in ms, or null if results are not
 * cached.
 */
function readCache(fields: Fields, otherwise: number | null): number | null {
  const { cache } = fields.raw;
  if (!fields.has('cache')) return otherwise;
  if (typeof cache === 'boolean') return cache ? STEP_CACHE_MS : null;
  return fields.span('cache') ?? null;
}

function needsPrompt(agent: Agent | undefined): boolean {
  if (agent === undefined || agent.kind === 'pipeline') return false;
  if (agent.kind === 'capability') return agent.prompt_as !== undefined;
  return agent.kind !== 'shell' || agent.command === null;
}

function readForEach(fields: Fields): Step['forEach'] {
  const value = fields.raw.for_each ?? undefined;
  if (value === undefined || Array.isArray(value)) return value;
  if (typeof value === 'string') return /^\s*\{\{\s*([\w.-]+)\s*\}\}\s*$/.exec(value)?.[1] ?? value.trim();
  return fields.error('"for_each" must be a list, or a reference such as steps.plan.output', 'for_each');
}

/** Parses the field `pulls`: a number of rounds, or an object with rounds and tokens. */
function readPulls(fields: Fields): Step['pulls'] {
  const pulls = fields.shorthand('pulls', ['rounds', 'tokens'], 'number');
  return {
    rounds: pulls?.count('rounds', 0, STEP_PULL_ROUNDS, '"pulls"'),
    tokens: pulls?.count('tokens', 1, STEP_PULL_TOKENS, 'the tokens of "pulls"'),
  };
}

function readRetry(fields: Fields): Step['retry'] {
  const retry = fields.shorthand('retry', ['max', 'backoff'], 'number');
  return {
    max: retry?.count('max', 0, STEP_RETRIES_MAX, '"retry"') ?? 0,
    backoffMs: retry?.span('backoff') ?? STEP_BACKOFF_MS,
  };
}

/** Artifact types of outputs, by kind of agent. The output of all other kinds is Markdown. */
const OUTPUT_TYPES: { readonly [kind in AgentKind]?: ArtifactType } = {
  shell: 'tool_output',
  capability: 'tool_output',
  person: 'text',
  pipeline: 'json',
};

function readOutput(fields: Fields, id: string, agent: Agent | undefined): Step['output'] {
  const output = fields.shorthand('output', ['type', 'name']);
  const type = output?.text('type', 'the type of "output"') as ArtifactType | undefined;
  if (type !== undefined && !TYPES.includes(type))
    output!.error(`"${type}" is not a type of output; the types are ${TYPES.join(', ')}`, 'type');
  return {
    type: type ?? OUTPUT_TYPES[agent?.kind ?? 'cli'] ?? 'markdown',
    name: output?.text('name', 'the name of "output"') ?? id,
  };
}

function findReferences(
  fields: Fields,
  {
    prompt,
    when,
    forEach,
    agent,
    until,
  }: Pick<Step, 'prompt' | 'when' | 'forEach' | 'until'> & { agent?: Agent },
): ReadStep['references'] {
  const uses: { key: string; path: Reference }[] = [];
  const add = (key: string, references: readonly Reference[]) =>
    void uses.push(...references.map((path) => ({ key, path })));
  add(agent?.kind === 'person' ? 'approve' : 'prompt', templateReferences(prompt));
  add('until', templateReferences(until?.check ?? ''));
  if (typeof forEach === 'string') add('for_each', [forEach.split('.')]);
  if (agent?.kind === 'capability') add('agent', valueReferences(agent.args));
  if (agent?.kind === 'pipeline') add('with', valueReferences(agent.args));
  for (const [key, condition] of [['when', when] as const, ['until', until?.condition] as const]) {
    try {
      if (condition !== undefined) add(key, referencesOf(parseExpression(condition)));
    } catch (error) {
      fields.error(`"${key}" is not a valid expression: ${(error as Error).message}`, key);
    }
  }
  return uses;
}

/**
 * Returns whether a condition is false in every run. A condition with references is never reported, because
 * its value may change.
 */
function isNever(when: string): boolean {
  try {
    const expression = parseExpression(when);
    return referencesOf(expression).length === 0 && !truth(evaluate(expression, () => ''));
  } catch {
    return false;
  }
}

/** Reads the agent that a step defines with `approve` or `uses`. Returns undefined if it has neither field. */
function readOwnAgent(fields: Fields, id: string): Step['own'] {
  const kinds = ['agent', 'approve', 'uses'].filter((key) => fields.has(key));
  if (kinds.length > 1)
    fields.error(`the step "${id}" has ${kinds.join(' and ')}; it must have one of them`, kinds[1]!);
  if (fields.raw.with !== undefined && !kinds.includes('uses')) fields.error('"with" needs "uses"', 'with');
  if (kinds[0] === 'uses')
    return { kind: 'pipeline', uses: fields.text('uses') ?? '', args: fields.map('with').raw };
  return kinds[0] === 'approve' ? readApprove(fields) : undefined;
}

function readApprove(fields: Fields): PersonAgent {
  const approve = fields.shorthand('approve', [
    'question',
    'choices',
    'who',
    'default',
    'timeout',
    'notify',
  ])!;
  const question = approve.text('question')?.trim() ?? '';
  if (question === '') approve.error('"approve" needs a "question"');
  const choices = approve.raw.choices === undefined ? ['approve', 'reject'] : approve.texts('choices');
  if (choices.length > QUESTION_CHOICES)
    approve.error(`"approve" has at most ${QUESTION_CHOICES} choices`, 'choices');
  const fallback = approve.text('default');
  if (fallback !== undefined && choices.length > 0 && !choices.includes(fallback))
    approve.error(`the default "${fallback}" is not one of the choices`, 'default');
  const timeoutMs = approve.span('timeout');
  if (timeoutMs !== undefined && timeoutMs > QUESTION_TTL_MAX_S * 1000)
    approve.error('"timeout" is at most 90 days', 'timeout');
  return {
    kind: 'person',
    question,
    choices,
    who: approve.texts('who'),
    default: fallback,
    timeoutMs,
    notify: readNotify(approve),
  };
}

/** Reads `notify`: a command, or an object with a command, a webhook and a channel. */
function readNotify(fields: Fields): Notify | undefined {
  const notify = fields.shorthand('notify', ['command', 'webhook', 'channel']);
  if (notify === undefined) return undefined;
  const [command, webhook, channel] = ['command', 'webhook', 'channel'].map((key) => notify.text(key));
  if (webhook !== undefined && !/^https?:\/\//.test(webhook))
    notify.error('"webhook" must be an http:// or https:// address', 'webhook');
  return { command, webhook, channel };
}

/**
 * Reads `until`: a condition, or an object. If the object names a command in `check`, the default condition
 * is that the command exits with 0.
 */
function readUntil(fields: Fields): Step['until'] {
  const until = fields.shorthand('until', ['condition', 'max', 'check']);
  if (until === undefined) return undefined;
  const check = until.text('check');
  const condition = until.text('condition') ?? (check === undefined ? undefined : 'exit_code == 0');
  if (condition === undefined) return until.error('"until" needs a "condition" or a "check"');
  const max = until.count('max', 1, STEP_ROUNDS_MAX) ?? STEP_ROUNDS;
  return { condition, max, check };
}

/** Reads `budget`, which must set at least one limit. */
function readBudget(fields: Fields): Budget | undefined {
  if (!fields.has('budget')) return undefined;
  const budget = fields.map('budget', ['tokens', 'money', 'minutes', 'on_limit']);
  const [tokens, money, minutes] = ['tokens', 'money', 'minutes'].map((key) => budget.amount(key));
  if (tokens === undefined && money === undefined && minutes === undefined)
    budget.error('"budget" needs "tokens", "money" or "minutes"');
  return { tokens, money, minutes, onLimit: budget.oneOf('on_limit', ['ask', 'fail']) ?? 'fail' };
}

/**
 * Reads `secrets`: the source of each secret, by name. A text in place of a source is the name of an
 * environment variable.
 */
function readSecrets(fields: Fields): { [name: string]: Secret } {
  const found: { [name: string]: Secret } = {};
  const secrets = fields.map('secrets');
  for (const [name, raw] of Object.entries(secrets.raw)) {
    if (!/^[A-Za-z_]\w{0,127}$/.test(name)) secrets.error(`"${name}" is not a valid name for a secret`, name);
    const whole = typeof raw === 'string' ? { env: raw } : raw;
    const secret = secrets.map(name, ['env', 'file', 'command'], `the secret "${name}"`, whole ?? {});
    const [env, file, command] = ['env', 'file', 'command'].map((key) => secret.text(key));
    if ([env, file, command].filter((source) => source !== undefined).length !== 1)
      secret.error(`the secret "${name}" needs exactly one of env, file and command`);
    found[name] = { env, file, command };
  }
  return found;
}

/** Reads `concurrency`: a key, or an object with a key and a mode. */
function readConcurrency(fields: Fields): Pipeline['concurrency'] {
  const concurrency = fields.shorthand('concurrency', ['key', 'mode']);
  if (concurrency === undefined) return undefined;
  const key = concurrency.text('key');
  if (!key) return concurrency.error('"concurrency" needs a "key"');
  return { key, mode: concurrency.oneOf('mode', ['queue', 'cancel']) ?? 'queue' };
}

const TRIGGER_KEYS = {
  channel: ['channel', 'filter', 'inputs'],
  schedule: ['schedule', 'timezone', 'missed', 'inputs'],
  webhook: ['webhook', 'secret', 'inputs'],
};

/** Reads `triggers`: one trigger or a list. */
function readTriggers(fields: Fields, report: Report): Trigger[] {
  const value = fields.raw.triggers ?? [];
  const list = Array.isArray(value) ? value : [value];
  return list.flatMap((raw, at): Trigger[] => {
    const kinds = Object.keys(TRIGGER_KEYS).filter((kind) => isJsonObject(raw) && Object.hasOwn(raw, kind));
    const on = kinds[0] as Trigger['on'] | undefined;
    const trigger = new Fields(report, ['triggers', at], raw, 'a trigger', on && TRIGGER_KEYS[on]);
    if (on === undefined || kinds.length > 1)
      return trigger.error('a trigger must have exactly one of channel, schedule and webhook') ?? [];
    const inputs = trigger.variables('inputs');
    const source = trigger.text(on) ?? '';
    if (source === '') trigger.error(`"${on}" is empty`, on);
    if (on === 'channel') return [{ on, channel: source, filter: trigger.map('filter').raw, inputs }];
    if (on === 'webhook') {
      const secret = trigger.text('secret') ?? '';
      const secrets = isJsonObject(fields.raw.secrets) ? Object.keys(fields.raw.secrets) : [];
      if (!secrets.includes(secret)) trigger.error('"secret" must name a secret of this file', 'secret');
      return [{ on, path: source, secret, inputs }];
    }
    const timezone = trigger.text('timezone') ?? 'UTC';
    try {
      nextTime(source, timezone, Date.now());
    } catch (error) {
      trigger.error((error as Error).message, on);
    }
    const missed = trigger.oneOf('missed', ['skip', 'last', 'all']) ?? 'last';
    return [{ on, cron: source, timezone, missed, inputs }];
  });
}
