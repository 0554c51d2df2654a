import { defineCommand } from '../command.ts';

export default defineCommand({
  examples: [
    ['relay version', 'the version alone'],
    ['relay version --json', 'also of Node and the system, for a bug report'],
  ],
  async run({ io, host }) {
    io.result(
      { version: host.version, node: process.version, platform: `${process.platform}-${process.arch}` },
      host.version,
    );
  },
});
