import { bytes } from '../../../src/base/format.ts';
import { OUTPUT } from '../../../src/contract/outputs.ts';
import type { ListedPointer } from '../../../src/contract/pointers.ts';
import { FERNET_CONTENT_TYPE } from '../../../src/formats/fernet.ts';
import { to } from '../../frame/router.ts';
import { Badge, type Tone } from '../../parts/badge.tsx';
import { BulkBar, selectColumn, useSelection } from '../../parts/bulk-actions.tsx';
import { Command, CopyButton } from '../../parts/copy-button.tsx';
import {
  isWithin,
  readMatching,
  readParams,
  SelectFilter,
  TextFilter,
  TimeFilter,
} from '../../parts/filters.tsx';
import { ForeignJson, ForeignText } from '../../parts/foreign-text.tsx';
import { Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { type Column, PagedTable } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { useLive } from '../../session/live.ts';
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

/** Returns what distinguishes a pointer from a plain text: `encrypted`, `one-time`. */
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
    width: '104px',
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
    width: '92px',
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
    width: 'minmax(0, 110px)',
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
  { title: 'From', width: '100px', cell: ({ from }) => <ForeignText text={from} max={40} />, wide: true },
  { title: 'Size', width: '78px', cell: ({ size }) => bytes(size), figure: true, wide: true },
  { title: 'Pushed', width: '84px', cell: ({ created_at }) => <Ago at={created_at} /> },
  { title: 'Expires', width: '80px', cell: ({ expires_at }) => <Ago at={expires_at} />, wide: true },
];

const MARK_TONES: { readonly [mark: string]: Tone } = { encrypted: 'busy', 'one-time': 'warn' };

/** `text/markdown; charset=utf-8` → `markdown` */
function shortType(type: string | null): string {
  return /\/(?:x-)?([^;]+)/.exec(type ?? '')?.[1]?.replace('plain', 'text') ?? 'text';
}

export function Pointers({ parts: [id] }: { parts: readonly string[] }) {
  return id === undefined ? <PointerList /> : <Pointer parts={[id]} key={id} above />;
}

/** All pointers that have not expired, newest first. */
function PointerList() {
  const [q, channel, from, time, kind] = readParams('q', 'channel', 'from', 'time', 'kind');
  const selection = useSelection<ListedPointer>();
  const filter = { ...(q ? { q } : {}), ...(channel ? { channel } : {}), ...(from ? { from } : {}) };
  const pointers = usePages(
    (relay, { after, limit }) =>
      readMatching(
        async (after) => {
          const { pointers, next } = await relay.pointers.list({ after, limit, ...filter });
          return { rows: pointers, next };
        },
        after,
        (pointer) => isWithin(time, pointer.created_at) && (kind === '' || marksOf(pointer).includes(kind)),
        ({ created_at }) => !isWithin(time, created_at),
      ),
    [q, channel, from, time, kind],
  );
  useLive(
    ({ kind }) => kind === 'pointer.pushed' || kind === 'pointer.revoked',
    () => {
      if (pointers.skipped === 0 && pointers.rows.length <= 200) pointers.first();
    },
  );
  const filtered = [q, channel, from, time, kind].some((value) => value !== '');
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
        columns={[...(hasScope('push') ? [selectColumn(selection, keyOf, nameOf)] : []), ...COLUMNS]}
        paged={pointers}
        keyOf={keyOf}
        chosen={({ id }) => selection.rows.has(id)}
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

const keyOf = ({ id }: ListedPointer) => id;
const nameOf = ({ id, handle }: ListedPointer) => handle ?? id.slice(0, 8);
