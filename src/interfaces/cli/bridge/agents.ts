import type { Agent } from '../../../contract/agents.ts';
import { answerCommand } from '../command.ts';
import { plural, printable, span } from '../human.ts';
import type { Io } from '../io.ts';

export default answerCommand({
  examples: [['relay agents', 'who can be given work, and who reads what']],
  ask: async ({ open }) => (await open()).relay.agents.list(),
  print: ({ agents }, io) =>
    agents.map((agent) => agentLine(io, agent)).join('\n') ||
    io.typed('nobody; start one with: relay bridge start --exec "claude -p"'),
});

/** An agent in one line, for lists. */
export function agentLine(io: Io, agent: Agent): string {
  const { name, kind, alive, last_seen, bridge, channels } = agent;
  const seen = last_seen === null ? 'never' : `${span(Date.now() - Date.parse(last_seen))} ago`;
  const life = alive === null ? 'follows ' : alive ? io.style.green('alive   ') : io.style.red('silent  ');
  const what =
    kind === 'follower' || !bridge
      ? channels.map(printable).join(', ')
      : `${bridge.runner} ${printable(bridge.target)} · ${printable(bridge.task_channel)} · ${atWork(bridge)}`;
  const line = `${printable(name).padEnd(20)} ${life} ${what}  ${io.style.dim(`seen ${seen}`)}`;
  const stuck = Object.entries(bridge?.stuck ?? {}).map(
    ([task, why]) => `  ${io.style.yellow('stuck')} ${task}  ${printable(why)}`,
  );
  return [line, ...stuck].join('\n');
}

function atWork({ running, concurrency, done, failed }: NonNullable<Agent['bridge']>): string {
  const now = running.length === 0 ? 'idle' : `${running.length} of ${concurrency} running`;
  return `${now}, ${plural(done, 'task')} done${failed > 0 ? `, ${failed} failed` : ''}`;
}
