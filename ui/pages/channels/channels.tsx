import { count } from '../../../src/base/format.ts';
import type { ChannelInfo } from '../../../src/contract/channels.ts';
import { to } from '../../frame/router.ts';
import { Command } from '../../parts/copy-button.tsx';
import { isWithin, readParams, TextFilter, TimeFilter } from '../../parts/filters.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { type Column, linkColumn, PagedTable } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { usePages } from '../../session/paging.ts';
import { ChannelPage } from './channel.tsx';

const COLUMNS: readonly Column<ChannelInfo>[] = [
  linkColumn(
    'Name',
    ({ name }) => to('channels', name),
    ({ name }) => name,
  ),
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
  // Join the parts: a name may contain slashes, which some links do not escape.
  const name = parts.join('/');
  return name === '' ? <ChannelList /> : <ChannelPage name={name} key={name} />;
}

function ChannelList() {
  const filters = readParams('q', 'time');
  const [q, time] = filters;
  const lowerQuery = q.toLowerCase();
  const channels = usePages('channels', (relay, page) => relay.channels.list(page), filters, {
    matches: ({ name, last_at }) => name.toLowerCase().includes(lowerQuery) && isWithin(time, last_at),
    live: ({ channel }) => channel !== undefined,
  });
  return (
    <>
      <PageHead title="Channels" />
      <div class="bar">
        <TextFilter label="Name contains" param="q" />
        <TimeFilter />
      </div>
      <PagedTable
        label="Channels"
        what="channel"
        columns={COLUMNS}
        paged={channels}
        keyOf={({ name }) => name}
        filtered={filters.some(Boolean)}
        empty={
          <Empty title="There are no channels yet.">
            <p>A channel is a named stream of messages. The first message creates it.</p>
            <Command line='relay publish builds "main is green"' about="Send a signal:" />
            <Command line="relay push report.md --channel reviews" about="Push a payload and announce it:" />
          </Empty>
        }
      />
    </>
  );
}
