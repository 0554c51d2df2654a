import { useState } from 'preact/hooks';
import { DEFAULT_SCOPES, SCOPES, type Scope } from '../../../src/contract/caller.ts';
import type { CreatedKey } from '../../../src/contract/keys.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field, onSubmit, Select } from '../../parts/filters.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Failure } from '../../parts/notices.tsx';
import { useAction } from '../../session/asking.ts';

const SCOPE_MEANINGS: { readonly [S in Scope]: string } = {
  push: 'push payloads, send signals',
  pull: 'pull payloads',
  subscribe: 'receive channel messages',
  threads: 'read and change threads',
  files: 'read and change files',
  tasks: 'read and manage tasks, list agents',
  answer: 'answer questions to people',
  admin: 'create and revoke keys',
};

const DAY_SECONDS = 86_400;

export function CreateKey({ onCreated }: { onCreated: (key: CreatedKey) => void }) {
  const [open, setOpen] = useState(false);
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState(DEFAULT_SCOPES);
  const [prefix, setPrefix] = useState('');
  const [days, setDays] = useState(0);
  const creating = useAction(async (relay) => {
    const key = await relay.keys.create({
      name: name.trim(),
      scopes,
      ...(prefix.trim() ? { channel_prefix: prefix.trim() } : {}),
      ...(days > 0 ? { expires_in: days * DAY_SECONDS } : {}),
    });
    setOpen(false);
    setName('');
    onCreated(key);
  });
  const toggleScope = (scope: Scope, on: boolean) =>
    setScopes(SCOPES.filter((one) => (one === scope ? on : scopes.includes(one))));
  return (
    <>
      <button type="button" class="button solid" onClick={() => setOpen(true)}>
        Create key
      </button>
      {open && (
        <Dialog title="Create key" onClose={() => setOpen(false)}>
          <form class="dialog-body" onSubmit={onSubmit(() => creating.run())}>
            <Field
              label="Name (others see it as the sender)"
              required
              maxLength={100}
              value={name}
              placeholder="laptop"
              set={setName}
            />
            <fieldset>
              <legend class="soft small">Scopes</legend>
              {SCOPES.map((scope) => (
                <label key={scope} class="check">
                  <input
                    type="checkbox"
                    checked={scopes.includes(scope)}
                    onChange={(event) => toggleScope(scope, event.currentTarget.checked)}
                  />
                  <span>
                    {scope} <span class="soft">{SCOPE_MEANINGS[scope]}</span>
                  </span>
                </label>
              ))}
            </fieldset>
            <div class="form-row">
              <Field label="Only channels starting with" value={prefix} placeholder="any" set={setPrefix} />
              <Select
                label="Expires"
                value={String(days)}
                set={(value) => setDays(Number(value))}
                options={[0, 7, 30, 90, 365].map((one) => [String(one), one ? `after ${one} days` : 'never'])}
              />
            </div>
            <Failure error={creating.error} />
            <div class="bar-end">
              <button type="button" class="button" onClick={() => setOpen(false)}>
                Cancel
              </button>
              <button
                type="submit"
                class="button solid"
                disabled={creating.busy || scopes.length === 0 || name.trim() === ''}
              >
                Create
              </button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  );
}

/** Displays a new key. The relay stores only its hash, so it cannot display the key again. */
export function NewKey({ newKey, onClose }: { newKey: CreatedKey; onClose: () => void }) {
  return (
    <div class="once" role="status">
      <p>
        <strong>
          The key “<ForeignText text={newKey.name} max={60} />” is shown only once.
        </strong>{' '}
        Copy it now: the relay stores only its hash. If you lose the key, create another one.
      </p>
      <p class="mono break" id="new-key">
        {newKey.key}
      </p>
      <p class="bar">
        <CopyButton text={newKey.key} what="key" label="Copy key" />
        <button type="button" class="button" onClick={onClose}>
          Done
        </button>
      </p>
    </div>
  );
}
