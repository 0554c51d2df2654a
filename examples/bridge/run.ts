/**
 * Sends long tasks to a coding agent elsewhere. A bridge runs next to the agent. The orchestrator sends it tasks and
 * waits for the outcomes. Here the agent is a command that the bridge starts for each task: a script with `--fake`,
 * otherwise the command in `BRIDGE_AGENT` (such as `claude -p`). For an agent in a terminal, start the bridge with
 * `relay bridge start --tmux vibe:0`; the orchestrator stays the same.
 *
 *   node examples/bridge/run.ts --fake
 *   BRIDGE_AGENT="claude -p" node examples/bridge/run.ts
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { AgentBridge } from '../../src/public/index.ts';
import { FAKE, openStory, RELAY } from '../story.ts';

/** Output of the agent while it works. The orchestrator does not need it. */
const TALK = Array.from({ length: 120 }, (_, i) => `reading src/auth/module-${i}.ts, nothing to change`).join(
  '\n',
);

const SCRIPT = `
task=$(head -n 1)
cat << 'TALK'
${TALK}
TALK
echo "=== CC_OUTCOME_START ==="
echo "COMPLETED: $task"
echo "NOT_DONE: nothing"
echo "NOTES: by a script"
echo "=== CC_OUTCOME_END ==="`;

const agent = FAKE ? SCRIPT : process.env.BRIDGE_AGENT;
if (!agent) {
  console.error('Set BRIDGE_AGENT to a command that reads a task from standard input, or use --fake.');
  process.exit(2);
}
await using story = await openStory(null);

// The bridge runs next to the agent.
const flags = [
  '--exec',
  agent,
  '--task-channel',
  'vibe-tasks',
  '--done-channel',
  'vibe-done',
  '--name',
  'vibe',
];
const bridge = spawn(process.execPath, [RELAY, 'bridge', 'start', ...flags], {
  env: { ...process.env, CONTEXTRELAY_URL: story.relayUrl },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const ended = new Promise((resolve) => bridge.once('exit', resolve));
bridge.stdout.pipe(process.stdout);

// The orchestrator can run anywhere.
try {
  const relay = story.client();
  const orchestrator = new AgentBridge(relay, { taskChannel: 'vibe-tasks', doneChannel: 'vibe-done' });
  const tasks = [
    'Replace Clerk with Firebase in the auth module.',
    'Update all imports.',
    'Run the type checker.',
  ];
  const results = await Promise.all(tasks.map((task) => orchestrator.pushAndWait(task)));
  for (const [i, result] of results.entries()) {
    console.log(`\n${tasks[i]}\n${result}`);
    if (FAKE) assert.match(result, new RegExp(`COMPLETED: ${tasks[i]}`));
  }
  const { tasks: known } = await relay.tasks.list({ channel: 'vibe-tasks' });
  assert.deepEqual(
    known.map(({ state }) => state),
    ['done', 'done', 'done'],
  );
  if (FAKE) await story.bill([...tasks, ...tasks.map(() => TALK), ...results], [...tasks, ...results]);
  console.log('\nchecked: all tasks are done, each with its own result');
} finally {
  bridge.kill('SIGTERM');
  await ended;
}
