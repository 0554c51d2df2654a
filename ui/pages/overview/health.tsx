import { Answer } from '../../parts/notices.tsx';
import { useAsked } from '../../session/asking.ts';
import { attention } from '../../session/attention.ts';
import { connectionState } from '../../session/connection.ts';
import { readHealth } from '../../session/health.ts';
import { useEvery } from '../../session/live.ts';

/** Displays whether the relay and its store answer, and the version. */
export function Health() {
  const health = useAsked(() => readHealth(), []);
  const open = attention.value;
  useEvery(15_000, health.again);
  return (
    <section class="panel" aria-labelledby="health">
      <h2 id="health">Health</h2>
      <Answer of={health}>
        {({ healthy, ready, version, note }) => (
          <dl class="facts">
            <dt>Server</dt>
            <dd>
              <span class={healthy ? 'dot ok' : 'dot bad'} aria-hidden="true" />{' '}
              {healthy ? 'running' : 'not answering correctly'}
              {version && <span class="soft"> · version {version}</span>}
            </dd>
            <dt>Store</dt>
            <dd>
              <span class={ready ? 'dot ok' : 'dot bad'} aria-hidden="true" />{' '}
              {ready ? 'accepts writes' : 'does not accept writes: run relay doctor'}
            </dd>
            <dt>This page</dt>
            <dd>
              <span class={`dot ${connectionState.value}`} aria-hidden="true" />{' '}
              {
                {
                  live: 'live',
                  lost: 'connection lost',
                  idle: 'not live: reload to see changes',
                }[connectionState.value]
              }
            </dd>
            {open !== null && (
              <>
                <dt>Attention</dt>
                <dd>
                  <span
                    class={`dot ${open.some(({ tone }) => tone === 'bad') ? 'bad' : open.length > 0 ? 'warn' : 'ok'}`}
                    aria-hidden="true"
                  />{' '}
                  {open.length === 0
                    ? 'nothing is waiting'
                    : `${open.length} ${open.length === 1 ? 'thing needs' : 'things need'} attention`}
                </dd>
              </>
            )}
            {note && (
              <>
                <dt>Note</dt>
                <dd>{note}</dd>
              </>
            )}
          </dl>
        )}
      </Answer>
    </section>
  );
}
