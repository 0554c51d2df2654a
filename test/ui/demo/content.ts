import assert from 'node:assert/strict';
import { systemEnv } from '../../../src/base/env.ts';
import { LOCAL_CALLER } from '../../../src/contract/caller.ts';
import type { Relay } from '../../../src/contract/relay.ts';
import type { RelayUnderTest } from '../../http/relay-under-test.ts';
import { type Dashboard, openDashboard } from '../dashboard.ts';
import { createDemoProject } from './project.ts';
import { fillRuns } from './runs.ts';
import { fillThread } from './thread.ts';
import { fillWork } from './work.ts';

/** URLs and ids of the demo content for tests and screenshots. The content is one day of work of a few agents. */
export interface DemoContent {
  readonly thread: string;
  readonly other: string;
  readonly run: string;
  /** An encrypted pointer with its key. */
  readonly secret: string;
  readonly once: string;
  readonly task: string;
  readonly project: string;
  readonly conversation: string;
}

export interface Demo extends AsyncDisposable {
  readonly dashboard: Dashboard;
  readonly demo: DemoContent;
  /** Folder of the project. */
  readonly folder: string;
}

/** Returns the relay as an agent of this name sees it. */
export function asAgent({ core, url }: Pick<RelayUnderTest, 'core' | 'url'>, name: string): Relay {
  return core.relay({ ...LOCAL_CALLER, name }, url);
}

const PRICES = {
  date: '2026-11-01',
  currency: 'USD',
  models: { 'claude-opus-4-8': { input: 15, output: 75, cached_input: 1.5 } },
};
const DAY_MINUTES = 15 * 60;

/** Opens a relay whose content begins 15 hours ago and ends at the browser's time. */
export async function openDemo(): Promise<Demo> {
  const began = systemEnv.now() - DAY_MINUTES * 60_000;
  const startedAt = systemEnv.now();
  const project = await createDemoProject();
  const dashboard = await openDashboard({
    env: { ...systemEnv, now: () => began + (systemEnv.now() - startedAt) },
    core: {
      prices: PRICES,
      projects: project.source,
      channels: { attempts: 3, retryMs: [0], leaseMs: 15 * 60_000 },
    },
  });
  const closing = new AbortController();
  let remainingMinutes = DAY_MINUTES;
  const { activity } = dashboard.relay.core.deps;
  const pass = async (minutes: number) => {
    await activity.flush();
    remainingMinutes -= minutes;
    dashboard.relay.advance(minutes * 60_000);
  };
  const agent = (name: string) => asAgent(dashboard.relay, name);
  const [planner, researcher, reviewer] = [agent('planner'), agent('researcher'), agent('reviewer')];
  const runs = await fillRuns(planner, pass);
  const other = await fillThreads(planner, reviewer, pass);
  const thread = await fillThread(planner, researcher, reviewer, pass);
  const work = await fillWork(dashboard.relay, agent, pass, closing.signal, async () => {
    await pass(remainingMinutes - 1);
    const run = await runs.last();
    await pass(remainingMinutes);
    return run;
  });
  assert.equal(remainingMinutes, 0, 'all of it happened within the day');
  const { projects } = await planner.projects.list();
  return {
    dashboard,
    folder: project.folder,
    demo: { thread, other, project: projects[0]!.id, ...work },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await dashboard[Symbol.asyncDispose]();
      project.remove();
    },
  };
}

async function fillThreads(planner: Relay, reviewer: Relay, pass: (minutes: number) => Promise<void>) {
  for (const name of [
    'Flaky tests of the importer',
    'Onboarding e-mails',
    'Invoice parser: scans of bad quality',
    'Release notes 4.3',
    'Which of the three vendors for address validation, and what each of them costs a year',
  ]) {
    await planner.threads.create({ name });
    await pass(47);
  }
  const { thread_id: other } = await planner.threads.create({ name: 'Checkout latency, second look' });
  await reviewer.threads.patch(other, {
    ops: [
      { op: 'add', path: '/facts/-', value: { id: 'f1', key: 'service', value: 'checkout', by: 'planner' } },
      {
        op: 'add',
        path: '/facts/-',
        value: { id: 'f2', key: 'p95 after the fix', value: '298 ms', by: 'reviewer' },
      },
    ],
  });
  await pass(35);
  return other;
}
