import { EXIT, RelayError } from '../../../base/errors.ts';
import { defineCommand } from '../command.ts';
import { readHookInput } from './hook-input.ts';
import { HOOK_CLIENTS, HOOK_EVENTS, type HookClient, type HookEvent, renderAnswer } from './hook-output.ts';
import { hookWork } from './hook-work.ts';

export default defineCommand({
  usage: `<${HOOK_CLIENTS.join('|')}> <${HOOK_EVENTS.join('|')}>`,
  details: `Reads the client's JSON on stdin and answers in the client's own form. It never stands in the way: whatever goes wrong is a
line on stderr and exit code 0. RELAY_AGENT names the inbox to look into; unless set, it is the client's name.`,
  takes: { max: 9 },
  failsOpen: true,
  examples: [
    ['echo \'{"cwd":"."}\' | relay hook claude session-start', 'the brief, as Claude Code would get it'],
  ],
  async run({ io, host, args }) {
    const [client, event] = args as [HookClient, HookEvent];
    if (!HOOK_CLIENTS.includes(client) || !HOOK_EVENTS.includes(event) || args.length > 2) {
      throw new RelayError('bad_usage', {
        what: `There is no hook "${args.join(' ')}".`,
        hint: `Use: relay hook ${HOOK_CLIENTS.join('|')} ${HOOK_EVENTS.join('|')}`,
      });
    }
    let answer = {};
    let waiting = false;
    try {
      const { input, late } = await readHookInput(io.stdin);
      waiting = late;
      const agent = io.env.RELAY_AGENT || client;
      answer = await hookWork({ client, event, input, folder: input.cwd ?? io.cwd, agent, host });
    } catch (error) {
      io.stderr.write(`relay hook: ${(error as Error).message}\n`);
    }
    io.stdout.write(renderAnswer(client, event, answer));
    // Nothing else could end a read that never gets an answer; what was written has been written.
    if (waiting) process.exit(EXIT.ok);
    return EXIT.ok;
  },
});
