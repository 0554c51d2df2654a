import type { PatchOp } from '../../../formats/json-patch/apply.ts';
import { answerCommand, badUsage } from '../command.ts';
import { labelled } from '../human.ts';
import { jsonInput } from '../pointers/payload.ts';
import { openThread, THREAD_FLAG } from '../threads/thread-choice.ts';

export default answerCommand({
  usage: '[file|-]',
  details: `The patch is a JSON array of operations (RFC 6902), in --json '…', in a file, or with - on standard input. A
version comes of it; what is refused changes nothing. Without --if-match, patches of several agents all get in, in some
order; with it, one that was made for an older version is refused and told the current one.

  facts           {"id", "key", "value"}
  constraints     {"id", "description", "severity"?}
  open_questions  {"id", "question", "status"?}
  decisions       {"id", "description", "reason_codes"?, "evidence_refs"?,
                   "confidence"?}
  plan            {"id", "step", "status"?}
  last_actions    {"description", "result_ref"?}

Here --json is for the patch; --output json asks for an answer in JSON.`,
  flags: {
    json: { value: 'PATCH', help: 'the operations; - reads them from standard input' },
    'if-match': { value: 'v7', help: 'refuse where the state is at another version' },
    ...THREAD_FLAG,
  },
  examples: [
    [
      `relay state patch --json '[{"op":"add","path":"/facts/-","value":{"id":"f1","key":"db","value":"SQLite"}}]'`,
      'add a fact',
    ],
    [
      `relay state patch --if-match v7 --json '[{"op":"replace","path":"/plan/0/status","value":"done"}]'`,
      'only if nothing has changed since v7',
    ],
    ['relay state patch patch.json --thread 550e84', 'from a file'],
  ],
  async ask(call) {
    const { io, args, flags } = call;
    const ops = await jsonInput(io, 'state patch', { flag: flags.json, file: args[0] });
    if (ops === undefined) {
      throw badUsage(
        'There is no patch.',
        "Use: relay state patch --json '[…]', or a file, or - for standard input.",
      );
    }
    const { threads, id } = await openThread(call, { use: true });
    // The domain says what is wrong with which operation.
    return threads.patch(id, { ops: ops as unknown as PatchOp[], if_match: flags['if-match'] });
  },
  print: ({ state_ref }, io) => labelled(io, 'state_ref', state_ref),
});
