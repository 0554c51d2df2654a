import type { Activity } from '../../../src/contract/activity.ts';
import { TASK_STATES, type TaskInfo, type TaskState } from '../../../src/contract/tasks.ts';
import { to } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { type BulkAction, BulkBar } from '../../parts/bulk-actions.tsx';
import { Command } from '../../parts/copy-button.tsx';
import {
  isWithin,
  readParams,
  SelectFilter,
  TextFilter,
  TimeFilter,
  ValueFilter,
} from '../../parts/filters.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Answer, Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { type Column, linkColumn, Table, textColumn, useSelection } from '../../parts/table.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { hasScope } from '../../session/self.ts';
import { SendTask } from './send-task.tsx';
import { agentOf, OPEN_STATES, sendAgain, TaskPage } from './task.tsx';

const MAX_TASKS = 200;
const REFRESH = { every: 10_000, live: ({ kind }: Activity) => /^(?:task|agent)\./.test(kind) };

export function Tasks({ parts: [id] }: { parts: readonly string[] }) {
  return id === undefined ? <TaskList /> : <TaskPage id={id} key={id} />;
}

const COLUMNS: readonly Column<TaskInfo>[] = [
  linkColumn(
    'Task',
    ({ id }) => to('tasks', id),
    ({ id, summary }) => summary ?? <span class="mono">{id.slice(0, 8)}</span>,
  ),
  {
    title: 'State',
    width: '96px',
    cell: ({ stuck, state }) => (
      <span title={stuck ?? undefined}>
        <Badge word={stuck ? 'stuck' : state} />
      </span>
    ),
  },
  {
    title: 'Agent',
    width: '120px',
    cell: (task) => <ForeignText text={agentOf(task) ?? 'none'} max={40} />,
    wide: true,
  },
  textColumn('From', '110px', ({ from }) => from),
  { title: 'Attempts', width: '72px', cell: ({ attempt }) => attempt || '–', figure: true, wide: true },
  { title: 'Sent', width: '84px', cell: ({ created_at }) => <Ago at={created_at} />, wide: true },
];

const STATES = {
  '': 'all',
  stuck: 'stuck',
  ...Object.fromEntries(TASK_STATES.map((state) => [state, state])),
};

/**
 * Actions for selected tasks: cancel open tasks, and send failed or canceled tasks again if the key's scopes
 * allow it.
 */
function bulkActions(): BulkAction<TaskInfo>[] {
  const cancel: BulkAction<TaskInfo> = {
    label: 'Cancel',
    danger: true,
    about: 'No agent will take these tasks. If an agent is working on one, its bridge stops the work.',
    applies: ({ state }) => OPEN_STATES.has(state),
    act: (relay, { id }) => relay.tasks.cancel(id, { reason: 'Canceled in the dashboard' }),
  };
  const retry: BulkAction<TaskInfo> = {
    label: 'Retry',
    about: 'Sends each task again, as a new task with the same payload.',
    applies: ({ state }) => !OPEN_STATES.has(state) && state !== 'done',
    act: (relay, { id }) => sendAgain(relay, id),
  };
  return [...(hasScope('push') && hasScope('pull') ? [retry] : []), cancel];
}

function TaskList() {
  const filters = readParams('state', 'agent', 'channel', 'time', 'q');
  const [state, agent, channel, time, q] = filters;
  const selection = useSelection<TaskInfo>(({ id, summary }) => summary ?? id);
  const tasks = useAsked(
    (relay) =>
      relay.tasks.list({
        limit: MAX_TASKS,
        ...(state && state !== 'stuck' ? { state: state as TaskState } : {}),
      }),
    [state],
    REFRESH,
  );
  const lowerQuery = q.toLowerCase();
  const matches = (task: TaskInfo) =>
    (state !== 'stuck' || task.stuck !== null) &&
    (agent === '' || agentOf(task) === agent) &&
    (channel === '' || task.channel === channel) &&
    isWithin(time, task.created_at) &&
    `${task.summary ?? ''} ${task.from}`.toLowerCase().includes(lowerQuery);
  const agents = useAsked((relay) => relay.agents.list(), [], REFRESH);
  const stuck = tasks.value?.tasks.filter((task) => task.stuck !== null) ?? [];
  return (
    <>
      <PageHead title="Tasks" />
      <Tabs
        label="Tasks"
        tabs={[
          {
            name: 'tasks',
            title: 'Tasks',
            render: () => (
              <>
                <div class="bar">
                  <TextFilter label="Summary or sender" param="q" grow />
                  <SelectFilter label="State" param="state" options={STATES} />
                  <ValueFilter label="Agent" param="agent" values={tasks.value?.tasks.map(agentOf) ?? []} />
                  <ValueFilter
                    label="Channel"
                    param="channel"
                    values={tasks.value?.tasks.map((task) => task.channel) ?? []}
                  />
                  <TimeFilter />
                </div>
                <BulkBar selection={selection} what="tasks" done={tasks.again} actions={bulkActions()} />
                {stuck.length > 0 && (
                  <p class="warning" role="status">
                    {stuck.length === 1
                      ? 'One task is stuck: '
                      : `${stuck.length} tasks are stuck. The first:  `}
                    <a href={to('tasks', stuck[0]!.id)}>
                      <ForeignText text={stuck[0]!.summary ?? stuck[0]!.id} max={80} />
                    </a>
                    . <ForeignText text={stuck[0]!.stuck!} max={300} />
                  </p>
                )}
                <Answer of={tasks}>
                  {({ tasks: all }) => {
                    const list = all.filter(matches);
                    return list.length === 0 && !filters.some(Boolean) ? (
                      <Empty title="There are no tasks yet.">
                        <p>
                          A task is work for an agent. The relay keeps it until an agent takes it, and
                          delivers the result.
                        </p>
                        <Command
                          line='relay bridge send "Refactor the auth module and run the tests" --wait'
                          about="Send one:"
                        />
                      </Empty>
                    ) : (
                      <>
                        <Table
                          label="Tasks, newest first"
                          what="task"
                          columns={COLUMNS}
                          selection={selection}
                          rows={list}
                          keyOf={({ id }) => id}
                        />
                        {all.length === MAX_TASKS && (
                          <p class="table-foot soft">Only the newest {MAX_TASKS} tasks are listed.</p>
                        )}
                      </>
                    );
                  }}
                </Answer>
              </>
            ),
          },
          hasScope('push') && {
            name: 'send',
            title: 'Send',
            render: () => <SendTask agents={agents.value?.agents ?? []} />,
          },
        ]}
      />
    </>
  );
}
