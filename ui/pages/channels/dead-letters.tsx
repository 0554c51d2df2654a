import { useState } from 'preact/hooks';
import type { BuriedMessage } from '../../../src/contract/channels.ts';
import { pointerId, to } from '../../frame/router.ts';
import { BulkBar } from '../../parts/bulk-actions.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { isWithin, readParams, TimeFilter, ValueFilter } from '../../parts/filters.tsx';
import { ForeignJson, ForeignText } from '../../parts/foreign-text.tsx';
import { Answer, Empty, Failure } from '../../parts/notices.tsx';
import { type Column, Table, textColumn, useSelection } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAction, useAsked } from '../../session/asking.ts';

function reasonOf({ dead }: BuriedMessage): string {
  if (!dead) return '';
  return {
    attempts: dead.attempts === 1 ? 'failed once' : `failed ${dead.attempts} times`,
    age: 'nobody took it in time',
    gone: 'its pointer is gone',
  }[dead.reason];
}

const keyOf = ({ seq }: BuriedMessage) => String(seq);

/** Messages that groups could not process. A person can retry or drop them. */
export function DeadLetters({
  channel,
  amount,
  changed,
}: {
  channel: string;
  amount: number;
  changed: () => void;
}) {
  const letters = useAsked((relay) => relay.channels.deadLetters(channel), [channel, amount]);
  const selection = useSelection<BuriedMessage>(({ seq }) => `dead letter ${seq}`);
  const [group, time] = readParams('group', 'time');
  const [result, setResult] = useState('');
  const again = () => {
    letters.again();
    changed();
  };
  const retrying = useAction(async (relay, seq: number) => {
    const { group, task } = await relay.channels.retryDead(channel, seq);
    setResult(task ? `Sent again as task ${task}.` : `Sent again to the group ${group}.`);
    again();
  });
  const columns: readonly Column<BuriedMessage>[] = [
    {
      title: 'Message',
      width: 'minmax(0, 1fr)',
      cell: (letter) => (
        <>
          {letter.url !== undefined ? (
            <a class="mono" href={to('pointers', pointerId(letter.url) ?? '')}>
              {pointerId(letter.url)?.slice(0, 8) ?? 'pointer'}
            </a>
          ) : (
            <ForeignJson value={letter.msg} max={200} />
          )}
          <span class="narrow-line soft small one-line">{reasonOf(letter)}</span>
        </>
      ),
    },
    textColumn('Group', '110px', ({ dead }) => dead?.group ?? ''),
    {
      title: 'Reason',
      width: 'minmax(0, 260px)',
      cell: (letter) => (
        <span title={letter.dead.why}>
          {reasonOf(letter)}
          {letter.dead.why && (
            <span class="soft">
              : <ForeignText text={letter.dead.why} max={160} />
            </span>
          )}
        </span>
      ),
      wide: true,
    },
    { title: 'Since', width: '80px', cell: ({ ts }) => <Ago at={ts} />, wide: true },
    {
      title: 'Actions',
      bare: true,
      width: '150px',
      cell: (letter) => (
        <span class="bar-end">
          <button
            type="button"
            class="button small-button"
            disabled={retrying.busy}
            onClick={() => retrying.run(letter.seq)}
          >
            Retry
          </button>
          <ConfirmButton
            label="Drop"
            title="Drop this dead letter?"
            sure="Drop it"
            danger
            act={(relay) => relay.channels.dropDead(channel, letter.seq)}
            done={() => {
              setResult('Dropped.');
              again();
            }}
          >
            <p>
              No group member will get this message again. The message stays in the channel until it expires.
            </p>
          </ConfirmButton>
        </span>
      ),
    },
  ];
  return (
    <>
      <p role="status" class={result ? 'bar ok-text' : 'unseen'}>
        {result}
      </p>
      <Failure error={retrying.error} />
      <Answer of={letters}>
        {({ letters: list }) =>
          list.length === 0 ? (
            <Empty title="There are no dead letters.">
              <p>
                A message becomes a dead letter when every attempt of a group failed, or when nobody took it
                before it expired. Dead letters also appear on the channel{' '}
                <a href={to('channels', `${channel}.dead`)}>{`${channel}.dead`}</a>.
              </p>
            </Empty>
          ) : (
            <>
              <BulkBar
                selection={selection}
                what="dead letters"
                done={again}
                actions={[
                  {
                    label: 'Retry',
                    about: 'Delivers the messages to their groups again and resets their attempts to 0.',
                    act: (relay, { seq }) => relay.channels.retryDead(channel, seq),
                  },
                  {
                    label: 'Drop',
                    danger: true,
                    about: 'No group member will get these messages again.',
                    act: (relay, { seq }) => relay.channels.dropDead(channel, seq),
                  },
                ]}
              />
              <div class="bar">
                <ValueFilter label="Group" param="group" values={list.map(({ dead }) => dead.group)} />
                <TimeFilter />
              </div>
              <Table
                label="Dead letters, oldest first"
                what="dead letter"
                columns={columns}
                selection={selection}
                rows={list.filter(
                  ({ dead, ts }) => (group === '' || dead.group === group) && isWithin(time, ts),
                )}
                keyOf={keyOf}
                rowHeight={44}
              />
            </>
          )
        }
      </Answer>
    </>
  );
}
