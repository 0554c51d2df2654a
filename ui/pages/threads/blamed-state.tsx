import { useMemo } from 'preact/hooks';
import type { BlameLine, State } from '../../../src/contract/threads.ts';
import { setParam, to } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Failure } from '../../parts/notices.tsx';
import { Ago } from '../../parts/time.tsx';
import { VirtualList } from '../../parts/virtual-rows.tsx';
import { useAsked } from '../../session/asking.ts';
import { type StateLine, stateSections } from './state-lines.ts';

type Row = { readonly title: string; readonly amount: number } | StateLine;

/** The state as lines. Each line has the version, author and time of its last change. */
export function BlamedState({ id, state }: { id: string; state: State }) {
  const blame = useAsked((relay) => relay.threads.blame(id, { at: state.version }), [id, state.version]);
  const blameByPath = useMemo(
    () => new Map((blame.value?.lines ?? []).map((line) => [line.path, line])),
    [blame.value],
  );
  const rows = useMemo<Row[]>(
    () => stateSections(state).flatMap(({ title, lines }) => [{ title, amount: lines.length }, ...lines]),
    [state],
  );
  return (
    <>
      <Failure error={blame.error} again={blame.again} />
      <VirtualList
        label={`State at v${state.version}`}
        class="blamed"
        rows={rows}
        rowHeight={34}
        rowClass="blamed-row"
      >
        {(row) =>
          'title' in row ? (
            <h2 class="blamed-title">
              {row.title}
              <span class="count">{row.amount}</span>
            </h2>
          ) : (
            <Line id={id} line={row} blame={blameByPath.get(row.path)} />
          )
        }
      </VirtualList>
    </>
  );
}

const STATUSES = /^\/(?:plan|open_questions|constraints|artifacts)\//;

function Line({ id, line, blame }: { id: string; line: StateLine; blame: BlameLine | undefined }) {
  return (
    <div class="state-line">
      <p class="state-text">
        {line.lead !== null &&
          (STATUSES.test(line.path) ? (
            <Badge word={line.lead}>
              <ForeignText text={line.lead} max={40} />
            </Badge>
          ) : (
            <ForeignText as="span" class="state-lead" text={line.lead} max={80} />
          ))}
        <ForeignText as="span" class="break" text={line.text} max={4_000} />
      </p>
      <p class="state-blame">
        {blame ? (
          <>
            <button
              type="button"
              class="link mono"
              title={`Go to version ${blame.version}, which wrote this line`}
              onClick={() => setParam('v', String(blame.version))}
            >
              v{blame.version}
            </button>
            <ForeignText as="span" text={blame.by ?? line.foot ?? 'unknown'} max={40} />
            <Ago at={blame.at} />
            {blame.how !== 'patch' && <span>{blame.how}</span>}
            {blame.from && <Origin id={id} from={blame.from} />}
          </>
        ) : (
          line.foot !== null && <ForeignText text={line.foot} max={80} />
        )}
      </p>
    </div>
  );
}

/** Link to the origin of a line: an earlier version, or an artifact. */
function Origin({ id, from }: { id: string; from: string }) {
  if (/^v\d+$/.test(from))
    return (
      <button type="button" class="link mono" onClick={() => setParam('v', from.slice(1))}>
        from {from}
      </button>
    );
  return (
    <a
      class="mono"
      href={`${to('threads', id)}?tab=artifacts&artifact=${encodeURIComponent(from)}`}
      title={from}
    >
      {from.slice(0, 8)}
    </a>
  );
}
