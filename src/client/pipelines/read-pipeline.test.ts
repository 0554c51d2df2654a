import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mermaid, rounds } from './graph.ts';
import { readPipeline } from './read-pipeline.ts';

const BASE = `name: review
inputs:
  branch: { description: which one }
  depth: 2
agents:
  sh: { shell: true }
  writer:
    provider: anthropic
    model: claude-x
steps:
  - id: diff
    agent: sh
    prompt: git diff {{ inputs.branch }} | head -n {{ inputs.depth }}
  - id: review
    agent: writer
    context: [diff]
    prompt: Review it.
    retry: { max: 2, backoff: 500ms }
    timeout: 2m
    cache: 1h
    output: { type: json, name: findings }
`;

test('a valid pipeline is read with all its fields', () => {
  const { pipeline, problems } = readPipeline(BASE, 'file');
  assert.deepEqual(problems, []);
  assert.equal(pipeline?.name, 'review');
  assert.deepEqual(pipeline.inputs, {
    branch: { description: 'which one', value: undefined },
    depth: { description: '', value: 2 },
  });
  const [diff, review] = pipeline.steps;
  assert.deepEqual(diff?.needs, []);
  assert.deepEqual(review?.needs, ['diff']);
  assert.deepEqual(review.retry, { max: 2, backoffMs: 500 });
  assert.equal(review.timeoutMs, 120_000);
  assert.equal(review.cacheMs, 3_600_000);
  assert.deepEqual(review.output, { type: 'json', name: 'findings' });
});

test('steps that a template, a condition or a list refers to are dependencies', () => {
  const { pipeline, problems } = readPipeline(
    `agents: {sh: {shell: true}}
steps:
  - {id: a, agent: sh, prompt: echo}
  - {id: b, agent: sh, prompt: echo}
  - {id: c, agent: sh, prompt: echo}
  - {id: d, agent: sh, for_each: steps.a.output, when: steps.b.status == 'done', prompt: "{{ steps.c.ref }} {{ item }}"}`,
    'x',
  );
  assert.deepEqual(problems, []);
  assert.deepEqual([...pipeline!.steps[3]!.needs].sort(), ['a', 'b', 'c']);
});

/** Returns errors and warnings as `line: what`. */
const wrong = (text: string) => readPipeline(text, 'x').problems.map(({ line, what }) => `${line}: ${what}`);

const MISTAKES: readonly [string, string, RegExp][] = [
  [
    'a slip in a key',
    BASE.replace('retry:', 'retrys:'),
    /^18: a step has an unknown key "retrys"; did you mean "retry"\?/,
  ],
  [
    'an unknown agent',
    BASE.replace('agent: writer', 'agent: writers'),
    /^15: there is no agent "writers"; did you mean "writer"\?/,
  ],
  [
    'an unknown step',
    BASE.replace('context: [diff]', 'context: [dif]'),
    /^16: the step "review" needs "dif", which does not exist; did you mean "diff"\?/,
  ],
  [
    'an unknown input',
    BASE.replace('inputs.branch', 'inputs.branche'),
    /^13: inputs.branche: there is no such input; did you mean "branch"\?/,
  ],
  ['an unused input', BASE.replace('{{ inputs.depth }}', '5'), /^4: the input "depth" is never used/],
  [
    'an idle agent',
    BASE.replace('  writer:', '  other: { cli: claude }\n  writer:'),
    /^7: no step uses the agent "other"/,
  ],
  ['a step twice', BASE.replace('id: review', 'id: diff'), /^14: two steps have the id "diff"/],
  ['a step without an id', BASE.replace('id: review', 'needs: []'), /^14: a step has no "id"/],
  ['a time that is none', BASE.replace('timeout: 2m', 'timeout: soon'), /^19: "timeout" must be a time/],
  [
    'an agent that is nothing',
    BASE.replace('provider: anthropic', 'name: x'),
    /^7: the agent "writer" has no kind/,
  ],
  [
    'an agent that is two things',
    BASE.replace('{ shell: true }', '{ shell: true, cli: x }'),
    /^6: the agent "sh" has several kinds \(cli, shell\)/,
  ],
  ['a model without words', BASE.replace('prompt: Review it.', ''), /^14: the step "review" has no "prompt"/],
  [
    'a field that no step has',
    BASE.replace('Review it.', '"{{ steps.diff.outptu }}"'),
    /^17: steps.diff.outptu: the fields of a step are output/,
  ],
  [
    'an item without a list',
    BASE.replace('Review it.', '"{{ item }}"'),
    /^17: item: it exists only in a step with "for_each"/,
  ],
  [
    'a condition that is none',
    BASE.replace('timeout: 2m', 'when: "a == "'),
    /^19: "when" is not a valid expression: a value is missing at its end/,
  ],
  ['an unknown type', BASE.replace('type: json', 'type: jsn'), /^21: "jsn" is not a type of output/],
  ['YAML that is none', BASE.replace('agents:', 'agents: ['), /^\d+: /],
  ['an alias, which could unfold without end', 'agents: &a {sh: {shell: true}}\nsteps: *a', /^2: An alias/],
  ['no steps', 'agents: {sh: {shell: true}}', /a pipeline needs "steps"/],
  ['a list instead of a map', '- a\n- b', /a pipeline is a map/],
];

