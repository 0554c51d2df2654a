import { isJsonObject } from '../../../base/json.ts';
import { type AgentOutcome, partText } from '../../../client/bridge/remote-agent.ts';
import { answerCommand, badUsage, defineCommand, type Flags, refusal } from '../command.ts';
import { passedOn, printable, rows } from '../human.ts';
import { textOrFile, writePayload } from './payload.ts';

/** What every command about an agent understands. */
const AGENT_FLAGS = {
  token: { value: 'TOKEN', help: 'sent to the agent as Bearer (A2A_TOKEN)' },
} as const satisfies Flags;

/** Everything an agent answered with, in words; what is behind a URL as its URL. */
function outcomeText({ parts, note }: AgentOutcome, io: { readonly interactive: boolean }): string {
  const lines = parts.map(partText);
  const text = lines.length > 0 ? lines.join('\n') : (note ?? '');
  return passedOn(io, text);
}

const card = answerCommand({
  usage: '<url>',
  details: 'The address of a host, of an agent on it, or of the card itself.',
  flags: AGENT_FLAGS,
  examples: `
    relay a2a card https://agents.example  # who is there and what it does
    relay a2a card http://127.0.0.1:7474/a2a/reviewer --json  # a bridge of a relay, as JSON`,
  ask: async ({ host, args, flags }) => (await host.agents.openRemote(args[0]!, flags)).card,
  print(card, { style }) {
    const text = (value: unknown) => printable(typeof value === 'string' ? value : '');
    const list = (value: unknown) => (Array.isArray(value) ? value.filter(isJsonObject) : []);
    const lines: [string, string][] = [
      ['name', text(card.name)],
      ['version', text(card.version)],
      ['does', text(card.description)],
    ];
    for (const one of list(card.supportedInterfaces))
      lines.push(['speaks', `${text(one.protocolBinding)} ${text(one.protocolVersion)} at ${text(one.url)}`]);
    for (const skill of list(card.skills))
      lines.push(['skill', `${text(skill.name)}: ${text(skill.description)}`]);
    return rows(style.dim, lines);
  },
});

const send = defineCommand({
  usage: '<url> <task|->',
  details: `With - the task is read from standard input. A long one is put on the relay and sent as a pointer, so the agent
must be able to reach it. The answer is printed; what the agent left behind a URL is fetched with --out.`,
  flags: {
    ...AGENT_FLAGS,
    attach: { value: 'URL', multiple: true, help: 'a pointer or another URL that goes with it' },
    context: { value: 'ID', help: 'go on in this context' },
    task: { value: 'ID', help: 'answer this task, which asks for something' },
    'no-wait': { help: 'print the id of the task and do not wait' },
    out: { short: 'o', value: 'FILE', help: 'write the result there, - for standard output' },
  },
  examples: `
    relay a2a send https://agents.example "review the diff" --attach <url>  # with a pointer
    git diff | relay a2a send http://127.0.0.1:7474/a2a/reviewer -  # from a pipe
    relay a2a send <url> "make a picture" -o picture.png  # the result into a file
    relay a2a send <url> "the blue one" --task <id>  # the answer to a question of the agent`,
  async run({ io, host, args, flags }) {
    const agent = await host.agents.openRemote(args[0]!, flags);
    const text = (await textOrFile(io, 'task', args[1], undefined))!;
    if (text.trim() === '') throw badUsage('The task is empty.', 'Say what is to be done.');
    const task = { text, attached: flags.attach, contextId: flags.context, taskId: flags.task };
    if (flags['no-wait']) {
      const submitted = await agent.submit(task);
      return io.result(submitted, submitted.task_id ?? outcomeText(submitted, io));
    }
    let told = '';
    const outcome = await agent.run({
      ...task,
      onState: ({ state, task_id }) => {
        if (state !== told && io.stderr.isTTY)
          io.note(state === 'submitted' ? waits(args[0]!, task_id) : state);
        told = state;
      },
    });
    const [first] = outcome.parts;
    if (flags.out !== undefined && first) await writePayload(io, await agent.read(first), flags);
    else io.result(outcome, () => outcomeText(outcome, io));
    if (outcome.state === 'completed') return 0;
    if (outcome.state === 'input_required')
      throw refusal(
        'failed',
        `The agent asks: ${printable(outcome.note ?? 'it needs to know more.')}`,
        `Answer it: relay a2a send ${args[0]} "…" --task ${printable(outcome.task_id ?? '')}`,
      );
    throw refusal(
      'failed',
      `The task is ${outcome.state}.`,
      outcome.note ?? `Look at it later: relay a2a tasks ${args[0]} ${outcome.task_id ?? ''}`,
    );
  },
});

/** An agent may take its time, or not be there at all: whoever waits can go, and come back. */
function waits(url: string, id: string | null): string {
  const later =
    id === null ? '' : `; Ctrl-C leaves it there, to look at later: relay a2a tasks ${url} ${printable(id)}`;
  return `submitted, and waits to be taken${later}`;
}

const tasks = defineCommand({
  usage: '<url> [task]',
  flags: {
    ...AGENT_FLAGS,
    context: { value: 'ID', help: 'only those of this context' },
    cancel: { help: 'cancel the task that is named' },
  },
  examples: `
    relay a2a tasks https://agents.example  # all of them, newest first
    relay a2a tasks <url> <task>  # one, with its result
    relay a2a tasks <url> <task> --cancel  # call it off`,
  async run({ io, host, args, flags }) {
    const agent = await host.agents.openRemote(args[0]!, flags);
    const id = args[1];
    if (id !== undefined) {
      const outcome = flags.cancel ? await agent.cancel(id) : await agent.find(id);
      return io.result(outcome, () => [outcome.state, outcomeText(outcome, io)].filter(Boolean).join('\n'));
    }
    const tasks = await agent.list({ contextId: flags.context });
    io.result({ tasks }, () => {
      const lines = tasks.map(
        ({ task_id, state, context_id }) => [task_id ?? '', `${state}  ${context_id}`] as const,
      );
      return rows(io.style.dim, lines) || 'no tasks';
    });
  },
});

export const commands = { card, send, tasks };
