import { isJsonObject } from '../../../base/json.ts';
import { type AgentOutcome, partText } from '../../../client/bridge/remote-agent.ts';
import { answerCommand, badUsage, defineCommand, type Flags, refusal } from '../command.ts';
import { passedOn, printable, rows } from '../human.ts';
import { textOrFile, writePayload } from '../payload.ts';

/** Flags of every a2a command. */
const AGENT_FLAGS = {
  token: { value: 'TOKEN', help: 'bearer token for the agent (A2A_TOKEN)' },
} as const satisfies Flags;

/** Returns the answer of an agent as text. If a part of the answer is a link, the text contains its URL. */
function outcomeText({ parts, note }: AgentOutcome, io: { readonly interactive: boolean }): string {
  const lines = parts.map(partText);
  const text = lines.length > 0 ? lines.join('\n') : (note ?? '');
  return passedOn(io, text);
}

const card = answerCommand({
  usage: '<url>',
  details: 'The URL is the address of a host, of an agent, or of the agent card itself.',
  flags: AGENT_FLAGS,
  examples: `
    relay a2a card https://agents.example  # show name, description and skills
    relay a2a card http://127.0.0.1:7474/a2a/reviewer --json  # print the card of a bridge as JSON`,
  ask: async ({ host, args, flags }) => (await host.agents.openRemote(args[0]!, flags)).card,
  print(card, { style }) {
    const text = (value: unknown) => printable(typeof value === 'string' ? value : '');
    const list = (value: unknown) => (Array.isArray(value) ? value.filter(isJsonObject) : []);
    const lines: [string, string][] = [
      ['name', text(card.name)],
      ['version', text(card.version)],
      ['description', text(card.description)],
    ];
    for (const one of list(card.supportedInterfaces))
      lines.push([
        'interface',
        `${text(one.protocolBinding)} ${text(one.protocolVersion)} at ${text(one.url)}`,
      ]);
    for (const skill of list(card.skills))
      lines.push(['skill', `${text(skill.name)}: ${text(skill.description)}`]);
    return rows(style.dim, lines);
  },
});

const send = defineCommand({
  usage: '<url> <task|->',
  details: `With - it reads the task from standard input. A long task is pushed to the relay and sent as a pointer, so the agent
must be able to reach the relay. Prints the result. With --out it writes the first part of the result to a file; if that part is
a URL, the file gets the content of the URL.`,
  flags: {
    ...AGENT_FLAGS,
    attach: { value: 'URL', multiple: true, help: 'attach a pointer or another URL' },
    context: { value: 'ID', help: 'continue in this A2A context' },
    task: { value: 'ID', help: 'answer the question of this task' },
    'no-wait': { help: 'print the id of the task and do not wait' },
    out: {
      short: 'o',
      value: 'FILE',
      help: 'write the first part of the result to this file, or - for standard output',
    },
  },
  examples: `
    relay a2a send https://agents.example "review the diff" --attach <url>  # send a task with a pointer
    git diff | relay a2a send http://127.0.0.1:7474/a2a/reviewer -  # send standard input
    relay a2a send <url> "make a picture" -o picture.png  # write the result to a file
    relay a2a send <url> "the blue one" --task <id>  # answer a question of the agent`,
  async run({ io, host, args, flags }) {
    const agent = await host.agents.openRemote(args[0]!, flags);
    const text = (await textOrFile(io, 'task', args[1], undefined))!;
    if (text.trim() === '') throw badUsage('The task is empty.', 'Describe what the agent should do.');
    const task = { text, attached: flags.attach, contextId: flags.context, taskId: flags.task };
    if (flags['no-wait']) {
      const submitted = await agent.submit(task);
      return io.result(submitted, submitted.task_id ?? outcomeText(submitted, io));
    }
    let lastState = '';
    const outcome = await agent.run({
      ...task,
      onState: ({ state, task_id }) => {
        if (state !== lastState && io.stderr.isTTY)
          io.note(state === 'submitted' ? submittedNote(args[0]!, task_id) : state);
        lastState = state;
      },
    });
    const [first] = outcome.parts;
    if (flags.out !== undefined && first) await writePayload(io, await agent.read(first), flags);
    else io.result(outcome, () => outcomeText(outcome, io));
    if (outcome.state === 'completed') return 0;
    if (outcome.state === 'input_required')
      throw refusal(
        'failed',
        `The agent asks: ${printable(outcome.note ?? 'it needs more information.')}`,
        `Answer with: relay a2a send ${args[0]} "…" --task ${printable(outcome.task_id ?? '')}`,
      );
    throw refusal(
      'failed',
      `The state of the task is ${outcome.state}.`,
      outcome.note ?? `Check it later with: relay a2a tasks ${args[0]} ${outcome.task_id ?? ''}`,
    );
  },
});

/**
 * Returns the note that is printed while the agent works. If the task id is known, the note also says how to
 * check the task later.
 */
function submittedNote(url: string, id: string | null): string {
  const later =
    id === null ? '' : ` You can press Ctrl-C and check it later: relay a2a tasks ${url} ${printable(id)}`;
  return `Submitted, waiting for the agent.${later}`;
}

const tasks = defineCommand({
  usage: '<url> [task]',
  flags: {
    ...AGENT_FLAGS,
    context: { value: 'ID', help: 'only tasks of this A2A context' },
    cancel: { help: 'cancel the task; needs its id' },
  },
  examples: `
    relay a2a tasks https://agents.example  # list tasks, newest first
    relay a2a tasks <url> <task>  # show one task with its result
    relay a2a tasks <url> <task> --cancel  # cancel a task`,
  async run({ io, host, args, flags }) {
    const id = args[1];
    if (flags.cancel && id === undefined)
      throw badUsage(
        '--cancel needs the id of a task.',
        `List your tasks with: relay a2a tasks ${args[0]}. Then use: relay a2a tasks ${args[0]} ID --cancel`,
      );
    const agent = await host.agents.openRemote(args[0]!, flags);
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