for (const [name, text, expected] of MISTAKES) {
  test(`${name} is reported with its line`, () => {
    assert.ok(
      wrong(text).some((line) => expected.test(line)),
      wrong(text).join('\n') || 'nothing was wrong',
    );
  });
}

test('a dependency cycle is reported with all its steps', () => {
  const text = `agents: {sh: {shell: "true"}}
steps:
  - {id: a, agent: sh, needs: [c]}
  - {id: b, agent: sh, needs: [a]}
  - {id: c, agent: sh, prompt: "{{ steps.b.output }}"}
  - {id: d, agent: sh, needs: [d]}`;
  assert.ok(
    wrong(text).includes('3: these steps wait for each other: a → c → b → a'),
    wrong(text).join('\n'),
  );
});

test('a long chain is checked without a stack overflow', () => {
  const steps = Array.from(
    { length: 1000 },
    (_, i) => `  - {id: s${i}, agent: sh, needs: [${i < 999 ? `s${i + 1}` : ''}]}`,
  );
  assert.deepEqual(wrong(`agents: {sh: {shell: "true"}}\nsteps:\n${steps.join('\n')}`), []);
});

test('the graph shows every step, every dependency and every outcome', () => {
  const { pipeline } = readPipeline(BASE, 'x');
  const drawn = mermaid(pipeline!, (step) => (step === 'diff' ? 'done' : undefined));
  assert.equal(
    drawn,
    [
      'flowchart TD',
      '  s0["diff<br/><i>sh</i>"]:::done',
      '  s1["review<br/><i>writer</i>"]',
      '  s0 --> s1',
      '  classDef done fill:#d8f3dc,stroke:#2d6a4f',
    ].join('\n'),
  );
  assert.deepEqual(
    rounds(pipeline!.steps).map((steps) => steps.map(({ id }) => id)),
    [['diff'], ['review']],
  );
});

test('an unknown provider is an error at its line', () => {
  const { problems } = readPipeline(BASE.replace('provider: anthropic', 'provider: antropic'), 'file');
  assert.deepEqual(problems, [
    {
      line: 8,
      what: 'there is no provider "antropic"; did you mean "anthropic"? There are anthropic, openai, gemini, ollama or compatible',
      severity: 'error',
    },
  ]);
});

test('"pulls" is a number of rounds, or rounds and tokens', () => {
  const read = (pulls: string) => readPipeline(BASE.replace('timeout: 2m', `pulls: ${pulls}`), 'file');
  assert.deepEqual(read('12').pipeline?.steps[1]?.pulls, { rounds: 12, tokens: undefined });
  assert.deepEqual(read('{ rounds: 12, tokens: 40000 }').pipeline?.steps[1]?.pulls, {
    rounds: 12,
    tokens: 40_000,
  });
  assert.match(read('1000').problems[0]!.what, /must be a whole number from 0 to 50/);
});
