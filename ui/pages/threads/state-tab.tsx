import { useEffect, useMemo, useState } from 'preact/hooks';
import { count } from '../../../src/base/format.ts';
import type { State } from '../../../src/contract/threads.ts';
import { query, setParam } from '../../frame/router.ts';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Command } from '../../parts/copy-button.tsx';
import { Switch } from '../../parts/filters.tsx';
import { Answer, Empty } from '../../parts/notices.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { DiffView } from '../../viewers/diff-view.tsx';
import { JsonView } from '../../viewers/json-view.tsx';
import { BlamedState } from './blamed-state.tsx';
import { stateText } from './state-lines.ts';

const VIEWS = { read: 'Read', diff: 'Diff', json: 'JSON' };

/** The state of a thread at any version, as lines with authors, as a diff, or as raw JSON. */
export function StateTab({ id, newest, readOnly }: { id: string; newest: number; readOnly: boolean }) {
  const requestedVersion = Number(query.value.get('v')) || newest;
  const at = Math.min(Math.max(1, requestedVersion), newest);
  const debounced = useDebounced(at);
  const wantedView = query.value.get('view') ?? '';
  const view = Object.hasOwn(VIEWS, wantedView) ? (wantedView as keyof typeof VIEWS) : 'read';
  const state = useAsked(
    (relay) => relay.threads.state(id, { at: debounced, counted: false }),
    [id, debounced],
  );
  const choose = (version: number) => setParam('v', version >= newest ? null : String(version));
  return (
    <div class="state-tab">
      <VersionSlider at={at} newest={newest} onChange={choose} />
      <div class="bar spread">
        <Switch
          label="View of the state"
          value={view}
          set={(name) => setParam('view', name === 'read' ? null : name)}
          options={VIEWS}
        />
        <span class="bar-end">
          {state.value && (
            <span class="soft">
              v{state.value.version}, <Ago at={state.value.updated_at} />
            </span>
          )}
          {!readOnly && at < newest && (
            <ConfirmButton
              label={`Revert to v${at}`}
              title={`Revert the state to v${at}?`}
              sure="Revert"
              act={(relay) => relay.threads.revert(id, { to: at, if_match: newest })}
              done={() => setParam('v', null)}
            >
              <p>
                This creates v{newest + 1} with the content of v{at}. The history stays complete, so you can
                also go back to v{newest}.
              </p>
            </ConfirmButton>
          )}
        </span>
      </div>
      <Answer of={state}>
        {(value) =>
          view === 'json' ? (
            <JsonView value={value} label={`State at v${value.version}`} />
          ) : view === 'diff' ? (
            <StateDiff id={id} state={value} newest={newest} />
          ) : isEmpty(value) ? (
            <Empty title={`The state is empty at v${value.version}.`}>
              <p>Agents add facts, decisions, questions and plans with JSON Patch.</p>
              <Command
                line={`relay state patch --thread ${id} --json '[{"op":"add","path":"/facts/-","value":{"id":"f1","key":"goal","value":"ship it"}}]'`}
                about="Add the first fact:"
              />
            </Empty>
          ) : (
            <BlamedState id={id} state={value} />
          )
        }
      </Answer>
    </div>
  );
}

/** Selects a version by dragging, arrow keys or number. */
function VersionSlider({
  at,
  newest,
  onChange,
}: {
  at: number;
  newest: number;
  onChange: (version: number) => void;
}) {
  if (newest <= 1) return <p class="soft bar">The state has only one version so far.</p>;
  return (
    <div class="slider" role="group" aria-label="Version">
      <button type="button" class="button" disabled={at <= 1} onClick={() => onChange(at - 1)}>
        Older
      </button>
      <input
        type="range"
        min={1}
        max={newest}
        value={at}
        aria-label="Version of the state"
        aria-valuetext={`version ${at} of ${newest}`}
        onInput={(event) => onChange(Number(event.currentTarget.value))}
      />
      <label class="inline-field">
        <span class="unseen">Version number</span>
        <span aria-hidden="true">v</span>
        <input
          type="number"
          min={1}
          max={newest}
          value={at}
          onChange={(event) => onChange(Number(event.currentTarget.value))}
        />
      </label>
      <span class="soft">of {count(newest)}</span>
      <button type="button" class="button" disabled={at >= newest} onClick={() => onChange(at + 1)}>
        Newer
      </button>
    </div>
  );
}

function isEmpty(state: State): boolean {
  return stateText(state).length === 0;
}

/** The difference between this version and another one, by default the previous one. */
function StateDiff({ id, state, newest }: { id: string; state: State; newest: number }) {
  const chosen = Number(query.value.get('from'));
  const from = chosen >= 1 && chosen <= newest ? chosen : Math.max(1, state.version - 1);
  const debounced = useDebounced(from);
  const before = useAsked(
    (relay) => relay.threads.state(id, { at: debounced, counted: false }),
    [id, debounced],
  );
  const after = useMemo(() => stateText(state), [state]);
  return (
    <>
      <div class="bar">
        <label class="inline-field">
          <span>Compare with version</span>
          <input
            type="number"
            min={1}
            max={newest}
            value={from}
            onInput={(event) => setParam('from', event.currentTarget.value)}
          />
        </label>
        {chosen > 0 && (
          <button type="button" class="link" onClick={() => setParam('from', null)}>
            previous version
          </button>
        )}
      </div>
      <Answer of={before}>
        {(value) => (
          <DiffView
            from={stateText(value)}
            to={after}
            label={`From v${value.version} to v${state.version}`}
          />
        )}
      </Answer>
    </>
  );
}

/**
 * Returns `value` after it has not changed for `ms` milliseconds. So a slider that is dragged does not
 * request every version that it passes.
 */
function useDebounced<T>(value: T, ms = 120): T {
  const [debounced, setDebounced] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), ms);
    return () => clearTimeout(timer);
  }, [value]);
  return debounced;
}
