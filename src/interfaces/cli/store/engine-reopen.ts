import { answerCommand } from '../command.ts';
import { storeArgument } from './engine-copy.ts';

export default answerCommand({
  usage: '<store>',
  details:
    'For a store that relay engine copy has left. What was written since into the one that it moved to is not there: copy it back instead, unless nothing was.',
  examples: [['relay engine reopen ~/.relay', 'go on with the old store after all']],
  ask: ({ io, host, args }) => host.reopenEngine(storeArgument(io, args[0]!)),
  print: ({ store, was }) =>
    was === null
      ? `${store} can be written already`
      : `${store} can be written again; it had moved to ${was}`,
});
