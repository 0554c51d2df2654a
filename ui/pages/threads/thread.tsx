import { count } from '../../../src/base/format.ts';
import { navigate, to } from '../../frame/router.ts';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Command, Id } from '../../parts/copy-button.tsx';
import { saveAs } from '../../parts/download.ts';
import { Answer, Empty, Failure } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { When } from '../../parts/time.tsx';
import { useAction, useAsked } from '../../session/asking.ts';
import { hasScope } from '../../session/self.ts';
import { apiKey, needsKey } from '../../session/session.ts';
import { ArtifactsTab } from './artifacts-tab.tsx';
import { EventsTab } from './events-tab.tsx';
import { LedgerTab } from './ledger-tab.tsx';
import { PromptTab } from './prompt-tab.tsx';
import { ShareButton } from './share-button.tsx';
import { StateTab } from './state-tab.tsx';

/** The page of a thread. `shared` is true if it was opened by a read-only link. */
export function ThreadPage({ id, shared = false }: { id: string; shared?: boolean }) {
  const info = useAsked((relay) => relay.threads.get(id), [id], { live: ({ thread }) => thread === id });
  const { value } = info;
  return (
    <>
      <PageHead
        title={value?.name || (value ? 'Unnamed' : 'Thread')}
        above={shared ? undefined : { title: 'Threads', href: to('threads') }}
        actions={value && <Actions id={id} shared={shared} />}
      >
        <Id value={id} what="thread id" />
        {value && (
          <>
            <span>v{value.state_version}</span>
            <When verb="created" at={value.created_at} />
            <When verb="expires" at={value.expires_at} />
            {value.hop_count > 0 && <span>{count(value.hop_count)} hops</span>}
            {shared && <span>read-only</span>}
          </>
        )}
      </PageHead>
      <Answer of={info}>
        {(thread) => (
          <Tabs
            label="Views of the thread"
            tabs={[
              {
                name: 'state',
                title: 'State',
                render: () => <StateTab id={id} newest={thread.state_version} readOnly={shared} />,
              },
              {
                name: 'prompt',
                title: 'What the model sees',
                render: () => <PromptTab id={id} version={thread.state_version} />,
              },
              {
                name: 'artifacts',
                title: 'Artifacts',
                count: thread.artifact_count,
                render: () => <ArtifactsTab id={id} readOnly={shared} />,
              },
              {
                name: 'events',
                title: 'Events',
                count: thread.event_count,
                render: () => <EventsTab id={id} total={thread.event_count} shared={shared} />,
              },
              { name: 'ledger', title: 'Token ledger', render: () => <LedgerTab id={id} /> },
            ]}
          />
        )}
      </Answer>
    </>
  );
}

function Actions({ id, shared }: { id: string; shared: boolean }) {
  const exporting = useAction(async (relay) => {
    const { body, name } = await relay.threads.export(id);
    await saveAs(name, body, 'application/zip');
  });
  const reporting = useAction(async (relay) => {
    const { artifact_ref } = await relay.threads.report(id, { format: 'md' });
    navigate(`${to('threads', id)}?tab=artifacts&artifact=${artifact_ref}`);
  });
  const failed = exporting.error ?? reporting.error;
  return (
    <>
      <button type="button" class="button" disabled={exporting.busy} onClick={() => exporting.run()}>
        {exporting.busy ? 'Exporting…' : 'Export'}
      </button>
      {!shared && (
        <>
          <button
            type="button"
            class="button"
            disabled={reporting.busy}
            title="Generates a report of the thread and stores it as an artifact"
            onClick={() => reporting.run()}
          >
            Report
          </button>
          {hasScope('admin') && <ShareButton id={id} />}
          <ConfirmButton
            label="Delete"
            title="Delete this thread?"
            sure="Delete it"
            danger
            act={(relay) => relay.threads.delete(id)}
            done={() => navigate(to('threads'))}
          >
            <p>
              This deletes the state with all versions, the artifacts and the events. It cannot be undone.
            </p>
            <Command about="To keep a copy first:" line={`relay export ${id}`} />
          </ConfirmButton>
        </>
      )}
      <Failure error={failed} />
    </>
  );
}

/** The page of a share link: one thread, read-only. */
export function SharedThread({ parts: [id] }: { parts: readonly string[] }) {
  if (id === undefined || apiKey.value === null)
    return (
      <Empty title="This link is incomplete.">
        <p>A share link ends with #token=… Use the complete address that you were given.</p>
      </Empty>
    );
  if (needsKey.value)
    return (
      <Empty title="This link no longer works.">
        <p>It has expired or was revoked. Ask the sender for a new link.</p>
      </Empty>
    );
  return <ThreadPage id={id} shared />;
}
