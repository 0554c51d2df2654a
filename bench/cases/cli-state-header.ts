import { commandBench, noteAndThread } from '../command-line.ts';

export default commandBench(
  'cli-state-header',
  'relay state header right after relay artifact put',
  (relay, home) => {
    const { note, thread } = noteAndThread(relay, home);
    return {
      before: ['artifact', 'put', note, '--thread', thread],
      args: ['state', 'header', '--thread', thread],
    };
  },
);
