import { count, shellWord } from '../../../src/base/format.ts';
import type { GroupDetail } from '../../../src/contract/channels.ts';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Command } from '../../parts/copy-button.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Empty } from '../../parts/notices.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';

const LEASE_COLUMNS: readonly Column<GroupDetail['leases'][number]>[] = [
  { title: 'Message', width: '90px', cell: ({ seq }) => <span class="mono">{seq}</span> },
  { title: 'Held by', width: 'minmax(0, 1fr)', cell: ({ member }) => <ForeignText text={member} max={60} /> },
  { title: 'Attempt', width: '70px', cell: ({ attempt }) => attempt, figure: true, wide: true },
  { title: 'Lease ends', width: '92px', cell: ({ lease_until }) => <Ago at={lease_until} /> },
];

const WAITING_COLUMNS: readonly Column<GroupDetail['waiting'][number]>[] = [
  { title: 'Message', width: '90px', cell: ({ seq }) => <span class="mono">{seq}</span> },
  { title: 'Attempts', width: '70px', cell: ({ attempt }) => attempt, figure: true },
  {
    title: 'Next try',
    width: '100px',
    cell: ({ retry_at }) => (retry_at === null ? 'now' : <Ago at={retry_at} />),
  },
  {
    title: 'Last error',
    width: 'minmax(0, 1fr)',
    cell: ({ why }) =>
      why === undefined ? <span class="soft">none</span> : <ForeignText text={why} max={200} />,
    wide: true,
  },
];

/** Groups of the channel: waiting messages, members, and their leases. */
export function Groups({
  channel,
  groups,
  again,
}: {
  channel: string;
  groups: readonly GroupDetail[];
  again: () => void;
}) {
  if (groups.length === 0)
    return (
      <Empty title="This channel has no groups.">
        <p>
          Members of a group share the messages of a channel. Each message goes to one member, who holds a
          lease until it acknowledges the message.
        </p>
        <Command line={`relay watch ${shellWord(channel)} --group workers`} about="Join a group:" />
      </Empty>
    );
  return (
    <div class="stack">
      {groups.map((group) => (
        <section key={group.name} class="panel" aria-label={`Group ${group.name}`}>
          <header class="panel-head">
            <ForeignText as="h2" text={group.name} max={80} />
            <ConfirmButton
              label="Remove"
              title="Remove this group?"
              sure="Remove it"
              danger
              act={(relay) => relay.channels.removeGroup(channel, group.name)}
              done={again}
            >
              <p>
                The group loses its unfinished messages: {count(group.backlog)} waiting,{' '}
                {count(group.leases.length)} in progress. They stay in the channel.
              </p>
            </ConfirmButton>
          </header>
          <p class="page-facts">
            <span>
              <strong class={group.backlog > 0 ? 'warn-text' : ''}>{count(group.backlog)}</strong> waiting
            </span>
            <span>
              <strong>{count(group.leases.length)}</strong> in progress
            </span>
            <span>
              {group.members.length === 0 ? (
                'no members connected'
              ) : (
                <>
                  members: <ForeignText text={group.members.map(({ name }) => name).join(', ')} max={200} />
                </>
              )}
            </span>
          </p>
          {group.leases.length > 0 && (
            <Table
              label={`Leases of ${group.name}`}
              columns={LEASE_COLUMNS}
              rows={group.leases}
              keyOf={({ token }) => String(token)}
              rowHeight={34}
            />
          )}
          {group.waiting.length > 0 && (
            <>
              <h3 class="spaced">Waiting</h3>
              <Table
                label={`Waiting messages of ${group.name}`}
                columns={WAITING_COLUMNS}
                rows={group.waiting}
                keyOf={({ seq }) => String(seq)}
                rowHeight={34}
              />
              {group.backlog > group.waiting.length && (
                <p class="table-foot soft">
                  Only the oldest {group.waiting.length} of {count(group.backlog)} waiting messages are
                  listed.
                </p>
              )}
            </>
          )}
        </section>
      ))}
    </div>
  );
}
