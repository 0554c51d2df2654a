import type { DemoContent } from './demo/content.ts';

/** Every page of the dashboard and every view of it, by name. */
export function everyPage(demo: DemoContent): Record<string, string> {
  const thread = `/ui/threads/${demo.thread}`;
  return {
    overview: '/ui/',
    threads: '/ui/threads',
    state: thread,
    diff: `${thread}?view=diff&from=2`,
    json: `${thread}?view=json`,
    prompt: `${thread}?tab=prompt`,
    artifacts: `${thread}?tab=artifacts`,
    events: `${thread}?tab=events`,
    ledger: `${thread}?tab=ledger`,
    compare: `/ui/compare?a=${demo.thread}&b=${demo.other}`,
    channels: '/ui/channels',
    channel: '/ui/channels/reviews',
    groups: '/ui/channels/invoices?tab=groups',
    dead: '/ui/channels/invoices?tab=dead',
    publish: '/ui/channels/builds?tab=publish',
    pointers: '/ui/pointers',
    pointer: demo.secret.slice(demo.secret.indexOf('/pull/')),
    once: demo.once.slice(demo.once.indexOf('/pull/')),
    pipelines: '/ui/pipelines',
    run: `/ui/pipelines/${demo.run}?step=security`,
    tasks: '/ui/tasks',
    agents: '/ui/tasks?tab=agents',
    send: '/ui/tasks?tab=send',
    task: `/ui/tasks/${demo.task}`,
    projects: '/ui/projects',
    project: `/ui/projects/${demo.project}`,
    decisions: `/ui/projects/${demo.project}?tab=decisions`,
    brief: `/ui/projects/${demo.project}?tab=brief`,
    keys: '/ui/keys',
    usage: '/ui/keys?tab=usage',
    lost: '/ui/no-such-page',
  };
}
