import { PAYLOAD_BYTES, TASK_TIMEOUT_MS } from '../../../base/limits.ts';
import { AgentBridge } from '../../../client/bridge/agent-bridge.ts';
import type { Agent } from '../../../contract/agents.ts';
import { warnOfEncryption } from '../channels/encryption-words.ts';
import { defineCommand } from '../command.ts';
import { moment, parseMilliseconds, printable } from '../human.ts';
import { openPayload, readAllText, textOrFile } from '../pointers/payload.ts';
import { tellAnswer } from '../tasks/task-words.ts';

export default defineCommand({
  usage: '<task|->',
  details: `Prints the task's id, or with --wait the result. A task is kept until an agent takes it, also when none is
there yet. Whoever stops waiting can ask again: relay task wait ID.`,
  takes: { max: 1 },
  flags: {
    wait: { short: 'w', help: 'wait for the result and print it' },
    timeout: { value: 'TIME', help: 'wait so long: 90s, 15m, 2h (10m)' },
    to: { value: 'NAME', help: 'for this agent alone (see relay agents)' },
    file: { short: 'f', value: 'FILE', help: 'the task is in this file' },
    encrypt: { short: 'e', help: 'encrypt it; the bridge needs the channel’s key' },
    'task-channel': { value: 'NAME', help: 'where agents look for tasks (agent-tasks)' },
    'done-channel': { value: 'NAME', help: 'where results come back (agent-done)' },
  },
  examples: [
    ['relay bridge send "Refactor the auth module and run the tests" --wait', 'the result, when it is there'],
    ['relay bridge send --file brief.md --to reviewer', 'for one agent; prints the task’s id'],
  ],
  async run({ io, args, flags, open }) {
    // Without words or a file, the task is what is piped in.
    const given = await textOrFile(io, 'task', args[0], flags.file);
    const task = given ?? (await readAllText((await openPayload(io, undefined)).body, PAYLOAD_BYTES));
    const timeout = parseMilliseconds(flags.timeout, '--timeout') ?? TASK_TIMEOUT_MS;
    const opened = await open();
    const { relay, resolve } = opened;
    const client = await opened.client();
    const { 'task-channel': taskChannel, 'done-channel': doneChannel } = flags;
    const bridge = new AgentBridge(client, { taskChannel, doneChannel, resolve });
    const o = { to: flags.to, encrypted: flags.encrypt };
    if (flags.encrypt) await warnOfEncryption(io, client, { channel: bridge.channelFor(flags.to) });
    const { agents } = await relay.agents.list();
    const note = whoIsThere(agents, bridge.taskChannel, flags.to);
    if (note !== null) io.note(note);
    if (flags.wait) return tellAnswer(io, await bridge.sendAndWait(task, { ...o, timeout }));
    const sent = await bridge.send(task, o);
    io.result(sent, () =>
      io.interactive
        ? `${sent.id}\n${io.style.dim(io.typed(`wait for it: relay task wait ${sent.id}`))}`
        : sent.id,
    );
  },
});

/** Where nobody takes the task just now: what is known of those who could. */
function whoIsThere(agents: readonly Agent[], channel: string, to: string | undefined): string | null {
  const able = agents.filter(({ name, bridge }) => bridge && (to === undefined || name === to));
  const here = able.filter(({ bridge }) => bridge!.task_channel === channel);
  if (here.some(({ alive }) => alive)) return null;
  const waits = 'the task waits for one: relay bridge start --help';
  if (to === undefined) return `No bridge is there for ${printable(channel)} yet; ${waits}`;
  const name = printable(to);
  const elsewhere = able.find(({ alive }) => alive)?.bridge?.task_channel;
  if (elsewhere !== undefined) {
    const other = printable(elsewhere);
    return `${name} takes its tasks from ${other} and not from ${printable(channel)}: --task-channel ${other}`;
  }
  const [silent] = here;
  if (silent) return `${name} was last heard of ${moment(silent.last_seen!)}; the task waits for it`;
  return `No bridge called ${name} is there for ${printable(channel)} yet; ${waits}`;
}
