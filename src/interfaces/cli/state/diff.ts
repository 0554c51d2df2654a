import { parseVersion } from '../../../domain/threads/state.ts';
import type { PatchOp } from '../../../formats/json-patch/apply.ts';
import { answerCommand, badUsage } from '../command.ts';
import { printable } from '../human.ts';
import type { Style } from '../style.ts';
import { openThread, THREAD_FLAG } from '../threads/thread-choice.ts';

export default answerCommand({
  usage: '[<from> [<to>]]',
  details: `Without versions, what the newest one changed; with one, everything since it. With --json it is a JSON Patch
that leads from the one to the other, which can be sent; version, time and metrics are left out of it.`,
  flags: { at: { value: 'v3', help: 'what this version changed' }, ...THREAD_FLAG },
  examples: [
    ['relay state diff', 'the newest change'],
    ['relay state diff v3', 'all since version 3'],
    ['relay state diff v3 v7 --thread 550e84', 'between two versions'],
    ['relay state diff v9 v8 --json | jq .ops | relay state patch -', 'take a change back, as a new version'],
  ],
  async ask(call) {
    const { args, flags } = call;
    if (flags.at !== undefined && args.length > 0) {
      throw badUsage(
        '--at is about one version, and does not go with others.',
        `Use: relay state diff ${args.join(' ')}, or: relay state diff --at ${flags.at}`,
      );
    }
    const { threads, id } = await openThread(call);
    if (args.length > 0) return threads.diff(id, { from: args[0]!, to: args[1] });
    const version = flags.at === undefined ? (await threads.get(id)).state_version : parseVersion(flags.at);
    // From the version before. The first one began with nothing.
    return threads.diff(id, { from: `v${Math.max(1, version - 1)}`, to: `v${version}` });
  },
  print(diff, { interactive, style }) {
    const lines = diff.ops.map((op) => opLine(op, style));
    if (!interactive) return lines.join('\n');
    return [style.dim(`${diff.from} → ${diff.to}`), ...(lines.length === 0 ? ['no difference'] : lines)].join(
      '\n',
    );
  },
});

function opLine(op: PatchOp, style: Style): string {
  const paint = { add: style.green, remove: style.red }[op.op as string] ?? style.yellow;
  const value = 'value' in op ? ` ${printable(JSON.stringify(op.value))}` : '';
  const from = 'from' in op ? ` from ${printable(String(op.from))}` : '';
  return `${paint(op.op)} ${printable(op.path)}${from}${value}`;
}
