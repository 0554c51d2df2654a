import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { count, shellWord } from '../../../src/base/format.ts';
import type { Message, Since } from '../../../src/contract/channels.ts';
import { pointerId, to } from '../../frame/router.ts';
import { Command } from '../../parts/copy-button.tsx';
import {
  Field,
  onSubmit,
  readParams,
  Select,
  SelectFilter,
  TextFilter,
  ValueFilter,
} from '../../parts/filters.tsx';
import { ForeignJson, ForeignText } from '../../parts/foreign-text.tsx';
import { Icon } from '../../parts/icons.tsx';
import { Empty, Failure } from '../../parts/notices.tsx';
import { type Column, Table, textColumn } from '../../parts/table.tsx';
import { Clock } from '../../parts/time.tsx';
import { relay } from '../../session/session.ts';
import { JsonView } from '../../viewers/json-view.tsx';

/** Maximum number of messages in memory. If there are more, the oldest ones are dropped. */
export const MAX_MESSAGES = 1_000;
/** Minimum interval in ms between two redraws, no matter how many messages arrive. */
const REDRAW_MS = 200;

const RECENT = 200;
/** Positions at which the tail can start, with their labels. */
const STARTS = {
  recent: `last ${RECENT} messages`,
  all: 'all stored messages',
  now: 'new messages only',
  from: 'sequence or time…',
};
type Start = keyof typeof STARTS;

/**
 * Messages of a channel as they arrive. A person can filter them and choose any start position whose
 * messages are still kept.
 */
export function Tail({ channel }: { channel: string }) {
  const [start, setStart] = useState<Start>('recent');
  const [place, setPlace] = useState('');
  const [from, setFrom] = useState<string>('');
  const [paused, setPaused] = useState(false);
  const [filterText, sender, kind] = readParams('q', 'by', 'kind');
  const [open, setOpen] = useState<number | null>(null);
  const { messages, total, error, again } = useTail(channel, start, from, paused);
  const rows = useMemo(() => {
    const low = filterText.toLowerCase();
    return messages.filter(
      (message) =>
        (kind === '' || (message.url !== undefined) === (kind === 'pointer')) &&
        (sender === '' || message.from === sender) &&
        (low === '' || JSON.stringify(message).toLowerCase().includes(low)),
    );
  }, [messages, filterText, sender, kind]);
  const opened = open === null ? undefined : messages.find(({ seq }) => seq === open);
  const columns: readonly Column<Message>[] = [
    { title: 'When', width: '96px', cell: ({ ts }) => <Clock at={ts} /> },
    {
      title: 'Message',
      width: 'minmax(0, 1fr)',
      cell: (message) => (
        <button
          type="button"
          class="row-button one-line"
          onClick={() => setOpen(open === message.seq ? null : message.seq)}
        >
          {message.gap && <span class="warn-text">earlier messages are missing · </span>}
          {message.url !== undefined ? (
            <>
              <span class="mono accent">{pointerId(message.url)?.slice(0, 8) ?? 'pointer'}</span>{' '}
              <About metadata={message.metadata} />
            </>
          ) : (
            <ForeignJson value={message.msg} max={240} />
          )}
        </button>
      ),
    },
    textColumn('From', '120px', (message) => message.from),
    {
      title: 'Seq',
      width: '70px',
      cell: ({ seq }) => <span class="mono">{seq}</span>,
      figure: true,
      wide: true,
    },
  ];
  return (
    <>
      <form class="bar" onSubmit={onSubmit(() => setFrom(place.trim()))}>
        <Select
          label="Start with"
          value={start}
          set={(value) => setStart(value as Start)}
          options={Object.entries(STARTS)}
        />
        {start === 'from' && (
          <>
            <Field
              label="After sequence or ISO time"
              class="mono"
              value={place}
              placeholder="120 or 2026-11-17T09:00"
              set={setPlace}
            />
            <button type="submit" class="button align-end">
              Replay
            </button>
          </>
        )}
        <TextFilter label="Contains" param="q" />
        <ValueFilter label="From" param="by" all="anyone" values={messages.map((message) => message.from)} />
        <SelectFilter
          label="Kind"
          param="kind"
          options={{ '': 'all', pointer: 'pointers', signal: 'signals' }}
        />
        <button
          type="button"
          class="button align-end"
          aria-pressed={paused}
          onClick={() => setPaused(!paused)}
        >
          <Icon name={paused ? 'play' : 'pause'} />
          {paused ? 'Resume' : 'Pause'}
        </button>
      </form>
      <Failure error={error} again={again} />
      {opened && (
        <section class="panel" aria-label={`Message ${opened.seq}`}>
          <header class="panel-head">
            <h2>Message {opened.seq}</h2>
            {pointerId(opened.url) && (
              <a class="button" href={to('pointers', pointerId(opened.url)!)}>
                Open pointer
              </a>
            )}
          </header>
          <JsonView value={opened} label={`Message ${opened.seq}`} />
        </section>
      )}
      {messages.length === 0 ? (
        <Empty title={start === 'now' ? 'Waiting for the next message.' : 'There are no messages.'}>
          <Command line={`relay publish ${shellWord(channel)} "hello"`} about="Send one:" />
          <Command
            line={`relay watch ${shellWord(channel)} --since all`}
            about="Follow the channel in a terminal:"
          />
        </Empty>
      ) : (
        <>
          <Table
            label="Messages, newest first"
            columns={columns}
            rows={rows}
            keyOf={({ seq }) => String(seq)}
            rowHeight={34}
            chosen={({ seq }) => seq === open}
          />
          <p class="table-foot soft" role="status">
            {count(rows.length)} shown
            {total > messages.length &&
              `, ${count(total - messages.length)} older messages removed from this page`}
            {paused && ', paused'}
          </p>
        </>
      )}
    </>
  );
}

