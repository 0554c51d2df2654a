import { useState } from 'preact/hooks';
import { toRelayError } from '../../src/base/errors.ts';
import type { Relay } from '../../src/contract/relay.ts';
import { relay } from '../session/session.ts';
import { ConfirmButton } from './confirm.tsx';
import type { Selection } from './table.tsx';

export interface BulkAction<T> {
  /** Label of the button, such as `Delete`. */
  readonly label: string;
  /** Description of the action that the person confirms. */
  readonly about: string;
  readonly danger?: boolean;
  /** Returns whether the action applies to a row. All other selected rows are skipped. */
  readonly applies?: (row: T) => boolean;
  readonly act: (relay: Relay, row: T) => Promise<unknown>;
}

/**
 * Bar above a list with the actions for selected rows. If an action fails for one row, it still runs for the
 * other rows.
 */
export function BulkBar<T>(o: {
  selection: Selection<T>;
  what: string;
  actions: readonly BulkAction<T>[];
  done: () => void;
}) {
  const { rows } = o.selection;
  const [result, setResult] = useState('');
  const run = async ({ label, act }: BulkAction<T>, chosen: readonly T[]) => {
    const failures: unknown[] = [];
    for (const row of chosen) await act(relay.value, row).catch((error) => failures.push(error));
    const fine = chosen.length - failures.length;
    const failed =
      failures.length > 0 ? ` ${failures.length} failed: ${toRelayError(failures[0]).message}` : '';
    setResult(`${label}: ${fine} done.${failed}`);
    o.selection.clear();
    o.done();
  };
  return (
    <>
      <p role="status" class={result && rows.size === 0 ? 'bar soft' : 'unseen'}>
        {result}
      </p>
      {rows.size > 0 && (
        <div class="bulk" role="group" aria-label={`Selected ${o.what}`}>
          <strong>{rows.size} selected</strong>
          {o.actions.map((action) => {
            const chosen = [...rows.values()].filter(action.applies ?? (() => true));
            return (
              <ConfirmButton
                key={action.label}
                label={chosen.length === rows.size ? action.label : `${action.label} ${chosen.length}`}
                title={`${action.label} ${chosen.length} ${o.what}?`}
                sure={action.label}
                dismiss="Back"
                danger={action.danger ?? false}
                disabled={chosen.length === 0}
                act={() => run(action, chosen)}
              >
                <p>{action.about}</p>
              </ConfirmButton>
            );
          })}
          <button type="button" class="link" onClick={o.selection.clear}>
            Clear
          </button>
        </div>
      )}
    </>
  );
}
