import { encodeUtf8 } from '../../../src/base/utf8.ts';
import type { Relay } from '../../../src/contract/relay.ts';

const TEXT = `name: code-review
agents:
  claude: { provider: anthropic }
  lint: { shell: true }
steps:
  - { id: read, agent: claude, prompt: "Read the change on {{ inputs.branch }} and say what it is for." }
  - { id: security, agent: claude, needs: [read], prompt: "What could an attacker do with it?" }
  - { id: tests, agent: lint, needs: [read], prompt: npm test }
  - { id: style, agent: lint, needs: [read], prompt: npm run lint }
  - { id: merge, agent: claude, needs: [security, tests, style], prompt: "Write the review." }
`;

const GRAPH = [
  { id: 'read', agent: 'claude', needs: [] },
  { id: 'security', agent: 'claude', needs: ['read'] },
  { id: 'tests', agent: 'lint', needs: ['read'] },
  { id: 'style', agent: 'lint', needs: ['read'] },
  { id: 'merge', agent: 'claude', needs: ['security', 'tests', 'style'] },
];

const PROMPTS: { readonly [step: string]: string } = {
  read: 'Read the change on main and say what it is for.',
  security:
    'What could an attacker do with it?\n\nGo by what the change touches, name the file and the line, and say how sure you are. Leave out what was there before.',
  tests: 'npm test',
  style: 'npm run lint',
  merge: 'Write the review.',
};

/** Writes pipeline runs: earlier ones that ended, and a running one. */
export async function fillRuns(planner: Relay, pass: (minutes: number) => Promise<void>) {
  await finished(planner, pass, 'nightly-report', 'done');
  await finished(planner, pass, 'code-review', 'failed');
  await finished(planner, pass, 'code-review', 'done');
  return { last: () => current(planner, pass) };
}

async function begin(planner: Relay, pipeline: string) {
  const { thread_id: run } = await planner.threads.create({ name: `pipeline ${pipeline}` });
  const record = (type: string, payload: object) => planner.threads.record(run, type, payload as never);
  const inputs = { branch: 'main' };
  await record('pipeline.started', { pipeline, text: TEXT, hash: 'ab'.repeat(32), inputs, graph: GRAPH });
  const start = (step: string, attempt = 1) =>
    record('step.started', { step, attempt, prompt: PROMPTS[step]! });
  const done = async (step: string, duration_ms: number, body: string) => {
    await planner.threads.putArtifact(run, {
      name: `${step}.md`,
      mime: 'text/markdown',
      body: encodeUtf8(body),
      source_refs: [`step:${step}`],
    });
    if (step === 'read' || step === 'security')
      await record('prompt.answered', {
        ...{ step, model: 'claude-opus-4-8', project: 'checkout', prompt_tokens: 812, pasted_tokens: 9_430 },
        ...{ billed_input: 846, billed_cached_input: 512, billed_output: 164 },
      });
    await record('step.done', { step, attempts: 1, duration_ms });
  };
  return { run, record, start, done };
}

async function finished(
  planner: Relay,
  pass: (minutes: number) => Promise<void>,
  pipeline: string,
  status: 'done' | 'failed',
) {
  const { record, start, done } = await begin(planner, pipeline);
  for (const { id } of GRAPH) {
    await start(id);
    await pass(1);
    if (status === 'failed' && id === 'tests') {
      await record('step.failed', { step: id, attempts: 2, why: '3 of 214 tests failed' });
      await record('step.blocked', { step: 'merge', why: 'tests failed' });
      break;
    }
    await done(id, 58_000, `# ${id}\n\nNothing to complain about.\n`);
  }
  await record('pipeline.finished', { pipeline, status });
  await pass(70);
}

/** Creates a run with two completed steps, a retried one, a running one and a waiting one. */
async function current(planner: Relay, pass: (minutes: number) => Promise<void>): Promise<string> {
  const { run, record, start, done } = await begin(planner, 'code-review');
  await start('read');
  await pass(0.1);
  await done(
    'read',
    6_000,
    '# What it is for\n\nThe tax client keeps its connections instead of opening one per item.\n',
  );
  for (const step of ['security', 'tests', 'style']) await start(step);
  await record('step.retried', { step: 'tests', attempt: 1, why: 'the database was not up', wait_ms: 500 });
  await pass(0.2);
  await start('tests', 2);
  await done(
    'security',
    12_000,
    '# Security\n\nNothing to complain about. The pool gives connections back in `finally`, so a request that throws loses none.\n',
  );
  return run;
}
