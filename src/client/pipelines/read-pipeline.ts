import { RelayError } from '../../base/errors.ts';
import { isJsonObject } from '../../base/json.ts';
import {
  PIPELINE_FILE_BYTES,
  PIPELINE_PARALLEL,
  PIPELINE_PARALLEL_MAX,
  PIPELINE_STEPS,
} from '../../base/limits.ts';
import { readYaml } from '../../formats/yaml.ts';
import type { Input, Pipeline, PipelineFile, Problem } from './definition.ts';
import type { Reference } from './expression.ts';
import { didYouMean, Fields, type Report } from './fields.ts';
import { findCycle } from './graph.ts';
import { readAgents } from './read-agents.ts';
import { type ReadStep, readCache, readStep, STEP_KEYS } from './read-steps.ts';

type Inputs = { [name: string]: Input };

const KEYS = ['name', 'description', 'inputs', 'agents', 'steps', 'max_parallel', 'cache', '$schema'];
const FIELDS = ['output', 'outputs', 'preview', 'ref', 'status'];

export interface Reading {
  /** As far as it could be understood; null where there is nothing to speak of. */
  readonly pipeline: Pipeline | null;
  /** In the order of lines. */
  readonly problems: readonly Problem[];
}

/** Reads and checks a pipeline. Reports everything that is wrong at once, each with its line. */
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
  const read = stepsOf(fields, report).flatMap((step) => readStep(step, agents, cacheMs) ?? []);
  checkSteps(read, Object.keys(named.raw));
  checkReferences(read, inputs);
  checkCycle(read);
  checkUnused(report, read, inputs, agents);
  const pipeline: Pipeline = {
    maxParallel: fields.count('max_parallel', 1, PIPELINE_PARALLEL_MAX) ?? PIPELINE_PARALLEL,
    name: fields.text('name')?.trim() || fallbackName,
    description: fields.text('description') ?? '',
    inputs,
    agents,
    steps: read.map(({ step }) => step),
  };
  return { pipeline, problems: problems.sort((a, b) => a.line - b.line) };
}

/** The pipeline; throws what is wrong where there is an error in it, or where it has not all of the steps in `only`. */
export function soundPipeline({ text, file, name }: PipelineFile, only: readonly string[] = []): Pipeline {
  const { pipeline, problems } = readPipeline(text, name);
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (!pipeline || errors.length > 0) {
    const what = errors.map((problem) => `${file}:${problem.line}: ${problem.what}`).join('\n');
    throw new RelayError('bad_pipeline', { what, file });
  }
  const ids = pipeline.steps.map(({ id }) => id);
  const unknown = only.find((id) => !ids.includes(id));
  if (unknown === undefined) return pipeline;
  throw new RelayError('bad_usage', {
    what: `There is no step "${unknown}".`,
    hint: `There are: ${ids.join(', ')}.`,
  });
}

function readInputs(inputs: Fields): Inputs {
  const found: Inputs = {};
  for (const [name, raw] of Object.entries(inputs.raw)) {
    if (!/^[A-Za-z]\w{0,63}$/.test(name)) inputs.error(`"${name}" is not a name for an input`, name);
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
    fields.error('a pipeline needs "steps": a list with at least one', 'steps');
  else if (steps.length > PIPELINE_STEPS)
    fields.error(`a pipeline has at most ${PIPELINE_STEPS} steps`, 'steps');
  else return steps.map((raw, index) => new Fields(report, ['steps', index], raw, 'a step', STEP_KEYS));
  return [];
}

function checkSteps(read: readonly ReadStep[], agents: readonly string[]): void {
  const seen = new Set<string>();
  const ids = read.map(({ step }) => step.id);
  for (const { step, fields } of read) {
    if (seen.has(step.id)) fields.error(`there are two steps "${step.id}"`, 'id');
    seen.add(step.id);
    if (step.agent !== '' && !agents.includes(step.agent))
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
  if (root === 'item' || root === 'index') return many ? null : 'only a step with "for_each" has it';
  if (root === 'run') return name === 'id' ? null : 'a run has only an id';
  if (root !== 'steps') return 'it begins with inputs, steps, item, index or run';
  if (field === undefined || !FIELDS.includes(field)) return `a step has ${FIELDS.join(', ')}`;
  return null;
}

function checkCycle(read: readonly ReadStep[]): void {
  const cycle = findCycle(read.map(({ step }) => step));
  const at = read.find(({ step }) => step.id === cycle?.[0]);
  at?.fields.error(`these steps wait for each other: ${cycle!.join(' → ')}`, 'needs');
}

function checkUnused(report: Report, read: readonly ReadStep[], inputs: Inputs, agents: object): void {
  const used = new Set(
    read.flatMap(({ references }) => references.map(({ path }) => path.slice(0, 2).join('.'))),
  );
  for (const name of Object.keys(inputs))
    if (!used.has(`inputs.${name}`)) report(['inputs', name], `the input "${name}" is never used`, 'warning');
  const working = new Set(read.map(({ step }) => step.agent));
  for (const name of Object.keys(agents))
    if (!working.has(name)) report(['agents', name], `the agent "${name}" has nothing to do`, 'warning');
}
