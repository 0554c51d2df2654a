import { needText, projectCommand } from './project-call.ts';

export default projectCommand({
  stores: true,
  usage: '[id]',
  details: 'Without an id the only open hand-off is meant. RELAY_HANDOFF may name it too.',
  flags: {
    result: { value: 'TEXT', help: 'what came out' },
    artifact: { multiple: true, value: 'URL|FILE', help: 'where the rest is; may be repeated' },
    failed: { help: 'it did not work; the result says why' },
  },
  examples: [
    ['relay project report HANDOFF-002 --result "ported; 41 tests pass"', 'it is done'],
    ['relay project report --result "no access to the registry" --failed', 'it did not work'],
  ],
  ask: (project, { io, args, flags }) =>
    project.report(args[0] ?? (io.env.RELAY_HANDOFF || null), {
      result: needText('--result', flags.result, { keep: true }),
      artifacts: flags.artifact,
      failed: flags.failed,
    }),
  print: ({ id, status }, io) =>
    io.typed(`${id} is ${status}. Its parent reads it with: relay project result ${id}`),
});
