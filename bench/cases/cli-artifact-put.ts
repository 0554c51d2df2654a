import { commandBench, noteAndThread } from '../command-line.ts';

export default commandBench('cli-artifact-put', 'relay artifact put of 77 bytes', (relay, home) => {
  const { note, thread } = noteAndThread(relay, home);
  return { args: ['artifact', 'put', note, '--thread', thread] };
});
