import { RUN_STATUSES } from '../../../src/base/enums.ts';
import type { Relay } from '../../../src/contract/relay.ts';
import type { RunItem } from '../../../src/contract/threads.ts';
import { to } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { BulkBar } from '../../parts/bulk-actions.tsx';
import { Command, Id } from '../../parts/copy-button.tsx';
import { isWithin, readParams, SelectFilter, TextFilter, TimeFilter } from '../../parts/filters.tsx';
import { Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { type Column, linkColumn, PagedTable, useSelection } from '../../parts/table.tsx';
import { Ago, formatDuration } from '../../parts/time.tsx';
import { usePages } from '../../session/paging.ts';
import { hasScope } from '../../session/self.ts';
import { RunPage } from './run.tsx';
import { sendRunTask, useRunner } from './run-actions.tsx';

const COLUMNS: readonly Column<RunItem>[] = [
  linkColumn(
    'Pipeline',
    ({ run }) => to('pipelines', run),
    ({ pipeline }) => pipeline,
  ),
  { title: 'Status', width: '92px', cell: ({ status }) => <Badge word={status} /> },
  { title: 'Run', width: '116px', cell: ({ run }) => <Id value={run} what="run id" />, wide: true },
  {
    title: 'Duration',
    width: '100px',
    cell: ({ started_at, finished_at }) =>
      finished_at ? (
        formatDuration(Date.parse(finished_at) - Date.parse(started_at))
      ) : (
        <span class="soft">running</span>
      ),
    wide: true,
    figure: true,
  },
  { title: 'Started', width: '84px', cell: ({ started_at }) => <Ago at={started_at} /> },
];

export function Pipelines({ parts: [id] }: { parts: readonly string[] }) {
  return id === undefined ? <RunList /> : <RunPage id={id} key={id} />;
}

function RunList() {
  const filters = readParams('status', 'pipeline', 'time');
  const [status, name, time] = filters;
  const selection = useSelection<RunItem>(({ pipeline, run }) => `${pipeline} ${run.slice(0, 8)}`);
  const runner = useRunner();
  const lowerName = name.toLowerCase();
  const runs = usePages('runs', (relay, { after }) => relay.threads.runs({ after, limit: 100 }), filters, {
    matches: (run) =>
      (status === '' || run.status === status) &&
      run.pipeline.toLowerCase().includes(lowerName) &&
      isWithin(time, run.started_at),
    isPast: ({ started_at }) => !isWithin(time, started_at),
    live: ({ kind }) => kind.startsWith('pipeline.'),
  });
  return (
    <>
      <PageHead title="Pipelines" />
      <div class="bar">
        <TextFilter label="Pipeline" param="pipeline" />
        <SelectFilter
          label="Status"
          param="status"
          options={{ '': 'all', ...Object.fromEntries(RUN_STATUSES.map((one) => [one, one])) }}
        />
        <TimeFilter />
      </div>
      <BulkBar
        selection={selection}
        what="runs"
        done={runs.first}
        actions={[
          ...(runner && hasScope('push')
            ? [
                {
                  label: 'Resume',
                  about: `Sends a task for each run to ${runner.name}. Finished steps do not run again.`,
                  applies: ({ status }: RunItem) => status !== 'done' && status !== 'running',
                  act: (relay: Relay, { run, pipeline }: RunItem) =>
                    sendRunTask(relay, runner, `relay pipeline run --run ${run}`, `Resume: ${pipeline}`),
                },
              ]
            : []),
          {
            label: 'Delete',
            danger: true,
            about: 'This deletes the runs with their prompts and outputs. It cannot be undone.',
            applies: ({ status }) => status !== 'running',
            act: (relay, { run }) => relay.threads.delete(run),
          },
        ]}
      />
      <PagedTable
        label="Runs, newest first"
        what="run"
        columns={COLUMNS}
        selection={selection}
        paged={runs}
        keyOf={({ run }) => run}
        filtered={filters.some(Boolean)}
        empty={
          <Empty title="No pipeline has run yet.">
            <p>
              A pipeline is a YAML file with steps for several agents. Independent steps run in parallel. Each
              run is stored as a thread.
            </p>
            <Command line="relay pipeline run review.yaml" about="Run one:" />
          </Empty>
        }
      />
    </>
  );
}
