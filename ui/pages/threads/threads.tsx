import type { ThreadItem } from '../../../src/contract/threads.ts';
import { navigate, to } from '../../frame/router.ts';
import { BulkBar, selectColumn, useSelection } from '../../parts/bulk-actions.tsx';
import { Command, Id } from '../../parts/copy-button.tsx';
import { isWithin, readMatching, readParams, TextFilter, TimeFilter } from '../../parts/filters.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { type Column, PagedTable } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { useLive } from '../../session/live.ts';
import { usePages } from '../../session/paging.ts';
import { ThreadPage } from './thread.tsx';

export function Threads({ parts: [id] }: { parts: readonly string[] }) {
  return id === undefined ? <ThreadList /> : <ThreadPage id={id} key={id} />;
}

const ID_START = /^[0-9a-f]{4,8}(?:-[0-9a-f-]*)?$/i;

function ThreadList() {
  const [q, by, time] = readParams('q', 'by', 'time');
  const selection = useSelection<ThreadItem>();
  const picked = [...selection.rows.keys()];
  // Hexadecimal digits may be the start of an id. Names are searched for all words.
  const words = ID_START.test(q) ? { prefix: q.toLowerCase() } : q ? { q } : {};
  const filter = { ...words, ...(by ? { by } : {}) };
  const filtered = [q, by, time].some((value) => value !== '');
  const threads = usePages(
    (relay, { after, limit }) =>
      readMatching(
        async (after) => {
          const { threads, next } = await relay.threads.list({ after, limit, ...filter });
          return { rows: threads, next };
        },
        after,
        ({ created_at }) => isWithin(time, created_at),
        ({ created_at }) => !isWithin(time, created_at),
      ),
    [q, by, time],
  );
  useLive(
    ({ kind }) => kind === 'thread.created' || kind === 'thread.deleted',
    () => {
      // Do not reload a list that the user has scrolled.
      if (threads.skipped === 0 && threads.rows.length <= 200) threads.first();
    },
  );
  const columns: readonly Column<ThreadItem>[] = [
    selectColumn(
      selection,
      ({ thread_id }) => thread_id,
      ({ name, thread_id }) => name || thread_id,
    ),
    {
      title: 'Name',
      width: 'minmax(0, 1fr)',
      cell: (thread) => (
        <a class="row-link one-line" href={to('threads', thread.thread_id)}>
          <ForeignText text={thread.name || 'Unnamed'} max={120} />
        </a>
      ),
    },
    {
      title: 'Id',
      width: '116px',
      cell: ({ thread_id }) => <Id value={thread_id} what="thread id" />,
      wide: true,
    },
    {
      title: 'Created by',
      width: '100px',
      cell: ({ by }) => <ForeignText text={by} max={40} />,
      wide: true,
    },
    { title: 'Hops', width: '60px', cell: ({ hop_count }) => hop_count, wide: true, figure: true },
    {
      title: 'Expires',
      width: '90px',
      cell: ({ expires_at }) => (expires_at ? <Ago at={expires_at} /> : <span class="soft">never</span>),
      wide: true,
    },
    { title: 'Created', width: '92px', cell: ({ created_at }) => <Ago at={created_at} /> },
  ];
  return (
    <>
      <PageHead
        title="Threads"
        actions={
          <button
            type="button"
            class="button"
            disabled={picked.length !== 2}
            onClick={() => navigate(`${to('compare')}?a=${picked[0]}&b=${picked[1]}`)}
          >
            {picked.length === 2 ? 'Compare' : `Compare (${picked.length} of 2 selected)`}
          </button>
        }
      />
      <div class="bar">
        <TextFilter label="Name or start of the id" param="q" grow />
        <TextFilter label="Created by" param="by" />
        <TimeFilter />
      </div>
      <BulkBar
        selection={selection}
        what="threads"
        done={threads.first}
        actions={[
          {
            label: 'Delete',
            danger: true,
            about: 'This deletes the threads with all versions, artifacts and events. It cannot be undone.',
            act: (relay, { thread_id }) => relay.threads.delete(thread_id),
          },
        ]}
      />
      <PagedTable
        label="Threads, newest first"
        columns={columns}
        paged={threads}
        keyOf={({ thread_id }) => thread_id}
        chosen={({ thread_id }) => picked.includes(thread_id)}
        empty={
          filtered ? (
            <Empty title="No thread matches these filters." />
          ) : (
            <Empty title="There are no threads yet.">
              <p>
                A thread is the shared memory of several agents: a state with versions, artifacts, and a log
                of events.
              </p>
              <Command line="relay thread new research" about="Create a thread:" />
              <Command
                line='relay "what should we find out first?"'
                about="Or ask a model, which also creates a thread:"
              />
            </Empty>
          )
        }
      />
    </>
  );
}
