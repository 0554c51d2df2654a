import { useState } from 'preact/hooks';
import { TASK_STATES, type TaskInfo, type TaskState } from '../../../src/contract/tasks.ts';
import { to } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { Command } from '../../parts/copy-button.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Answer, Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { useEvery, useLive } from '../../session/live.ts';
import { hasScope } from '../../session/self.ts';
import { AgentList } from './agent-list.tsx';
import { SendTask } from './send-task.tsx';
import { TaskPage } from './task.tsx';

const MAX_TASKS = 200;
const POLL_MS = 10_000;

export function Tasks({ parts: [id] }: { parts: readonly string[] }) {
  return id === undefined ? <TaskList /> : <TaskPage id={id} key={id} />;
}

const COLUMNS: readonly Column<TaskInfo>[] = [
  {
    title: 'Task',
    width: 'minmax(0, 1fr)',
    cell: ({ id, summary }) => (
      <a class="row-link one-line" href={to('tasks', id)}>
        {summary ? <ForeignText text={summary} max={160} /> : <span class="mono">{id.slice(0, 8)}</span>}
      </a>
    ),
  },
  {
    title: 'State',
    width: '96px',
    cell: (task) => <State task={task} />,
  },
  {
    title: 'Agent',
    width: '120px',
    cell: ({ agent, result }) =>
      agent || result ? (
        <ForeignText text={agent ?? result!.by} max={40} />
      ) : (
        <span class="soft">none yet</span>
      ),
    wide: true,
  },
  { title: 'From', width: '110px', cell: ({ from }) => <ForeignText text={from} max={40} />, wide: true },
  { title: 'Attempts', width: '72px', cell: ({ attempt }) => attempt || '–', figure: true, wide: true },
  { title: 'Sent', width: '84px', cell: ({ created_at }) => <Ago at={created_at} />, wide: true },
];

function State({ task }: { task: TaskInfo }) {
  return (
    <span title={task.stuck ?? undefined}>
      <Badge word={task.stuck ? 'stuck' : task.state} />
    </span>
  );
}

function TaskList() {
  const [state, setState] = useState<TaskState | ''>('');
  const tasks = useAsked(
    (relay) => relay.tasks.list({ limit: MAX_TASKS, ...(state ? { state } : {}) }),
    [state],
  );
  const agents = useAsked((relay) => relay.agents.list(), []);
  useLive(
    ({ kind }) => /^(?:task|agent)\./.test(kind),
    () => {
      tasks.again();
      agents.again();
    },
  );
  useEvery(POLL_MS, () => {
    tasks.again();
    agents.again();
  });
  const stuck = tasks.value?.tasks.filter((task) => task.stuck !== null) ?? [];
  return (
    <>
      <PageHead title="Tasks and agents" />
      <Tabs
        label="Tasks and agents"
        tabs={[
          {
            name: 'tasks',
            title: 'Tasks',
            render: () => (
              <>
                <div class="bar">
                  <label class="field">
                    <span>State</span>
                    <select
                      value={state}
                      onChange={(event) => setState(event.currentTarget.value as TaskState | '')}
                    >
                      <option value="">all</option>
                      {TASK_STATES.map((one) => (
                        <option key={one} value={one}>
                          {one}
                        </option>
                      ))}
                    </select>
                  </label>
                </div>
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
                  {({ tasks: list }) =>
                    list.length === 0 ? (
                      <Empty title={state ? `No ${state} tasks.` : 'There are no tasks yet.'}>
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
                          columns={COLUMNS}
                          rows={list}
                          keyOf={({ id }) => id}
                        />
                        {list.length === MAX_TASKS && (
                          <p class="table-foot soft">Only the newest {MAX_TASKS} tasks are listed.</p>
                        )}
                      </>
                    )
                  }
                </Answer>
              </>
            ),
          },
          {
            name: 'agents',
            title: 'Agents',
            count: agents.value?.agents.length,
            render: () => (
              <section class="panel">
                <Answer of={agents}>{({ agents: list }) => <AgentList agents={list} />}</Answer>
              </section>
            ),
          },
          ...(hasScope('push')
            ? [
                {
                  name: 'send',
                  title: 'Send',
                  render: () => <SendTask agents={agents.value?.agents ?? []} />,
                },
              ]
            : []),
        ]}
      />
    </>
  );
}
