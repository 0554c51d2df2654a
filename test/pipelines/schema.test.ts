import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import type { Json } from '../../src/base/json.ts';
import { readPipeline } from '../../src/client/pipelines/read-pipeline.ts';
import { JsonSchema } from '../../src/formats/json-schema.ts';
import { readYaml } from '../../src/formats/yaml.ts';

const root = join(import.meta.dirname, '../..');
const schema = new JsonSchema(
  JSON.parse(readFileSync(join(root, 'schemas/pipeline.schema.json'), 'utf8')) as Json,
);

const errors = (text: string) =>
  readPipeline(text, 'x').problems.filter(({ severity }) => severity === 'error');

for (const path of globSync(join(root, 'examples/*/*.yaml')).sort()) {
  test(`${relative(root, path)} is valid, also by the published schema`, () => {
    const text = readFileSync(path, 'utf8');
    assert.deepEqual(readPipeline(text, 'x').problems, []);
    assert.equal(schema.check(readYaml(text).value), null);
  });
}

/** Pipelines that the JSON Schema must reject. A schema cannot check whether names refer to something. */
const MISSHAPEN = [
  'steps: []\nagents: {}',
  'agents: {a: {}}\nsteps: [{id: s, agent: a}]',
  'agents: {a: {shell: x, cli: y}}\nsteps: [{id: s, agent: a}]',
  'agents: {a: {shell: x}}\nsteps: [{id: "1s", agent: a}]',
  'agents: {a: {shell: x}}\nsteps: [{id: s, agent: a, retry: 99}]',
  'agents: {a: {shell: x}}\nsteps: [{id: s, agent: a, timeout: never}]',
  'agents: {a: {shell: x}}\nsteps: [{id: s, agent: a, output: novel}]',
  'agents: {a: {shell: x}}\nsteps: [{id: s, agent: a, colour: red}]',
  'agents: {a: {a2a: "ftp://x"}}\nsteps: [{id: s, agent: a, prompt: p}]',
  'agents: {a: {cli: x, prompt_by: mail}}\nsteps: [{id: s, agent: a, prompt: p}]',
  'agents: {a: {shell: x}}\nmax_parallel: 0\nsteps: [{id: s, agent: a}]',
];

test('the published schema and the program reject the same documents', () => {
  for (const text of MISSHAPEN) {
    assert.notEqual(errors(text).length, 0, `the program takes ${text}`);
    assert.notEqual(schema.check(readYaml(text).value), null, `the schema takes ${text}`);
  }
  const sound = 'agents: {a: {shell: x}}\nsteps: [{id: s, agent: a, retry: 2, timeout: 5, cache: true}]';
  assert.deepEqual(errors(sound), []);
  assert.equal(schema.check(readYaml(sound).value), null);
});
