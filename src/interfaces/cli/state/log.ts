import type { ThreadEvent } from '../../../contract/threads/answers.ts';
import { VERSION_EVENTS } from '../../../domain/threads/event.ts';
import { parseVersion } from '../../../domain/threads/state.ts';
import { answerCommand } from '../command.ts';
import { moment, parseMost, rows } from '../human.ts';
import { describe, plain } from '../threads/event-line.ts';
import { newestEvents } from '../threads/newest-events.ts';
import { openThread, THREAD_FLAG } from '../threads/thread-choice.ts';

export default answerCommand({
  details:
    'Each with when, by whom and what. relay state diff --at v3 shows one of them, relay state get --at v3 all.',
  flags: {
    at: { value: 'v3', help: 'from this version backwards' },
    count: { short: 'n', value: 'N', help: 'so many at most (20)' },
    all: { help: 'every one' },
    ...THREAD_FLAG,
  },
  examples: [
    ['relay state log', 'the newest 20'],
    ['relay state log --at v3 --thread 550e84', 'how it came to version 3'],
    ['relay state log --all --json', 'every version with its operations'],
  ],
  async ask(call) {
    const most = parseMost(call.flags, 20);
    const newest = call.flags.at === undefined ? Number.POSITIVE_INFINITY : parseVersion(call.flags.at);
    const { threads, id } = await openThread(call);
    const wanted = ({ type, payload }: ThreadEvent) =>
      VERSION_EVENTS.has(type) &&
      typeof payload.version === 'number' &&
      payload.version <= newest &&
      // One that lost a race in a Go relay names the version of another, and the number of its operations.
      typeof payload.ops !== 'number';
    const events = (await newestEvents(threads, id, { most, wanted })).reverse();
    return { versions: events.map((event) => ({ state_ref: `v${event.payload.version}`, ...event })) };
  },
  print({ versions }, { interactive, style }) {
    const entries = versions.map((version): [string, string] => {
      const { state_ref, timestamp, payload } = version;
      const when = interactive ? moment(timestamp) : timestamp;
      const by = typeof payload.by === 'string' ? plain(payload.by) : '';
      return [state_ref, `${style.dim(`${when}  ${by}`)}  ${whatItDid(version, state_ref)}`];
    });
    return rows(style.cyan, entries);
  },
});

/** The version stands in front already. */
function whatItDid(event: ThreadEvent, stateRef: string): string {
  const told = describe(event).replace(new RegExp(`^${stateRef}(?: · |$)`), '');
  const verb: { [type: string]: string } = {
    'thread.created': 'began',
    'artifact.created': 'artifact',
    'checkpoint.created': 'compacted',
  };
  return [verb[event.type] ?? '', told].filter((part) => part !== '').join(' ');
}
