import { EXIT } from '../../../base/errors.ts';
import { defineCommand } from '../command.ts';
import { count, rows } from '../human.ts';
import { chooseThread, THREAD_FLAG, threadWord } from './thread-choice.ts';

export default defineCommand({
  usage: '[<id>]',
  details: `A state is what its events add up to. This adds them up from the first one, without snapshots, and says
whether that gives the same bytes. Ends with 1 where it does not.`,
  takes: { max: 1 },
  flags: { ...THREAD_FLAG },
  examples: [
    ['relay replay 550e84', 'the version, the number of events and the hash of the state'],
    ['relay replay --json | jq -r .sha256', 'the hash alone, to compare with another machine'],
  ],
  async run({ io, host, args, flags }) {
    await using open = await host.openClient();
    const id = await chooseThread({ io, host }, open, threadWord('replay', args[0], flags.thread));
    const answer = await open.relay.threads.replay(id);
    const { version, events, sha256, matches } = answer;
    io.result({ thread_id: id, ...answer }, () =>
      rows(io.style.dim, [
        ['state_ref', `v${version}`],
        ['events', count(events)],
        ['sha256', sha256],
        ['replayed', matches ? io.style.green('the same bytes') : io.style.red('other bytes than the state')],
      ]),
    );
    return matches ? EXIT.ok : EXIT.failed;
  },
});
