import { useState } from 'preact/hooks';
import { plural } from '../../../src/base/format.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field, onSubmit, Select } from '../../parts/filters.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Answer, Failure } from '../../parts/notices.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAction, useAsked } from '../../session/asking.ts';

const DAY_SECONDS = 86_400;

/** Creates links that give read access to this thread only, until they expire or are revoked. */
export function ShareButton({ id }: { id: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="button" onClick={() => setOpen(true)}>
        Share
      </button>
      {open && (
        <Dialog title="Share this thread, read-only" onClose={() => setOpen(false)}>
          <Shares id={id} />
        </Dialog>
      )}
    </>
  );
}

function Shares({ id }: { id: string }) {
  const shares = useAsked((relay) => relay.shares.list({ thread_id: id }), [id]);
  const [days, setDays] = useState(7);
  const [name, setName] = useState('');
  const [link, setLink] = useState<string | null>(null);
  const creating = useAction(async (relay) => {
    const share = await relay.shares.create({
      thread_id: id,
      expires_in: days * DAY_SECONDS,
      ...(name.trim() ? { name: name.trim() } : {}),
    });
    setLink(location.origin + share.path);
    shares.again();
  });
  const revoking = useAction(async (relay, share: string) => {
    await relay.shares.revoke(share);
    shares.again();
  });
  return (
    <div class="dialog-body">
      {link === null ? (
        <form class="form" onSubmit={onSubmit(() => creating.run())}>
          <div class="form-row">
            <Field label="Name (only you see it)" value={name} maxLength={100} set={setName} />
            <Select
              label="Expires"
              value={String(days)}
              set={(value) => setDays(Number(value))}
              options={[1, 7, 30, 90].map((one) => [String(one), `after ${plural(one, 'day')}`])}
            />
          </div>
          <div>
            <button type="submit" class="button solid" disabled={creating.busy}>
              Create link
            </button>
          </div>
        </form>
      ) : (
        <div class="once">
          <p>
            <strong>This link is shown only once.</strong> Anyone who has it can read this thread.
          </p>
          <p class="mono break" data-testid="share-link">
            {link}
          </p>
          <CopyButton text={link} what="link" label="Copy link" />
        </div>
      )}
      <Failure error={creating.error} />
      <Failure error={revoking.error} />
      <Answer of={shares}>
        {({ shares: list }) =>
          list.length > 0 && (
            <ul class="rows" aria-label="Links to this thread">
              {list.map((share) => (
                <li key={share.id}>
                  <span class="agent">
                    <ForeignText text={share.name || 'Unnamed'} max={60} />
                    <span class="soft">
                      {' '}
                      by <ForeignText text={share.created_by} max={40} />, expires{' '}
                      <Ago at={share.expires_at} />
                      {share.last_used_at && (
                        <>
                          , used <Ago at={share.last_used_at} />
                        </>
                      )}
                      {share.key_id === null &&
                        '. Created before version 0.3: revoking its key does not revoke this link.'}
                    </span>
                  </span>
                  <button
                    type="button"
                    class="button danger"
                    disabled={revoking.busy}
                    onClick={() => revoking.run(share.id)}
                  >
                    Revoke
                  </button>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </div>
  );
}
