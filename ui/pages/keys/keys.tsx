import { useState } from 'preact/hooks';
import type { CreatedKey, KeyInfo } from '../../../src/contract/keys.ts';
import { Badge } from '../../parts/badge.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Command, Id } from '../../parts/copy-button.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Answer, Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { hasScope, self } from '../../session/self.ts';
import { CreateKey, NewKey } from './create-key.tsx';
import { Usage } from './usage.tsx';

/** The page of API keys and usage. */
export function Keys() {
  return (
    <>
      <PageHead title="Keys and usage" />
      <Tabs
        label="Keys and usage"
        tabs={[
          hasScope('admin') && { name: 'keys', title: 'Keys', render: () => <KeyList /> },
          { name: 'usage', title: 'Usage', render: () => <Usage /> },
        ]}
      />
    </>
  );
}

/** Time in seconds for which a rotated key still works, so that its holder can switch to the new key. */
const GRACE_SECONDS = 3_600;

/** Displays the scopes and channels of a key. */
function KeyScopes({ scopes, channel_prefix }: Pick<KeyInfo, 'scopes' | 'channel_prefix'>) {
  return (
    <span title={scopes.join(', ')}>
      {scopes.join(', ')}
      {channel_prefix !== null && (
        <span class="soft">
          {' '}
          on <ForeignText text={`${channel_prefix}…`} max={40} />
        </span>
      )}
    </span>
  );
}

/** Lists the keys of the tenant, without their secrets. */
function KeyList() {
  const [all, setAll] = useState(false);
  const [newKey, setNewKey] = useState<CreatedKey | null>(null);
  const keys = useAsked((relay) => relay.keys.list({ all }), [all], {
    live: ({ kind }) => kind.startsWith('key.'),
  });
  const columns: readonly Column<KeyInfo>[] = [
    {
      title: 'Name',
      width: 'minmax(0, 1fr)',
      cell: ({ name, scopes, channel_prefix, revoked_at, expires_at }) => (
        <>
          <ForeignText as="strong" text={name} max={60} />{' '}
          {revoked_at ? (
            <Badge word="revoked" />
          ) : (
            expires_at && (
              <span class="soft small">
                expires <Ago at={expires_at} />
              </span>
            )
          )}
          <span class="narrow-line soft small one-line">
            <KeyScopes scopes={scopes} channel_prefix={channel_prefix} />
          </span>
        </>
      ),
    },
    { title: 'Id', width: '116px', cell: ({ id }) => <Id value={id} what="key id" />, wide: true },
    {
      title: 'Scopes',
      width: 'minmax(0, 1.1fr)',
      cell: KeyScopes,
      wide: true,
    },
    { title: 'Last used', width: '84px', cell: ({ last_used_at }) => <Ago at={last_used_at} />, wide: true },
    {
      title: 'Actions',
      bare: true,
      width: '160px',
      cell: (key) =>
        key.revoked_at === null && (
          <span class="bar-end">
            <ConfirmButton
              label="Rotate"
              title={`Rotate “${key.name}”?`}
              sure="Rotate it"
              act={async (relay) => setNewKey(await relay.keys.rotate(key.id, { grace: GRACE_SECONDS }))}
              done={keys.again}
            >
              <p>
                This creates a new key with the same name and scopes, and shows it once. The old key works for
                one more hour.
              </p>
            </ConfirmButton>
            <ConfirmButton
              label="Revoke"
              title={`Revoke “${key.name}”?`}
              sure="Revoke it"
              danger
              act={(relay) => relay.keys.revoke(key.id)}
              done={keys.again}
            >
              <p>The key and the share links created with it stop working at once. This cannot be undone.</p>
              {self.value?.key_id === key.id && <p class="warning">You are signed in with this key.</p>}
            </ConfirmButton>
          </span>
        ),
    },
  ];
  return (
    <>
      {newKey && <NewKey newKey={newKey} onClose={() => setNewKey(null)} />}
      <div class="bar spread">
        <label class="check">
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} />
          <span>Show keys revoked in the last 30 days</span>
        </label>
        <CreateKey
          onCreated={(key) => {
            setNewKey(key);
            keys.again();
          }}
        />
      </div>
      <Answer of={keys}>
        {(list) =>
          list.length === 0 ? (
            <Empty title="There are no keys yet.">
              <p>On this machine you need no key. Other machines need one to use this relay.</p>
              <Command line="relay keys create laptop" about="Create a key:" />
              <Command line="relay up --host 0.0.0.0 --auth" about="Accept other machines, with keys:" />
            </Empty>
          ) : (
            <Table
              label="Keys, newest first"
              columns={columns}
              rows={list}
              keyOf={({ id }) => id}
              rowHeight={46}
            />
          )
        }
      </Answer>
    </>
  );
}
