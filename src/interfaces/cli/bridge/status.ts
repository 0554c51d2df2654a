import { RelayError } from '../../../base/errors.ts';
import { answerCommand } from '../command.ts';
import { taskLine } from '../tasks/task-words.ts';
import { agentLine } from './agents.ts';

export default answerCommand({
  usage: '[name]',
  details: 'The exit code is 1 where no bridge, or not the one named, has been heard of lately.',
  takes: { max: 1 },
  examples: [
    ['relay bridge status', 'all of them'],
    ['relay bridge status reviewer', 'one, for a script: its exit code says whether it is there'],
  ],
  async ask({ args, open }) {
    const { relay } = await open();
    const { agents } = await relay.agents.list();
    const bridges = agents.filter(({ kind, name }) => kind === 'bridge' && (args[0] ?? name) === name);
    if (args[0] !== undefined && bridges.length === 0) {
      throw new RelayError('not_found', {
        what: `a bridge called ${JSON.stringify(args[0])}`,
        hint: 'See who is there: relay bridge list',
      });
    }
    const channels = [...new Set(bridges.flatMap((each) => each.channels))];
    const lists = await Promise.all(channels.map((channel) => relay.tasks.list({ channel })));
    const tasks = lists.flatMap((each) => each.tasks);
    const running = tasks.filter(({ state }) => state === 'running');
    const queued = tasks.filter(({ state }) => state === 'queued');
    return { bridges, running, queued };
  },
  print({ bridges, running, queued }, io) {
    const parts = [bridges.map((each) => agentLine(io, each)).join('\n') || 'no bridges'];
    if (running.length > 0) parts.push(['running:', ...running.map((task) => taskLine(io, task))].join('\n'));
    if (queued.length > 0) parts.push(['waiting:', ...queued.map((task) => taskLine(io, task))].join('\n'));
    return parts.join('\n\n');
  },
  exit: ({ bridges }) => (bridges.some(({ alive }) => alive) ? 0 : 1),
});