/** Metadata of a message. The sender's summary comes first. */
function About({ metadata = {} }: { metadata?: Message['metadata'] }) {
  const { summary, ...rest } = metadata;
  return (
    <>
      {typeof summary === 'string' && <ForeignText text={summary} max={160} />}{' '}
      {Object.keys(rest).length > 0 && (
        <span class="soft">
          <ForeignJson value={rest} max={200} />
        </span>
      )}
    </>
  );
}

function useTail(channel: string, start: Start, from: string, paused: boolean) {
  const [messages, setMessages] = useState<readonly Message[]>([]);
  const [total, setTotal] = useState(0);
  const [error, setError] = useState<unknown>();
  const [attempt, setAttempt] = useState(0);
  const pausedRef = useRef(paused);
  pausedRef.current = paused;
  const current = relay.value;
  useEffect(() => {
    const closing = new AbortController();
    let waiting: Message[] = [];
    let received = 0;
    setMessages([]);
    setTotal(0);
    setError(undefined);
    const draw = setInterval(() => {
      if (waiting.length === 0 || pausedRef.current) return;
      const next = waiting.toReversed();
      waiting = [];
      setTotal(received);
      setMessages((before) => [...next, ...before].slice(0, MAX_MESSAGES));
    }, REDRAW_MS);
    void (async () => {
      try {
        const since = await sinceOf(start, from, () => current.channels.position(channel));
        for await (const message of current.channels.subscribe(channel, { since, signal: closing.signal })) {
          received++;
          waiting.push(message);
          if (waiting.length > MAX_MESSAGES) waiting = waiting.slice(-MAX_MESSAGES);
        }
      } catch (failure) {
        if (!closing.signal.aborted) setError(failure);
      }
    })();
    return () => {
      closing.abort();
      clearInterval(draw);
    };
  }, [channel, start, from, attempt, current]);
  return { messages, total, error, again: () => setAttempt((n) => n + 1) };
}

async function sinceOf(
  start: Start,
  from: string,
  position: () => Promise<number>,
): Promise<Since | undefined> {
  if (start === 'all') return 'all';
  if (start === 'recent') return Math.max(0, (await position()) - RECENT) || 'all';
  if (start === 'now' || from === '') return undefined;
  return /^\d+$/.test(from) ? Number(from) : new Date(from).getTime() ? new Date(from).toISOString() : from;
}
