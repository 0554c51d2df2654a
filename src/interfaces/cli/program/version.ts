import { answerCommand } from '../command.ts';

export default answerCommand({
  examples: [
    ['relay version', 'the version alone'],
    ['relay version --json', 'also of Node and the system, for a bug report'],
  ],
  ask: async ({ host: { version } }) => ({
    version,
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
  }),
  print: ({ version }) => version,
});
