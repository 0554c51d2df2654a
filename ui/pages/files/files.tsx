import { useRef, useState } from 'preact/hooks';
import { bytes } from '../../../src/base/format.ts';
import type { FileInfo } from '../../../src/contract/files.ts';
import { to } from '../../frame/router.ts';
import { BulkBar } from '../../parts/bulk-actions.tsx';
import { Command } from '../../parts/copy-button.tsx';
import { isWithin, readParams, TextFilter, TimeFilter, useParam } from '../../parts/filters.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Icon } from '../../parts/icons.tsx';
import { Empty, Failure } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { type Column, linkColumn, PagedTable, useSelection } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAction } from '../../session/asking.ts';
import { usePages } from '../../session/paging.ts';
import { FilePage } from './file.tsx';

export function Files({ parts: [space, ...path] }: { parts: readonly string[] }) {
  if (space === undefined) return <SpaceList />;
  if (path.length === 0) return <FileList space={space} key={space} />;
  return <FilePage space={space} path={path.join('/')} key={`${space}/${path.join('/')}`} />;
}

export const fileHref = (space: string, path: string) => to('files', space, ...path.split('/'));

const SPACE_COLUMNS: readonly Column<{ readonly space: string }>[] = [
  linkColumn(
    'Space',
    ({ space }) => to('files', space),
    ({ space }) => space,
  ),
];

function SpaceList() {
  const spaces = usePages('spaces', (relay, page) => relay.files.spaces(page), [], {
    live: ({ kind }) => kind.startsWith('file.'),
  });
  return (
    <>
      <PageHead title="Files" />
      <PagedTable
        label="Spaces"
        columns={SPACE_COLUMNS}
        paged={spaces}
        keyOf={({ space }) => space}
        empty={
          <Empty title="There are no files yet.">
            <p>
              A space is a set of named files with versions that agents read and overwrite. The first file
              creates it.
            </p>
            <Command line="relay file put report.md notes/" about="Write a file into the space “notes”:" />
          </Empty>
        }
      />
    </>
  );
}

/** One row of the list: a file, or a folder of the space. */
type Row = FileInfo | { readonly path: string; readonly folder: true };

const isFile = (row: Row): row is FileInfo => !('folder' in row);

function FileList({ space }: { space: string }) {
  const [folder, setFolder] = useParam('folder');
  const filters = readParams('q', 'by', 'time');
  const [q, by, time] = filters;
  const filtered = filters.some(Boolean);
  const selection = useSelection<Row>((row) => (isFile(row) ? row.path : null));
  const files = usePages<'rows', Row>(
    'rows',
    async (relay, page) => {
      // With a filter, list the files in all folders below this one. Otherwise list this folder only.
      const listOptions = filtered ? { q: q || undefined } : { delimiter: '/' as const };
      const found = await relay.files.list(space, { prefix: folder || undefined, ...page, ...listOptions });
      const folders = (found.prefixes ?? []).map((path) => ({ path, folder: true as const }));
      return { rows: [...folders, ...found.files], next: found.next };
    },
    [space, folder, ...filters],
    {
      matches: (row) => !isFile(row) || ((by === '' || row.from === by) && isWithin(time, row.modified_at)),
      live: (entry) => entry.space === space,
    },
  );
  const columns: readonly Column<Row>[] = [
    {
      title: 'Name',
      width: 'minmax(0, 1fr)',
      cell: (row) =>
        isFile(row) ? (
          <a class="row-link one-line" href={fileHref(space, row.path)}>
            <ForeignText text={filtered ? row.path : row.path.slice(folder.length)} max={160} />
          </a>
        ) : (
          <button type="button" class="link row-link one-line" onClick={() => setFolder(row.path)}>
            <Icon name="project" /> <ForeignText text={row.path.slice(folder.length)} max={160} />
          </button>
        ),
    },
    {
      title: 'By',
      width: '120px',
      cell: (row) => isFile(row) && <ForeignText text={row.from} max={40} />,
      wide: true,
    },
    {
      title: 'Version',
      width: '64px',
      cell: (row) => isFile(row) && `v${row.version}`,
      figure: true,
      wide: true,
    },
    { title: 'Size', width: '78px', cell: (row) => isFile(row) && bytes(row.size), figure: true },
    { title: 'Changed', width: '84px', cell: (row) => isFile(row) && <Ago at={row.modified_at} /> },
  ];
  const parent = folder.split('/').slice(0, -2).join('/');
  return (
    <>
      <PageHead
        title={space}
        above={{ title: 'Files', href: to('files') }}
        actions={<Upload space={space} folder={folder} done={files.first} />}
      />
      <div class="bar">
        <TextFilter label="Path contains" param="q" />
        <TextFilter label="By" param="by" />
        <TimeFilter />
      </div>
      {folder !== '' && (
        <p class="bar">
          <button type="button" class="link" onClick={() => setFolder(parent === '' ? '' : `${parent}/`)}>
            Up
          </button>
          <ForeignText as="span" class="mono break" text={folder} max={300} />
        </p>
      )}
      <BulkBar
        selection={selection}
        what="files"
        done={files.first}
        actions={[
          {
            label: 'Delete',
            danger: true,
            about: 'This deletes the files with all their versions. It cannot be undone.',
            act: (relay, { path }) => relay.files.delete(space, path),
          },
        ]}
      />
      <PagedTable
        label="Files"
        what="file"
        columns={columns}
        selection={selection}
        paged={files}
        keyOf={({ path }) => path}
        filtered={filtered}
        empty={<Empty title="There are no files here." />}
      />
    </>
  );
}

function Upload({ space, folder, done }: { space: string; folder: string; done: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [result, setResult] = useState('');
  const uploading = useAction(async (relay, chosen: readonly File[]) => {
    setResult('');
    for (const file of chosen)
      await relay.files.put(space, folder + file.name, {
        // Read the file into memory, because browsers can send a stream only over HTTP/2 and the relay may
        // use HTTP/1.1.
        body: new Uint8Array(await file.arrayBuffer()),
        ...(file.type ? { content_type: file.type } : {}),
      });
    setResult(chosen.length === 1 ? `Uploaded ${chosen[0]!.name}.` : `Uploaded ${chosen.length} files.`);
    done();
  });
  return (
    <>
      <span role="status" class="soft">
        {result}
      </span>
      <input
        ref={field}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={({ currentTarget }) => {
          void uploading.run([...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
      <button
        type="button"
        class="button solid"
        disabled={uploading.busy}
        onClick={() => field.current?.click()}
      >
        <Icon name="upload" />
        {uploading.busy ? 'Uploading…' : 'Upload'}
      </button>
      <Failure error={uploading.error} />
    </>
  );
}
