import { plural } from '../../../src/base/format.ts';
import { to } from '../../frame/router.ts';
import { Answer } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { When } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { hasScope } from '../../session/self.ts';
import { DeadLetters } from './dead-letters.tsx';
import { Groups } from './groups.tsx';
import { Publish } from './publish.tsx';
import { Tail } from './tail.tsx';

/** One channel: its messages, groups and dead letters, and a form to publish. */
export function ChannelPage({ name }: { name: string }) {
  const detail = useAsked((relay) => relay.channels.inspect(name), [name], {
    live: ({ channel }) => channel === name,
    // Request the details regularly, because a lease expires without an event.
    every: 10_000,
  });
  const { value } = detail;
  return (
    <>
      <PageHead title={name} above={{ title: 'Channels', href: to('channels') }}>
        {value && (
          <>
            <span>{plural(value.messages, 'message')} stored</span>
            {value.messages > 0 && (
              <>
                <When verb="last" at={value.last_at} />
                <span>
                  sequence {value.first_seq} to {value.last_seq}
                </span>
              </>
            )}
          </>
        )}
      </PageHead>
      <Answer of={detail}>
        {({ groups, dead }) => (
          <Tabs
            label="Views of the channel"
            tabs={[
              { name: 'tail', title: 'Messages', render: () => <Tail channel={name} /> },
              {
                name: 'groups',
                title: 'Groups',
                count: groups.length,
                render: () => <Groups channel={name} groups={groups} again={detail.again} />,
              },
              {
                name: 'dead',
                title: 'Dead letters',
                count: dead,
                render: () => <DeadLetters channel={name} amount={dead} changed={detail.again} />,
              },
              hasScope('push') && {
                name: 'publish',
                title: 'Publish',
                render: () => <Publish channel={name} />,
              },
            ]}
          />
        )}
      </Answer>
    </>
  );
}
