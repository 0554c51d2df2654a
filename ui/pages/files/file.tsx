import { useMemo } from 'preact/hooks';
import { bytes } from '../../../src/base/format.ts';
import { decodeUtf8 } from '../../../src/base/utf8.ts';
import type { FileInfo } from '../../../src/contract/files.ts';
import type { Relay } from '../../../src/contract/relay.ts';
import { navigate, query, setParam, to } from '../../frame/router.ts';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { saveAs } from '../../parts/download.ts';
import { Select } from '../../parts/filters.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Icon } from '../../parts/icons.tsx';
import { Answer, Empty, Failure } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Ago, When } from '../../parts/time.tsx';
import { useAction, useAsked } from '../../session/asking.ts';
import { ContentView, readStart } from '../../viewers/content-view.tsx';
import { DiffView } from '../../viewers/diff-view.tsx';

/** A file: its content at any stored version, the difference of two versions, and who wrote each version. */
export function FilePage({ space, path }: { space: string; path: string }) {
  const log = useAsked((relay) => relay.files.log(space, path), [space, path], {
    live: (entry) => entry.space === space && entry.name === path,
  });
  const saving = useAction(async (relay, { version, content_type }: FileInfo) => {
    const { body } = await relay.files.get(space, path, { version });
    await saveAs(path.split('/').at(-1)!, body, content_type ?? undefined);
  });
  const wantedVersion = Number(query.value.get('v'));
  const versions = log.value ?? [];
  const file = versions.find(({ version }) => version === wantedVersion) ?? versions[0];
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  return (
    <>
      <PageHead
        title={path}
        above={{
          title: folder === '' ? space : `${space}/${folder}`,
          href: to('files', space) + (folder === '' ? '' : `?folder=${encodeURIComponent(folder)}`),
        }}
        actions={
          file && (
            <>
              <button type="button" class="button" disabled={saving.busy} onClick={() => saving.run(file)}>
                <Icon name="download" />
                Download
              </button>
              <ConfirmButton
                label="Delete"
                title="Delete this file?"
                sure="Delete it"
                danger
                act={(relay) => relay.files.delete(space, path)}
                done={() => navigate(to('files', space))}
              >
                <p>This deletes the file with all its versions. It cannot be undone.</p>
              </ConfirmButton>
            </>
          )
        }
      >
        {file && (
          <>
            <span>v{file.version}</span>
            <span>{bytes(file.size)}</span>
            <span>
              by <ForeignText text={file.from} max={60} /> <Ago at={file.modified_at} />
            </span>
            <When verb="expires" at={file.expires_at} />
          </>
        )}
      </PageHead>
      <Failure error={saving.error} />
      <Answer of={log}>
        {() =>
          file && (
            <Tabs
              label="Views of the file"
              tabs={[
                { name: 'content', title: 'Content', render: () => <Content file={file} key={file.etag} /> },
                {
                  name: 'versions',
                  title: 'Versions',
                  count: versions.length,
                  render: () => <Versions versions={versions} shown={file} />,
                },
                {
                  name: 'diff',
                  title: 'Diff',
                  render: () => <Difference versions={versions} file={file} key={file.etag} />,
                },
              ]}
            />
          )
        }
      </Answer>
    </>
  );
}

function Content({ file }: { file: FileInfo }) {
  const content = useAsked((relay) => read(relay, file), [file.etag]);
  const about = useMemo(
    () => ({ name: file.path.split('/').at(-1)!, mime: file.content_type ?? '', type: '' }),
    [file.etag],
  );
  return (
    <>
      <h2 class="unseen">Content</h2>
      <Answer of={content}>{(body) => <ContentView body={body} size={file.size} about={about} />}</Answer>
    </>
  );
}

function Versions({ versions, shown: current }: { versions: readonly FileInfo[]; shown: FileInfo }) {
  const columns: readonly Column<FileInfo>[] = [
    {
      title: 'Version',
      width: '60px',
      cell: ({ version }) => (
        <button type="button" class="link mono" onClick={() => setParam('v', String(version))}>
          v{version}
        </button>
      ),
    },
    { title: 'By', width: 'minmax(0, 1fr)', cell: ({ from }) => <ForeignText text={from} max={80} /> },
    { title: 'Size', width: '84px', cell: ({ size }) => bytes(size), figure: true },
    { title: 'Written', width: '92px', cell: ({ modified_at }) => <Ago at={modified_at} /> },
  ];
  return (
    <Table
      label="Versions, newest first"
      columns={columns}
      rows={versions}
      keyOf={({ version }) => String(version)}
      chosen={({ version }) => version === current.version}
      rowHeight={36}
    />
  );
}

/** The difference between the displayed version and an earlier one. */
function Difference({ versions, file }: { versions: readonly FileInfo[]; file: FileInfo }) {
  const earlier = versions.filter(({ version }) => version < file.version);
  const fromVersion = Number(query.value.get('from'));
  const base = earlier.find(({ version }) => version === fromVersion) ?? earlier[0];
  const texts = useAsked(
    async (relay) => (base ? Promise.all([base, file].map((one) => readLines(relay, one))) : null),
    [base?.etag, file.etag],
  );
  if (!base)
    return (
      <Empty title={`There is no version before v${file.version}.`}>
        <p>The relay keeps the last 20 versions of a file.</p>
      </Empty>
    );
  return (
    <>
      <div class="bar">
        <Select
          label="Compare with"
          value={String(base.version)}
          set={(version) => setParam('from', version)}
          options={earlier.map(({ version, from }) => [String(version), `v${version} by ${from}`])}
        />
      </div>
      <Answer of={texts}>
        {(found) => {
          const [from, until] = found ?? [];
          return from && until ? (
            <DiffView from={from} to={until} label={`From v${base.version} to v${file.version}`} />
          ) : (
            <Empty title="Only texts can be compared." />
          );
        }}
      </Answer>
    </>
  );
}

const read = (relay: Relay, { space, path, version, size }: FileInfo) =>
  readStart(size, (range) => relay.files.get(space, path, { version, ...(range ? { range } : {}) }));

async function readLines(relay: Relay, file: FileInfo): Promise<readonly string[] | null> {
  return file.text ? (decodeUtf8(await read(relay, file))?.split('\n') ?? null) : null;
}
