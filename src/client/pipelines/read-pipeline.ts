import { RelayError } from '../../base/errors.ts';
import { isJsonObject, type Json } from '../../base/json.ts';
import {
  PIPELINE_FILE_BYTES,
  PIPELINE_PARALLEL,
  PIPELINE_PARALLEL_MAX,
  PIPELINE_STEPS,
} from '../../base/limits.ts';
import { readYaml } from '../../formats/yaml.ts';
import type { Input, Pipeline, Problem, Step } from './definition.ts';
import { FieldReader, nearest } from './field-reader.ts';
import { findCycle } from './graph.ts';
import { readAgents } from './read-agents.ts';
import { type ReadStep, readCache, readStep } from './read-steps.ts';

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
  if (yaml.problems.length > 0) {
    const problems = yaml.problems.map((problem) => ({ ...problem, severity: 'error' as const }));
    return { pipeline: null, problems };
  }
  const reader = new FieldReader(yaml);
  if (!isJsonObject(yaml.value)) {
    reader.error([], 'a pipeline is a map with "agents" and "steps"');
    return { pipeline: null, problems: reader.problems };
  }
  const raw = reader.object([], yaml.value, 'a pipeline', KEYS);
  const agents = readAgents(reader, raw.agents);
  const cacheMs = readCache(reader, ['cache'], raw.cache, null);
  const inputs = readInputs(reader, raw.inputs);
  const read = readSteps(reader, raw.steps, { agents, cacheMs });
  const steps = read.map(({ step }) => step);
  checkSteps(reader, read, new Set(Object.keys((raw.agents as object | undefined) ?? {})));
  checkReferences(reader, read, inputs);
  checkCycle(reader, read);
  checkUnused(reader, read, inputs, agents);
  const parallel = reader.count(
    ['max_parallel'],
    raw.max_parallel,
    '"max_parallel"',
    1,
    PIPELINE_PARALLEL_MAX,
  );
  const pipeline: Pipeline = {
    name: reader.text(['name'], raw.name, '"name"')?.trim() || fallbackName,
    description: reader.text(['description'], raw.description, '"description"') ?? '',
    inputs,
    agents,
    steps,
    maxParallel: parallel ?? PIPELINE_PARALLEL,
  };
  return { pipeline, problems: [...reader.problems].sort((a, b) => a.line - b.line) };
}

/** The pipeline where there is no error in it; what is wrong, otherwise. */
export function soundPipeline(text: string, file: string, fallbackName: string): Pipeline {
  const { pipeline, problems } = readPipeline(text, fallbackName);
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (pipeline && errors.length === 0) return pipeline;
  const what = errors.map((problem) => `${file}:${problem.line}: ${problem.what}`).join('\n');
  throw new RelayError('bad_pipeline', { what, file });
}

function readInputs(reader: FieldReader, value: Json | undefined): { [name: string]: Input } {
  const inputs: { [name: string]: Input } = {};
  for (const [name, raw] of Object.entries(reader.object(['inputs'], value, '"inputs"'))) {
    if (!/^[A-Za-z]\w{0,63}$/.test(name))
      reader.error(['inputs', name], `"${name}" is not a name for an input`);
    if (!isJsonObject(raw)) {
      inputs[name] = { description: '', value: raw === null ? undefined : raw };
      continue;
    }
    const path = ['inputs', name];
    reader.object(path, raw, `the input "${name}"`, ['description', 'default', 'required']);
    const description = reader.text([...path, 'description'], raw.description, '"description"') ?? '';
    const optional = raw.required === false ? '' : undefined;
    inputs[name] = { description, value: raw.default ?? optional };
  }
  return inputs;
}

function readSteps(
  reader: FieldReader,
  value: Json | undefined,
  around: Parameters<typeof readStep>[3],
): ReadStep[] {
  if (!Array.isArray(value) || value.length === 0) {
    reader.error(['steps'], 'a pipeline needs "steps": a list with at least one');
    return [];
  }
  if (value.length > PIPELINE_STEPS) {
    reader.error(['steps'], `a pipeline has at most ${PIPELINE_STEPS} steps`);
    return [];
  }
  return value.flatMap((raw, index) => readStep(reader, index, raw, around) ?? []);
}

function checkSteps(reader: FieldReader, read: readonly ReadStep[], agents: ReadonlySet<string>): void {
  const seen = new Set<string>();
  const ids = read.map(({ step }) => step.id);
  for (const { step, path } of read) {
    if (seen.has(step.id)) reader.error([...path, 'id'], `there are two steps "${step.id}"`);
    seen.add(step.id);
    if (step.agent !== '' && !agents.has(step.agent)) {
      const near = nearest(step.agent, [...agents]);
      reader.error(
        [...path, 'agent'],
        `there is no agent "${step.agent}"${near ? `; did you mean "${near}"?` : ''}`,
      );
    }
    for (const need of step.needs) {
      if (ids.includes(need)) continue;
      const near = nearest(need, ids);
      const key = step.context.includes(need) ? 'context' : 'needs';
      reader.error(
        [...path, key],
        `the step "${step.id}" needs "${need}", which does not exist${near ? `; did you mean "${near}"?` : ''}`,
      );
    }
  }
}

function checkReferences(
  reader: FieldReader,
  read: readonly ReadStep[],
  inputs: { readonly [name: string]: Input },
): void {
  for (const { step, path, references } of read) {
    for (const { key, path: named } of references) {
      const problem = wrongReference(step, named, inputs);
      if (problem) reader.error([...path, key], `${named.join('.') || '{{ }}'}: ${problem}`);
    }
  }
}

function wrongReference(
  step: Step,
  [root, name, field]: readonly string[],
  inputs: { readonly [name: string]: Input },
): string | null {
  if (root === 'inputs') {
    if (name !== undefined && Object.hasOwn(inputs, name)) return null;
    const near = name && nearest(name, Object.keys(inputs));
    return `there is no such input${near ? `; did you mean "${near}"?` : ''}`;
  }
  if (root === 'item' || root === 'index')
    return step.forEach === undefined ? 'only a step with "for_each" has it' : null;
  if (root === 'run') return name === 'id' ? null : 'a run has only an id';
  if (root !== 'steps') return 'it begins with inputs, steps, item, index or run';
  if (field === undefined || !FIELDS.includes(field)) return `a step has ${FIELDS.join(', ')}`;
  return null;
}

function checkCycle(reader: FieldReader, read: readonly ReadStep[]): void {
  const cycle = findCycle(read.map(({ step }) => step));
  if (!cycle) return;
  const at = read.find(({ step }) => step.id === cycle[0])!;
  reader.error([...at.path, 'needs'], `these steps wait for each other: ${cycle.join(' → ')}`);
}

function checkUnused(
  reader: FieldReader,
  read: readonly ReadStep[],
  inputs: { readonly [name: string]: Input },
  agents: object,
): void {
  const used = new Set(
    read.flatMap(({ references }) => references.map(({ path }) => path.slice(0, 2).join('.'))),
  );
  for (const name of Object.keys(inputs))
    if (!used.has(`inputs.${name}`)) reader.warning(['inputs', name], `the input "${name}" is never used`);
  const working = new Set(read.map(({ step }) => step.agent));
  for (const name of Object.keys(agents))
    if (!working.has(name)) reader.warning(['agents', name], `the agent "${name}" has nothing to do`);
}
