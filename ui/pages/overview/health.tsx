import type { ComponentChildren } from 'preact';
import { plural } from '../../../src/base/format.ts';
import { Answer } from '../../parts/notices.tsx';
import { Facts } from '../../parts/page-head.tsx';
import { useAsked } from '../../session/asking.ts';
import { attention } from '../../session/attention.ts';
import { readHealth } from '../../session/health.ts';
import { connectionState } from '../../session/session.ts';

/** Displays whether the relay and its store answer, and the version of the relay. */
export function Health() {
  const health = useAsked(() => readHealth(), [], { every: 15_000 });
  const open = attention.value;
  const connection = connectionState.value;
  return (
    <section class="panel" aria-labelledby="health">
      <h2 id="health">Health</h2>
      <Answer of={health}>
        {({ healthy, ready, version, note }) => (
          <Facts
            rows={[
              [
                'Server',
                <State tone={healthy ? 'ok' : 'bad'}>
                  {healthy ? 'running' : 'not answering correctly'}
                  {version && <span class="soft"> · version {version}</span>}
                </State>,
              ],
              [
                'Store',
                <State tone={ready ? 'ok' : 'bad'}>
                  {ready ? 'accepts writes' : 'does not accept writes: run relay doctor'}
                </State>,
              ],
              [
                'This page',
                <State tone={connection}>
                  {
                    { live: 'live', lost: 'connection lost', idle: 'not live: reload to see changes' }[
                      connection
                    ]
                  }
                </State>,
              ],
              open !== null && [
                'Attention',
                <State
                  tone={open.some(({ tone }) => tone === 'bad') ? 'bad' : open.length > 0 ? 'warn' : 'ok'}
                >
                  {open.length === 0
                    ? 'nothing is waiting'
                    : `${plural(open.length, 'thing needs', 'things need')} attention`}
                </State>,
              ],
              note && ['Note', note],
            ]}
          />
        )}
      </Answer>
    </section>
  );
}

function State({ tone, children }: { tone: string; children: ComponentChildren }) {
  return (
    <>
      <span class={`dot ${tone}`} aria-hidden="true" /> {children}
    </>
  );
}
