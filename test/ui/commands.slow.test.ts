import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { startFakeModel } from '../../examples/fake-model.ts';
import { dashboardProjects } from '../../src/app/projects/dashboard-projects.ts';
import { openProject } from '../../src/app/projects/project-files.ts';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { agent } from '../bridge/bridge.ts';
import { noBrowser } from '../browser/chromium.ts';
import { cleanEnv, ENTRY, NODE } from '../cli/program.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';
import { until } from '../until.ts';
import { type Dashboard, openDashboard } from './dashboard.ts';
import { asAgent } from './demo/content.ts';

/** Commands that run until they are stopped. They pass once they have printed something. */
const GOES_ON = /^relay (?:up|watch|bridge start) /;

/** A channel name that needs quotes in a shell. */
const CHANNEL = "the team's builds";

const PIPELINE = `name: review
agents:
  shell: { shell: true }
steps:
  - { id: read, agent: shell, prompt: "echo read" }
  - { id: judge, agent: shell, when: "steps.read.status == 'done'", prompt: "test -e approved" }
`;

test('every command that the dashboard shows works as printed', { skip: noBrowser }, async () => {
  using folder = new ScratchFolder();
  folder.git('init', '-q');
  prepare(folder);
  const project = openProject(folder.path);
  await project.init();
  await using dashboard = await openDashboard({ core: { projects: dashboardProjects([folder.path]) } });
  await using model = await startFakeModel(() => 'Ask who pays.');
  const terminal = new Terminal(folder, { ...model.env, CONTEXTRELAY_URL: dashboard.url });

  const offered = new Set([
    ...(await onEmptyPages(dashboard)),
    ...(await onFilledPages(dashboard, terminal)),
  ]);
  await using guarded = await openDashboard({ server: { auth: 'keys' } });
  const { key, commands } = await commandsWithoutKey(guarded);
  assertAllWereSeen([...offered, ...commands]);

  const relay = new ContextRelay({ baseUrl: dashboard.url });
  await using _ = await new AgentBridge(relay, { runner: agent(() => ({ output: 'All is well.' })) }).start();
  const owner = new Terminal(folder, { CONTEXTRELAY_URL: guarded.url, CONTEXTRELAY_API_KEY: key });
  const failed: string[] = [];
  for (const [lines, place] of [
    [offered, terminal],
    [commands, owner],
  ] as const) {
    for (const line of lines) {
      const ran = GOES_ON.test(line) ? await place.start(line, relay) : await place.run(line);
      if (ran.code !== 0) failed.push(`${line}\n${ran.output}`);
    }
  }
  assert.deepEqual(failed, []);
  assert.deepEqual(dashboard.problems, []);
});

/** Creates what the commands need: the program itself, an agent, files. */
function prepare(folder: ScratchFolder): void {
  const bin = join(folder.home, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'relay'), `#!/bin/sh\nexec '${NODE}' '${ENTRY}' "$@"\n`);
  writeFileSync(join(bin, 'claude'), '#!/bin/sh\ncat\n');
  for (const program of ['relay', 'claude']) chmodSync(join(bin, program), 0o755);
  for (const name of ['report.md', 'survey.md']) folder.write(name, `# ${name}\n`);
  folder.write('review.yaml', PIPELINE);
}

/** Returns the commands on a page without the prompt `$`. */
async function commandsOn(
  dashboard: Dashboard,
  path: string,
  act?: (page: Awaited<ReturnType<Dashboard['open']>>) => Promise<void>,
): Promise<string[]> {
  const page = await dashboard.open(path);
  await act?.(page);
  const lines = page.locator('.command-line code');
  await lines.first().waitFor();
  const commands = (await lines.allTextContents()).map((line) => line.replace(/^\$\s/, ''));
  await page.context().close();
  return commands;
}

async function onEmptyPages(dashboard: Dashboard): Promise<string[]> {
  const pages = ['', 'pointers', 'pipelines', 'channels', 'threads', 'keys', 'keys?tab=usage'];
  const commands = [];
  for (const page of [
    ...pages,
    'tasks',
    'agents',
    'agents?tab=conversations',
    'agents?tab=claims',
    'agents?tab=questions',
    'files',
    'costs',
  ])
    commands.push(...(await commandsOn(dashboard, `/ui/${page}`)));
  await using bare = await openDashboard({ core: { projects: dashboardProjects([]) } });
  return [...commands, ...(await commandsOn(bare, '/ui/projects'))];
}

