import { useState } from 'preact/hooks';
import type { ThreadItem } from '../../../src/contract/threads.ts';
import { navigate, to } from '../../frame/router.ts';
import { Command, Id } from '../../parts/copy-button.tsx';
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

function ThreadList() {
  const [prefix, setPrefix] = useState('');
  const [picked, setPicked] = useState<readonly string[]>([]);
  const id = prefix.trim().toLowerCase();
  const threads = usePages(
    async (relay, page) => {
      const { threads, next } = await relay.threads.list({ ...page, ...(id ? { prefix: id } : {}) });
      return { rows: threads, next };
    },
    [id],
  );
  useLive(
    ({ kind }) => kind === 'thread.created' || kind === 'thread.deleted',
    () => {
      // Do not reload a list that the user has scrolled.
      if (threads.skipped === 0 && threads.rows.length <= 200) threads.first();
    },
  );
  const pick = (thread: string, on: boolean) =>
    setPicked((before) => (on ? [...before.slice(-1), thread] : before.filter((one) => one !== thread)));
  const columns: readonly Column<ThreadItem>[] = [
    {
      title: 'Name',
      width: 'minmax(0, 1fr)',
      cell: (thread) => (
        <span class="with-check">
          <input
            type="checkbox"
            aria-label={`Select ${thread.name || thread.thread_id} for comparison`}
            checked={picked.includes(thread.thread_id)}
            onChange={(event) => pick(thread.thread_id, event.currentTarget.checked)}
          />
          <a class="row-link one-line" href={to('threads', thread.thread_id)}>
            <ForeignText text={thread.name || 'Unnamed'} max={120} />
          </a>
        </span>
      ),
    },
    {
      title: 'Id',
      width: '116px',
      cell: ({ thread_id }) => <Id value={thread_id} what="thread id" />,
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
        <label class="field">
          <span>Id starts with</span>
          <input
            type="search"
            class="mono"
            value={prefix}
            onInput={(event) => setPrefix(event.currentTarget.value)}
          />
        </label>
      </div>
      <PagedTable
        label="Threads, newest first"
        columns={columns}
        paged={threads}
        keyOf={({ thread_id }) => thread_id}
        chosen={({ thread_id }) => picked.includes(thread_id)}
        empty={
          id ? (
            <Empty title="No thread id starts with this." />
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
