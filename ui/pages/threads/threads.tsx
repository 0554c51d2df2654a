import type { ThreadItem } from '../../../src/contract/threads.ts';
import { navigate, to } from '../../frame/router.ts';
import { BulkBar } from '../../parts/bulk-actions.tsx';
import { Command, Id } from '../../parts/copy-button.tsx';
import { isWithin, readParams, TextFilter, TimeFilter } from '../../parts/filters.tsx';
import { Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { type Column, linkColumn, PagedTable, textColumn, useSelection } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { usePages } from '../../session/paging.ts';
import { ThreadPage } from './thread.tsx';

export function Threads({ parts: [id] }: { parts: readonly string[] }) {
  return id === undefined ? <ThreadList /> : <ThreadPage id={id} key={id} />;
}

const ID_START = /^[0-9a-f]{4,8}(?:-[0-9a-f-]*)?$/i;

const COLUMNS: readonly Column<ThreadItem>[] = [
  linkColumn(
    'Name',
    ({ thread_id }) => to('threads', thread_id),
    ({ name }) => name || 'Unnamed',
  ),
  {
    title: 'Id',
    width: '116px',
    cell: ({ thread_id }) => <Id value={thread_id} what="thread id" />,
    wide: true,
  },
  textColumn('Created by', '100px', ({ by }) => by),
  { title: 'Hops', width: '60px', cell: ({ hop_count }) => hop_count, wide: true, figure: true },
  { title: 'Expires', width: '90px', cell: ({ expires_at }) => <Ago at={expires_at} />, wide: true },
  { title: 'Created', width: '92px', cell: ({ created_at }) => <Ago at={created_at} /> },
];

function ThreadList() {
  const filters = readParams('q', 'by', 'time');
  const [q, by, time] = filters;
  const selection = useSelection<ThreadItem>(({ name, thread_id }) => name || thread_id);
  const picked = [...selection.rows.keys()];
  // If the text has only hexadecimal digits, search it as the start of an id. Otherwise search the names
  // for its words.
  const search = ID_START.test(q) ? { prefix: q.toLowerCase() } : q ? { q } : {};
  const threads = usePages(
    'threads',
    (relay, page) => relay.threads.list({ ...page, ...search, ...(by ? { by } : {}) }),
    filters,
    {
      matches: ({ created_at }) => isWithin(time, created_at),
      isPast: ({ created_at }) => !isWithin(time, created_at),
      live: ({ kind }) => kind === 'thread.created' || kind === 'thread.deleted',
    },
  );
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
        what="thread"
        columns={COLUMNS}
        selection={selection}
        paged={threads}
        keyOf={({ thread_id }) => thread_id}
        filtered={filters.some(Boolean)}
        empty={
          <Empty title="There are no threads yet.">
            <p>
              A thread is the shared memory of several agents: a state with versions, artifacts, and a log of
              events.
            </p>
            <Command line="relay thread new research" about="Create a thread:" />
            <Command
              line='relay "what should we find out first?"'
              about="Or ask a model, which also creates a thread:"
            />
          </Empty>
        }
      />
    </>
  );
}
