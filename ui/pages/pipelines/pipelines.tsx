import type { RunItem } from '../../../src/contract/threads.ts';
import { to } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { Command, Id } from '../../parts/copy-button.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { type Column, PagedTable } from '../../parts/table.tsx';
import { Ago, formatDuration } from '../../parts/time.tsx';
import { useLive } from '../../session/live.ts';
import { usePages } from '../../session/paging.ts';
import { RunPage } from './run.tsx';

const COLUMNS: readonly Column<RunItem>[] = [
  {
    title: 'Pipeline',
    width: 'minmax(0, 1fr)',
    cell: ({ run, pipeline }) => (
      <a class="row-link one-line" href={to('pipelines', run)}>
        <ForeignText text={pipeline} max={100} />
      </a>
    ),
  },
  { title: 'Status', width: '104px', cell: ({ status }) => <Badge word={status} /> },
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
  { title: 'Started', width: '92px', cell: ({ started_at }) => <Ago at={started_at} /> },
];

export function Pipelines({ parts: [id] }: { parts: readonly string[] }) {
  return id === undefined ? <RunList /> : <RunPage id={id} key={id} />;
}

function RunList() {
  const runs = usePages(async (relay, { after, limit }) => {
    const { runs, next } = await relay.threads.runs({ after, limit: Math.min(limit, 100) });
    return { rows: runs, next };
  }, []);
  useLive(
    ({ kind }) => kind.startsWith('pipeline.'),
    () => {
      if (runs.skipped === 0 && runs.rows.length <= 200) runs.first();
    },
  );
  return (
    <>
      <PageHead title="Pipelines" />
      <PagedTable
        label="Runs, newest first"
        columns={COLUMNS}
        paged={runs}
        keyOf={({ run }) => run}
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
