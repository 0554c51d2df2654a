import { answerCommand } from '../command.ts';
import { labelled, parseSpan } from '../human.ts';
import { useThread } from './thread-choice.ts';

export default answerCommand({
  usage: '[name]',
  details: `A thread holds versioned state, artifacts and the events of both. From here on it is the one that other
commands mean where none is named. Piped, the id alone is printed.`,
  flags: {
    name: { short: 'n', value: 'NAME', help: 'the same as the name in front; need not be unique' },
    ttl: { value: 'TIME', help: 'how long it lives: 90s, 2h, 7d (until it is deleted)' },
  },
  examples: [
    ['relay thread new my-first-run', 'prints its thread_id'],
    ['export RELAY_THREAD=$(relay thread new)', 'the one that this shell means from now on'],
  ],
  async ask({ host, args, flags, open }) {
    const created = await (await open()).relay.threads.create({
      name: flags.name ?? args[0],
      ttl: parseSpan(flags.ttl, '--ttl'),
    });
    await useThread(host, created.thread_id);
    return created;
  },
  print: ({ thread_id }, io) => labelled(io, 'thread_id', thread_id),
});
