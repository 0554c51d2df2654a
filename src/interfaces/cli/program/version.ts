import { answerCommand } from '../command.ts';

export default answerCommand({
  examples: [
    ['relay version', 'the version alone'],
    ['relay version --json', 'also of the runtime and the system, for a bug report'],
  ],
  ask: async ({ host: { version, runtime } }) => ({
    version,
    runtime,
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
  }),
  print: ({ version }) => version,
});
