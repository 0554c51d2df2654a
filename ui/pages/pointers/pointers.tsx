import { bytes } from '../../../src/base/format.ts';
import { OUTPUT } from '../../../src/contract/outputs.ts';
import type { ListedPointer } from '../../../src/contract/pointers.ts';
import { FERNET_CONTENT_TYPE } from '../../../src/formats/fernet.ts';
import { to } from '../../frame/router.ts';
import { Badge, type Tone } from '../../parts/badge.tsx';
import { BulkBar } from '../../parts/bulk-actions.tsx';
import { Command, CopyButton } from '../../parts/copy-button.tsx';
import { isWithin, readParams, SelectFilter, TextFilter, TimeFilter } from '../../parts/filters.tsx';
import { ChannelLink, ForeignJson } from '../../parts/foreign-text.tsx';
import { Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { type Column, linkColumn, PagedTable, textColumn, useSelection } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { usePages } from '../../session/paging.ts';
import { hasScope } from '../../session/self.ts';
import { Pointer } from './pointer.tsx';

const KINDS = {
  '': 'all',
  output: 'output',
  encrypted: 'encrypted',
  'one-time': 'one-time',
  binary: 'binary',
};

/** Returns the marks of a pointer in the list, such as `encrypted` and `one-time`. */
function marksOf({ content_type, max_pulls, metadata, text }: ListedPointer): string[] {
  const encrypted = content_type === FERNET_CONTENT_TYPE;
  return [
    metadata.kind === OUTPUT ? 'output' : '',
    encrypted ? 'encrypted' : '',
    max_pulls === 1 ? 'one-time' : max_pulls !== null ? `${max_pulls} pulls` : '',
    text || encrypted ? '' : 'binary',
  ].filter(Boolean);
}

const COLUMNS: readonly Column<ListedPointer>[] = [
  linkColumn(
    'Summary',
    ({ id }) => to('pointers', id),
    ({ id, metadata }) =>
      typeof metadata.summary === 'string' ? (
        metadata.summary
      ) : Object.keys(metadata).length > 0 ? (
        <ForeignJson value={metadata} max={200} />
      ) : (
        <span class="mono">{id.slice(0, 8)}</span>
      ),
  ),
  {
    title: 'Handle',
    width: '88px',
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
    title: 'Kind',
    width: '84px',
    cell: (pointer) => {
      const marks = marksOf(pointer);
      return marks.length > 0 ? (
        marks.map((mark) => (
          <span key={mark} class="pair">
            <Badge tone={MARK_TONES[mark] ?? 'quiet'}>{mark}</Badge>
          </span>
        ))
      ) : (
        <span class="soft">{shortType(pointer.content_type)}</span>
      );
    },
    wide: true,
  },
  {
    title: 'Channel',
    width: '88px',
    cell: ({ channel }) =>
      channel === null ? <span class="soft">none</span> : <ChannelLink name={channel} />,
    wide: true,
  },
  textColumn('From', '96px', ({ from }) => from),
  { title: 'Size', width: '68px', cell: ({ size }) => bytes(size), figure: true, wide: true },
  { title: 'Pushed', width: '76px', cell: ({ created_at }) => <Ago at={created_at} /> },
  { title: 'Expires', width: '68px', cell: ({ expires_at }) => <Ago at={expires_at} />, wide: true },
];

const MARK_TONES: { readonly [mark: string]: Tone } = { encrypted: 'busy', 'one-time': 'warn' };

/** Shortens a media type: `text/markdown; charset=utf-8` becomes `markdown`. */
function shortType(type: string | null): string {
  return /\/(?:x-)?([^;]+)/.exec(type ?? '')?.[1]?.replace('plain', 'text') ?? 'text';
}

export function Pointers({ parts: [id] }: { parts: readonly string[] }) {
  return id === undefined ? <PointerList /> : <Pointer parts={[id]} key={id} above />;
}

/** All pointers that have not expired, newest first. */
function PointerList() {
  const filters = readParams('q', 'channel', 'from', 'time', 'kind');
  const [q, channel, from, time, kind] = filters;
  const selection = useSelection<ListedPointer>(({ id, handle }) => handle ?? id.slice(0, 8));
  const serverFilters = { ...(q ? { q } : {}), ...(channel ? { channel } : {}), ...(from ? { from } : {}) };
  const pointers = usePages(
    'pointers',
    (relay, page) => relay.pointers.list({ ...page, ...serverFilters }),
    filters,
    {
      matches: (pointer) =>
        isWithin(time, pointer.created_at) && (kind === '' || marksOf(pointer).includes(kind)),
      isPast: ({ created_at }) => !isWithin(time, created_at),
      live: ({ kind }) => kind === 'pointer.pushed' || kind === 'pointer.revoked',
    },
  );
  return (
    <>
      <PageHead title="Pointers" />
      <div class="bar">
        <TextFilter label="Summary or metadata" param="q" grow />
        <TextFilter label="Channel" param="channel" />
        <TextFilter label="From" param="from" />
        <SelectFilter label="Kind" param="kind" options={KINDS} />
        <TimeFilter />
      </div>
      {hasScope('push') && (
        <BulkBar
          selection={selection}
          what="pointers"
          done={pointers.first}
          actions={[
            {
              label: 'Revoke',
              danger: true,
              about: 'Nobody can pull these payloads any more. It cannot be undone.',
              act: (relay, { id }) => relay.pointers.delete(id),
            },
          ]}
        />
      )}
      <PagedTable
        label="Pointers, newest first"
        what="pointer"
        columns={COLUMNS}
        selection={hasScope('push') && selection}
        paged={pointers}
        keyOf={({ id }) => id}
        filtered={filters.some(Boolean)}
        empty={
          <Empty title="There are no pointers yet.">
            <p>
              A pointer is a short URL for a payload. Agents send the pointer instead of the payload. It
              expires after one day by default.
            </p>
            <Command line="relay push report.md" about="Push a file:" />
          </Empty>
        }
      />
    </>
  );
}
