import { EXIT } from '../../../base/errors.ts';
import { answerCommand } from '../command.ts';
import { count, rows } from '../human.ts';
import { openThread, THREAD_FLAG } from './thread-choice.ts';

export default answerCommand({
  usage: '[<id>]',
  details: `A state is what its events add up to. This adds them up from the first one, without snapshots, and says
whether that gives the same bytes. Ends with 1 where it does not.`,
  flags: THREAD_FLAG,
  examples: [
    ['relay replay 550e84', 'the version, the number of events and the hash of the state'],
    ['relay replay --json | jq -r .sha256', 'the hash alone, to compare with another machine'],
  ],
  async ask(call) {
    const { threads, id } = await openThread(call, { word: call.args[0] });
    return { thread_id: id, ...(await threads.replay(id)) };
  },
  print: ({ version, events, sha256, matches }, { style }) =>
    rows(style.dim, [
      ['state_ref', `v${version}`],
      ['events', count(events)],
      ['sha256', sha256],
      ['replayed', matches ? style.green('the same bytes') : style.red('other bytes than the state')],
    ]),
  exit: ({ matches }) => (matches ? EXIT.ok : EXIT.failed),
});