async function onFilledPages(dashboard: Dashboard, terminal: Terminal): Promise<string[]> {
  const relay = new ContextRelay({ baseUrl: dashboard.url });
  const api = httpRelay({ baseUrl: dashboard.url });
  const { thread_id: id } = await api.threads.create({});
  const { id: task } = await new AgentBridge(relay).send('Count the words');
  // The last step fails, so the page offers to resume the run. With the file `approved` the step then succeeds.
  assert.notEqual((await terminal.run('relay pipeline run review.yaml')).code, 0);
  terminal.folder.write('approved', '');
  const [run] = (await api.threads.runs({})).runs;
  const [project] = (await api.projects.list()).projects;
  const commands = [
    await commandsOn(dashboard, `/ui/threads/${id}`),
    await commandsOn(dashboard, `/ui/threads/${id}?tab=artifacts`),
    await commandsOn(dashboard, `/ui/threads/${id}?tab=ledger`),
    await commandsOn(dashboard, `/ui/threads/${id}`, (page) =>
      page.getByRole('button', { name: 'Delete' }).click(),
    ),
    await commandsOn(dashboard, `/ui/channels/${encodeURIComponent(CHANNEL)}`),
    await commandsOn(dashboard, `/ui/channels/${encodeURIComponent(CHANNEL)}?tab=groups`),
    await commandsOn(dashboard, `/ui/tasks/${task}`),
    await commandsOn(dashboard, `/ui/projects/${project!.id}`),
    await commandsOn(dashboard, `/ui/projects/${project!.id}?tab=state`),
    await commandsOn(dashboard, `/ui/pipelines/${run!.run}?step=judge`),
  ];
  return commands.flat();
}

/** Returns the commands on pages that are seen without a key: the sign-in, and a pointer that only its tenant may see. */
async function commandsWithoutKey(dashboard: Dashboard): Promise<{ key: string; commands: string[] }> {
  const scopes = ['push', 'pull', 'subscribe', 'threads', 'files', 'tasks', 'admin'] as const;
  const { key } = await asAgent(dashboard.relay, 'local').keys.create({ name: 'owner', scopes });
  const owner = new ContextRelay({ baseUrl: dashboard.url, apiKey: key });
  const { id } = await owner.pushDetailed('for colleagues', { visibility: 'tenant' });
  return {
    key,
    commands: [...(await commandsOn(dashboard, '/ui/')), ...(await commandsOn(dashboard, `/pull/${id}`))],
  };
}

/** Asserts that `offered` contains every command in the sources of the pages, so that new commands are tested too. */
function assertAllWereSeen(offered: readonly string[]): void {
  const root = resolve(import.meta.dirname, '../../ui');
  const lines = globSync('**/*.tsx', { cwd: root }).flatMap((file) => {
    const source = readFileSync(join(root, file), 'utf8');
    return [...source.matchAll(/\bline(?:=|: )\{?(["'`])(.*?relay .*?)\1\}?[\s,]/g)].map(
      (match) => match[2]!,
    );
  });
  assert.ok(lines.length > 25, String(lines.length));
  const unseen = lines.filter((line) => {
    const parts = line.split(/\$\{.*?\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return !offered.some((command) => new RegExp(`^${parts.join('.+')}$`).test(command));
  });
  assert.deepEqual(unseen, []);
}

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** A shell in the project's folder, with `relay` on its PATH. */
class Terminal {
  readonly folder: ScratchFolder;
  readonly #env: NodeJS.ProcessEnv;

  constructor(folder: ScratchFolder, env: { [name: string]: string }) {
    this.folder = folder;
    const path = `${join(folder.home, 'bin')}:${process.env.PATH}`;
    const ownEnv = { ...env, HOME: folder.home, PATH: path, RELAY_PORT: '0' };
    this.#env = cleanEnv({ home: join(folder.home, '.relay'), env: ownEnv });
  }

  async run(line: string): Promise<Ended> {
    return this.#spawn(line).ended;
  }

  /** Starts a command and stops it after its first output. `relay watch` gets a message to print. */
  async start(line: string, relay: ContextRelay): Promise<Ended> {
    const { child, output, ended } = this.#spawn(`exec ${line}`);
    const over = ended.then(() => true);
    await until(
      async () => {
        if (/^relay watch/.test(line)) await relay.channels.publish(CHANNEL, 'hello');
        return output() !== '' || (await Promise.race([over, false]));
      },
      { everyMs: 200 },
    );
    if (child.exitCode !== null) return ended;
    child.kill('SIGINT');
    const { code } = await ended;
    return { code: code === null || code === 130 ? 0 : code, output: output() };
  }

  #spawn(line: string) {
    const child = spawn('bash', ['-c', line], { cwd: this.folder.path, env: this.#env, stdio: 'pipe' });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.stdin.end();
    const ended = new Promise<Ended>((done) => {
      child.on('close', (code) => done({ code, output: stdout + stderr }));
    });
    return { child, output: () => stdout, ended };
  }
}
