import { isJsonObject } from '../../../base/json.ts';
import { answerCommand, badUsage } from '../command.ts';
import { printable } from '../human.ts';
import { jsonInput } from '../pointers/payload.ts';
import { openThread, THREAD_FLAG } from '../threads/thread-choice.ts';

export default answerCommand({
  usage: '<name>',
  details: `The result becomes an artifact, and its preview is printed. Asked for again while the cache holds it, it is
not done twice. The arguments are a JSON object. Here --json is for them; --output json asks for an answer in JSON.`,
  flags: { json: { value: 'ARGS', help: 'the arguments; - reads them from standard input' }, ...THREAD_FLAG },
  examples: [
    [`relay cap invoke retrieval.search --json '{"query":"retry"}'`, 'search, and keep what was found'],
    [
      `relay cap invoke retrieval.search --json '{"query":"retry"}' --output json`,
      'the answer for a program',
    ],
  ],
  async ask(call) {
    const { io, args, flags } = call;
    const given = (await jsonInput(io, 'cap invoke', { flag: flags.json })) ?? {};
    if (!isJsonObject(given)) {
      throw badUsage(
        'The arguments of a capability are a JSON object.',
        `Use: relay cap invoke ${args[0]} --json '{"query": "…"}'`,
      );
    }
    const { relay, id } = await openThread(call, { use: true });
    return relay.capabilities.invoke({ capability: args[0]!, thread_id: id, args: given });
  },
  print({ artifact_ref, cache_hit, preview: { text } }, { interactive, style }) {
    const cached = cache_hit ? style.dim('  from the cache') : '';
    return `${style.dim('artifact_ref')}  ${artifact_ref}${cached}\n${interactive ? printable(text) : text}`;
  },
});
