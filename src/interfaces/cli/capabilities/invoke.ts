import { isJsonObject } from '../../../base/json.ts';
import { badUsage, defineCommand } from '../command.ts';
import { printable } from '../human.ts';
import { jsonInput } from '../pointers/payload.ts';
import { chooseThread, THREAD_FLAG } from '../threads/thread-choice.ts';

export default defineCommand({
  usage: '<name>',
  details: `The result becomes an artifact, and its preview is printed. Asked for again while the cache holds it, it is
not done twice. The arguments are a JSON object. Here --json is for them; --output json asks for an answer in JSON.`,
  takes: { min: 1 },
  flags: { json: { value: 'ARGS', help: 'the arguments; - reads them from standard input' }, ...THREAD_FLAG },
  examples: [
    [`relay cap invoke retrieval.search --json '{"query":"retry"}'`, 'search, and keep what was found'],
    [
      `relay cap invoke retrieval.search --json '{"query":"retry"}' --output json`,
      'the answer for a program',
    ],
  ],
  async run({ io, host, args, flags }) {
    const given = (await jsonInput(io, 'cap invoke', { flag: flags.json })) ?? {};
    if (!isJsonObject(given)) {
      throw badUsage(
        'The arguments of a capability are a JSON object.',
        `Use: relay cap invoke ${args[0]} --json '{"query": "…"}'`,
      );
    }
    await using open = await host.openClient();
    const thread_id = await chooseThread({ io, host }, open, flags.thread, { use: true });
    const answer = await open.relay.capabilities.invoke({ capability: args[0]!, thread_id, args: given });
    io.result(answer, () => {
      const { text } = answer.preview;
      const cached = answer.cache_hit ? io.style.dim('  from the cache') : '';
      const ref = `${io.style.dim('artifact_ref')}  ${answer.artifact_ref}${cached}`;
      return `${ref}\n${io.interactive ? printable(text) : text}`;
    });
  },
});
