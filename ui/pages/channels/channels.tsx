import { count } from '../../../src/base/format.ts';
import type { ChannelInfo } from '../../../src/contract/channels.ts';
import { to } from '../../frame/router.ts';
import { Command } from '../../parts/copy-button.tsx';
import { isWithin, readMatching, readParams, TextFilter, TimeFilter } from '../../parts/filters.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { type Column, PagedTable } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { useLive } from '../../session/live.ts';
import { usePages } from '../../session/paging.ts';
import { ChannelPage } from './channel.tsx';

const COLUMNS: readonly Column<ChannelInfo>[] = [
  {
    title: 'Name',
    width: 'minmax(0, 1fr)',
    cell: ({ name }) => (
      <a class="row-link one-line" href={to('channels', name)}>
        <ForeignText text={name} max={120} />
      </a>
    ),
  },
  {
    title: 'Groups',
    width: 'minmax(0, 200px)',
    cell: ({ groups }) =>
      groups.length > 0 ? <ForeignText text={groups.join(', ')} max={80} /> : <span class="soft">none</span>,
    wide: true,
  },
  { title: 'Messages', width: '84px', cell: ({ messages }) => count(messages), figure: true },
  { title: 'Latest', width: '92px', cell: ({ last_at }) => <Ago at={last_at} /> },
];

export function Channels({ parts }: { parts: readonly string[] }) {
  // A name may contain slashes, which some links do not escape.
  const name = parts.join('/');
  return name === '' ? <ChannelList /> : <ChannelPage name={name} key={name} />;
}

function ChannelList() {
  const [q, time] = readParams('q', 'time');
  const words = q.toLowerCase();
  const channels = usePages(
    (relay, { after, limit }) =>
      readMatching(
        async (after) => {
          const { channels, next } = await relay.channels.list({ after, limit });
          return { rows: channels, next };
        },
        after,
        ({ name, last_at }) => name.toLowerCase().includes(words) && isWithin(time, last_at),
      ),
    [q, time],
  );
  useLive(
    ({ channel }) => channel !== undefined,
    () => {
      if (channels.skipped === 0 && channels.rows.length <= 200) channels.first();
    },
  );
  return (
    <>
      <PageHead title="Channels" />
      <div class="bar">
        <TextFilter label="Name contains" param="q" />
        <TimeFilter />
      </div>
      <PagedTable
        label="Channels"
        columns={COLUMNS}
        paged={channels}
        keyOf={({ name }) => name}
        empty={
          q !== '' || time !== '' ? (
            <Empty title="No channel matches these filters." />
          ) : (
            <Empty title="There are no channels yet.">
              <p>A channel is a named stream of messages. The first message creates it.</p>
              <Command line='relay publish builds "main is green"' about="Send a signal:" />
              <Command
                line="relay push report.md --channel reviews"
                about="Push a payload and announce it:"
              />
            </Empty>
          )
        }
      />
    </>
  );
}
