import type { PipelineRun, StepInstance } from '../../../src/contract/threads.ts';
import { toneOf } from '../../parts/badge.tsx';
import { formatDuration } from '../../parts/time.tsx';
import { useVirtualRows } from '../../parts/virtual-rows.tsx';
import { revealHidden } from '../../viewers/reveal-hidden.ts';

const ROW_HEIGHT = 28;

interface Props {
  readonly run: PipelineRun;
  readonly chosen: string | null;
  readonly onChoose: (step: string) => void;
}

/** Each instance of a step as a bar from start to end. */
export function Waterfall({ run, chosen, onChoose }: Props) {
  const begin = Date.parse(run.started_at);
  const ends = run.instances.map((one) => endOf(one)).filter((at) => at !== null);
  const end = run.finished_at ? Date.parse(run.finished_at) : Math.max(Date.now(), ...ends);
  const span = Math.max(end - begin, 1);
  const virtual = useVirtualRows(run.instances.length, ROW_HEIGHT);
  return (
    <>
      <div class="waterfall-scale soft small" aria-hidden="true">
        <div>
          <span>0</span>
          <span class="waterfall-middle">{formatDuration(span / 2)}</span>
          <span>{formatDuration(span)}</span>
        </div>
      </div>
      <div
        class="waterfall"
        ref={virtual.scroller}
        tabIndex={0}
        role="region"
        aria-label="When each step ran"
      >
        <div class="text-space" style={{ height: `${virtual.height}px` }}>
          {virtual.items.map(({ index, start }) => {
            const one = run.instances[index];
            if (!one) return null;
            const from = one.started_at ? Date.parse(one.started_at) : null;
            const until = endOf(one) ?? Date.now();
            const took = one.duration_ms ?? (from === null ? null : until - from);
            return (
              <button
                key={one.step}
                type="button"
                class={one.step === chosen ? 'waterfall-row chosen' : 'waterfall-row'}
                style={{ transform: `translateY(${start}px)` }}
                aria-pressed={one.step === chosen}
                onClick={() => onChoose(one.step)}
              >
                <span class="one-line">{revealHidden(one.step)}</span>
                <span class="unseen">{one.status}</span>
                <span class="waterfall-track">
                  {from !== null && (
                    <span
                      class={`waterfall-bar ${toneOf(one.status)}`}
                      style={{
                        left: `${((from - begin) / span) * 100}%`,
                        width: `max(3px, ${((until - from) / span) * 100}%)`,
                      }}
                    />
                  )}
                </span>
                <span class="figure soft small">
                  {one.cached ? 'cached' : took === null ? one.status : formatDuration(took)}
                </span>
              </button>
            );
          })}
        </div>
      </div>
    </>
  );
}

function endOf({ started_at, finished_at, duration_ms }: StepInstance): number | null {
  if (finished_at) return Date.parse(finished_at);
  return started_at && duration_ms !== null ? Date.parse(started_at) + duration_ms : null;
}
