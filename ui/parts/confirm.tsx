import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Relay } from '../../src/contract/relay.ts';
import { useAction } from '../session/asking.ts';
import { Dialog } from './dialog.tsx';
import { Failure } from './notices.tsx';

/** A button for an action that the person must confirm. A dialog says what will happen, and reports failures. */
export function ConfirmButton(o: {
  label: string;
  title: string;
  /** Description of the action that the person confirms. */
  children: ComponentChildren;
  /** Label of the button that confirms. */
  sure: string;
  /** Label of the button that closes the dialog. */
  dismiss?: string;
  act: (relay: Relay) => Promise<unknown>;
  /** Called when the action has succeeded. */
  done?: () => void;
  danger?: boolean;
  disabled?: boolean;
}) {
  const [asking, setAsking] = useState(false);
  const acting = useAction(o.act);
  return (
    <>
      <button
        type="button"
        class={o.danger ? 'button danger' : 'button'}
        disabled={o.disabled}
        onClick={() => setAsking(true)}
      >
        {o.label}
      </button>
      {asking && (
        <Dialog title={o.title} onClose={() => setAsking(false)}>
          <div class="dialog-body">{o.children}</div>
          <Failure error={acting.error} />
          <footer>
            <button type="button" class="button" onClick={() => setAsking(false)}>
              {o.dismiss ?? 'Cancel'}
            </button>
            <button
              type="button"
              class={o.danger ? 'button danger solid' : 'button solid'}
              disabled={acting.busy}
              onClick={async () => {
                if (!(await acting.run())) return;
                setAsking(false);
                o.done?.();
              }}
            >
              {o.sure}
            </button>
          </footer>
        </Dialog>
      )}
    </>
  );
}
