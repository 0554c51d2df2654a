import { useEffect, useRef, useState } from 'preact/hooks';
import type { ThreadEvent } from '../../../src/contract/threads.ts';
import { query, setParam } from '../../frame/router.ts';
import { isWithin, readParams, TimeFilter, ValueFilter } from '../../parts/filters.tsx';
import { ForeignJson, ForeignText } from '../../parts/foreign-text.tsx';
import { Empty, Failure, Pending } from '../../parts/notices.tsx';
import { type Column, Table, textColumn } from '../../parts/table.tsx';
import { Clock } from '../../parts/time.tsx';
import { useLive } from '../../session/live.ts';
import { relay } from '../../session/session.ts';
import { JsonView } from '../../viewers/json-view.tsx';

/**
 * Maximum number of events in memory. If the person loads older events, the newest events are dropped. If new events
 * arrive, the oldest are dropped.
 */
const MAX_EVENTS = 1_000;
const PAGE_EVENTS = 200;

const authorOf = ({ payload: { by } }: ThreadEvent) => (typeof by === 'string' ? by : 'relay');

/** Events of the thread, newest first, updated live. */
export function EventsTab({ id, total, shared }: { id: string; total: number; shared: boolean }) {
  const { events, error, pending, older } = useEvents(id, total, shared);
  const [type, by, time] = readParams('type', 'by', 'time');
  const chosen = query.value.get('event');
  const open = events.find((event) => event.id === chosen);
  const rows = events.filter(
    (event) =>
      (type === '' || event.type === type) &&
      (by === '' || authorOf(event) === by) &&
      isWithin(time, event.timestamp),
  );
  const columns: readonly Column<ThreadEvent>[] = [
    { title: 'When', width: '110px', cell: ({ timestamp }) => <Clock at={timestamp} /> },
    {
      title: 'Type',
      width: 'minmax(110px, 220px)',
      cell: (event) => (
        <button
          type="button"
          class="link row-link"
          onClick={() => setParam('event', event.id === chosen ? null : event.id)}
        >
          <ForeignText text={event.type} max={60} />
        </button>
      ),
    },
    textColumn('By', '100px', authorOf),
    {
      title: 'Payload',
      width: 'minmax(0, 1fr)',
      cell: ({ payload: { by: _, ...payload } }) => (
        <span class="soft mono">
          <ForeignJson value={payload} max={240} />
        </span>
      ),
      wide: true,
    },
    {
      title: 'Id',
      width: '64px',
      cell: (event) => <span class="mono">{event.id}</span>,
      figure: true,
      wide: true,
    },
  ];
  if (error !== undefined && events.length === 0) return <Failure error={error} />;
  if (events.length === 0) return pending ? <Pending /> : <Empty title="This thread has no events." />;
  return (
    <>
      <div class="bar">
        <ValueFilter label="Type" param="type" all="all" values={events.map((event) => event.type)} />
        <ValueFilter label="By" param="by" all="anyone" values={events.map(authorOf)} />
        <TimeFilter />
        {older && (
          <button type="button" class="button align-end" onClick={older}>
            Load older events
          </button>
        )}
      </div>
      {open && (
        <section class="panel" aria-label={`Event ${open.id}`}>
          <JsonView value={open} label={`Event ${open.id}`} />
        </section>
      )}
      <Failure error={error} />
      <Table
        label="Events, newest first"
        columns={columns}
        rows={rows}
        keyOf={(event) => event.id}
        rowHeight={34}
      />
    </>
  );
}

/**
 * Loads the newest events and follows new ones. The ids of events are consecutive numbers, so the newest
 * page can be requested directly.
 */
function useEvents(id: string, total: number, shared: boolean) {
  const [events, setEvents] = useState<readonly ThreadEvent[]>([]);
  const [error, setError] = useState<unknown>();
  const [pending, setPending] = useState(true);
  const last = useRef<string | undefined>(undefined);
  const busy = useRef(false);

  const add = (more: readonly ThreadEvent[]) => {
    if (more.length === 0) return;
    last.current = more.at(-1)!.id;
    setEvents((before) => [...more.toReversed(), ...before].slice(0, MAX_EVENTS));
  };
  const catchUp = async () => {
    if (busy.current) return;
    busy.current = true;
    try {
      for (;;) {
        const { events, next } = await relay.value.threads.events(id, {
          after: last.current,
          limit: PAGE_EVENTS,
        });
        add(events);
        if (next === undefined) break;
      }
      setError(undefined);
    } catch (failure) {
      setError(failure);
    } finally {
      busy.current = false;
      setPending(false);
    }
  };
  useEffect(() => {
    last.current = total > PAGE_EVENTS ? String(total - PAGE_EVENTS) : undefined;
    setEvents([]);
    if (!shared) {
      void catchUp();
      return;
    }
    // With a share link, the activity of the tenant is not visible. So follow only this thread.
    const closing = new AbortController();
    void (async () => {
      try {
        await catchUp();
        for await (const event of relay.value.threads.watch(id, {
          after: last.current,
          signal: closing.signal,
        }))
          add([event]);
      } catch (failure) {
        if (!closing.signal.aborted) setError(failure);
      }
    })();
    return () => closing.abort();
  }, [id, shared]);
  useLive(({ thread }) => thread === id && !shared, catchUp);

  const first = Number(events.at(-1)?.id ?? 1);
  const older =
    Number.isInteger(first) && first > 1
      ? async () => {
          try {
            const after = Math.max(0, first - 1 - PAGE_EVENTS);
            const page = await relay.value.threads.events(id, {
              ...(after > 0 ? { after: String(after) } : {}),
              limit: Math.min(PAGE_EVENTS, first - 1),
            });
            setEvents((before) => [...before, ...page.events.toReversed()].slice(-MAX_EVENTS));
          } catch (failure) {
            setError(failure);
          }
        }
      : null;
  return { events, error, pending, older };
}
