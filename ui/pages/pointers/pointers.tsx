import { useState } from 'preact/hooks';
import { bytes } from '../../../src/base/format.ts';
import type { ListedPointer } from '../../../src/contract/pointers.ts';
import { to } from '../../frame/router.ts';
import { Command, CopyButton } from '../../parts/copy-button.tsx';
import { ForeignJson, ForeignText } from '../../parts/foreign-text.tsx';
import { Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { type Column, PagedTable } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { useLive } from '../../session/live.ts';
import { usePages } from '../../session/paging.ts';
import { Pointer } from './pointer.tsx';

const COLUMNS: readonly Column<ListedPointer>[] = [
  {
    title: 'Summary',
    width: 'minmax(0, 1fr)',
    cell: ({ id, metadata }) => (
      <a class="row-link one-line" href={to('pointers', id)} title={id}>
        {typeof metadata.summary === 'string' ? (
          <ForeignText text={metadata.summary} max={200} />
        ) : Object.keys(metadata).length > 0 ? (
          <ForeignJson value={metadata} max={200} />
        ) : (
          <span class="mono">{id.slice(0, 8)}</span>
        )}
      </a>
    ),
  },
  {
    title: 'Handle',
    width: '120px',
    cell: ({ id, handle, url }) => (
      <span class="id">
        <span class="mono" title={id}>
          {handle ?? id.slice(0, 8)}
        </span>
        <CopyButton text={url} what="URL" />
      </span>
    ),
    wide: true,
  },
  {
    title: 'Channel',
    width: 'minmax(0, 120px)',
    cell: ({ channel }) =>
      channel === null ? (
        <span class="soft">none</span>
      ) : (
        <a href={to('channels', channel)}>
          <ForeignText text={channel} max={60} />
        </a>
      ),
    wide: true,
  },
  { title: 'From', width: '110px', cell: ({ from }) => <ForeignText text={from} max={40} />, wide: true },
  { title: 'Size', width: '78px', cell: ({ size }) => bytes(size), figure: true, wide: true },
  { title: 'Pushed', width: '84px', cell: ({ created_at }) => <Ago at={created_at} /> },
  { title: 'Expires', width: '80px', cell: ({ expires_at }) => <Ago at={expires_at} />, wide: true },
];

export function Pointers({ parts: [id] }: { parts: readonly string[] }) {
  return id === undefined ? <PointerList /> : <Pointer parts={[id]} key={id} above />;
}

/** All pointers that have not expired, newest first. */
function PointerList() {
  const [channel, setChannel] = useState('');
  const [from, setFrom] = useState('');
  const filter = { ...(channel ? { channel } : {}), ...(from ? { from } : {}) };
  const pointers = usePages(
    async (relay, page) => {
      const { pointers, next } = await relay.pointers.list({ ...page, ...filter });
      return { rows: pointers, next };
    },
    [channel, from],
  );
  useLive(
    ({ kind }) => kind === 'pointer.pushed' || kind === 'pointer.revoked',
    () => {
      if (pointers.skipped === 0 && pointers.rows.length <= 200) pointers.first();
    },
  );
  const filtered = channel !== '' || from !== '';
  return (
    <>
      <PageHead title="Pointers" />
      <div class="bar">
        <label class="field">
          <span>Channel</span>
          <input
            type="search"
            value={channel}
            onChange={(event) => setChannel(event.currentTarget.value.trim())}
          />
        </label>
        <label class="field">
          <span>From</span>
          <input type="search" value={from} onChange={(event) => setFrom(event.currentTarget.value.trim())} />
        </label>
      </div>
      <PagedTable
        label="Pointers, newest first"
        columns={COLUMNS}
        paged={pointers}
        keyOf={({ id }) => id}
        empty={
          filtered ? (
            <Empty title="No pointer matches these filters." />
          ) : (
            <Empty title="There are no pointers yet.">
              <p>
                A pointer is a short URL for a payload. Agents send the pointer instead of the payload. It
                expires after one day by default.
              </p>
              <Command line="relay push report.md" about="Push a file:" />
            </Empty>
          )
        }
      />
    </>
  );
}
