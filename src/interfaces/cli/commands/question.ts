import { ignore } from '../../../base/errors.ts';
import type { AskedQuestion } from '../../../contract/questions.ts';
import { askPerson } from '../../../sdk/ask.ts';
import { badUsage, defineCommand, refusal } from '../command.ts';
import { expiry, moment, parseSpan, printable } from '../human.ts';
import { type Io, interruption } from '../io.ts';

const ask = defineCommand({
  usage: 'QUESTION',
  details: `Waits until a person answers, and prints the answer. The person answers with relay approve, on the dashboard, or with the link
that this command prints. Ctrl-C withdraws the question. The exit code is 1 if nobody answers in time and there is no default.`,
  flags: {
    choices: { value: 'LIST', help: 'allowed answers, separated by commas; without it, any text' },
    default: { value: 'ANSWER', help: 'the answer if nobody answers in time' },
    timeout: { value: 'TIME', help: 'how long the question stays open, such as 2h (7d)' },
    who: { value: 'NAMES', help: 'names of the API keys that may answer, separated by commas' },
    thread: { value: 'ID', help: 'record the question and the answer in this thread' },
    'no-wait': { help: 'print the id of the question and do not wait' },
  },
  takes: { min: 1, max: 1 },
  examples: `
    relay ask "Deploy to production?" --choices yes,no --timeout 1h --default no  # print yes or no
    relay ask "Which name should the package have?"  # print the text that a person wrote`,
  async run({ io, host, open, flags, args }) {
    const { relay } = await open();
    const splitList = (text: string | undefined) => text?.split(',').map((word) => word.trim());
    const input = {
      choices: splitList(flags.choices),
      who: splitList(flags.who),
      default: flags.default,
      timeout: parseSpan(flags.timeout, '--timeout'),
      thread_id: flags.thread,
    };
    if (flags['no-wait']) {
      const { timeout, ...rest } = input;
      const posted = await relay.questions.ask({ ...rest, question: args[0]!, expires_in: timeout });
      return io.result(posted, posted.id);
    }
    using stop = interruption(() => {});
    const onAsked = async ({ id }: AskedQuestion) => {
      io.note(`Waiting for an answer. Answer with: relay approve ${id}`);
      // Without the scope `answer`, the API key cannot create a link. Continue without a link.
      const link = await relay.questions.link(id).catch(ignore('forbidden'));
      if (link) io.note(`Or open${host.remote === null ? ' (while relay up runs)' : ''}: ${link.url}`);
    };
    const answered = await askPerson(relay.questions, args[0]!, { ...input, signal: stop.signal, onAsked });
    return io.result(answered, answered.answer ?? '');
  },
});

/** Environment variables that show that a coding agent or a pipeline runs this command. */
const AGENT_VARIABLES = [
  ...[
    'CLAUDECODE',
    'CLAUDE_CODE_SESSION_ID',
    'AI_AGENT',
    'CODEX_SESSION_ID',
    'CODEX_THREAD_ID',
    'GEMINI_CLI',
  ],
  ...['OPENCODE', 'RELAY_STEP_KEY', 'RELAY_HANDOFF'],
];

const approve = defineCommand({
  usage: '[ID] [ANSWER]',
  details: `Without ID it shows each open question and asks for the answer. It refuses to answer without a terminal, and in a shell that a
coding agent has started. This keeps an agent from answering by accident. An agent that runs as the same user can still forge an answer: to
prevent that, require API keys, and give the scope "answer" only to keys of people.`,
  flags: {
    list: { help: 'only list the open questions; works without a terminal' },
    comment: { value: 'TEXT', help: 'add a comment to the answer' },
    link: { help: 'print a one-time link for the question ID instead of answering it' },
  },
  takes: { max: 2 },
  examples: `
    relay approve  # show the open questions and answer them
    relay approve q_0198c2 approve --comment "looks good"  # answer one question
    relay approve --list --json  # list the open questions`,
  async run({ io, open, flags, args }) {
    const { relay } = await open();
    const { questions } = await relay.questions.list();
    const selected = args[0] === undefined ? questions : [findQuestion(questions, args[0])];
    if (flags.list)
      return io.result({ questions: selected }, () => selected.map((one) => line(io, one)).join('\n\n'));
    refuseAgents(io);
    if (flags.link) {
      if (args[0] === undefined)
        throw badUsage('--link needs the id of a question.', 'See: relay approve --list');
      const link = await relay.questions.link(selected[0]!.id);
      return io.result(link, link.url);
    }
    if (selected.length === 0) return io.result({ questions: [] }, 'There are no open questions.');
    const done: AskedQuestion[] = [];
    for (const question of selected) {
      if (!io.json) io.print(line(io, question));
      const answer = args[1] ?? (await choose(io, question));
      if (answer === null || answer === '') continue;
      done.push(await relay.questions.answer(question.id, { answer, comment: flags.comment }));
    }
    return io.result({ answered: done }, () =>
      done
        .map(({ id, answer }) => `${io.style.green('answered')} ${id}: ${printable(answer ?? '')}`)
        .join('\n'),
    );
  },
});

function refuseAgents(io: Io): void {
  const variable = AGENT_VARIABLES.find((name) => io.env[name]);
  const what = variable
    ? `A person must answer. This shell belongs to an agent: ${variable} is set.`
    : io.stdin.isTTY && io.stderr.isTTY
      ? null
      : 'A person must answer at a terminal.';
  if (what !== null)
    throw refusal('failed', what, 'Run relay approve in a terminal of your own, or use a link.');
}

/** Finds an open question by the beginning of its id. */
function findQuestion(questions: readonly AskedQuestion[], prefix: string): AskedQuestion {
  const found = questions.filter(({ id }) => id.startsWith(prefix) || id.startsWith(`q_${prefix}`));
  if (found.length === 1) return found[0]!;
  const hint = 'List the open questions with: relay approve --list';
  if (found.length === 0) throw refusal('missing', `open question ${printable(prefix)}`, hint);
  throw badUsage(`Several questions begin with ${printable(prefix)}.`, hint);
}

function line(
  io: Io,
  { id, question, choices, asked_by, asked_at, expires_at, step, thread_id, who }: AskedQuestion,
): string {
  const facts = [
    `${printable(asked_by)}, ${moment(asked_at)}`,
    ...(step === null ? [] : [`step ${printable(step)} of run ${thread_id}`]),
    ...(who.length > 0 ? [`for ${printable(who.join(', '))}`] : []),
    `expires ${expiry(expires_at)}`,
  ];
  const answers = choices.length > 0 ? `\n  ${choices.map(printable).join(' | ')}` : '';
  return `${io.style.bold(id)}  ${io.style.dim(facts.join(' · '))}\n  ${printable(question)}${answers}`;
}

async function choose(io: Io, { choices }: AskedQuestion): Promise<string | null> {
  for (;;) {
    const hint =
      choices.length > 0 ? 'Answer (a number or a choice; Enter skips): ' : 'Answer (Enter skips): ';
    if (choices.length > 0) io.note(choices.map((choice, i) => `${i + 1} ${printable(choice)}`).join('  '));
    const typed = await io.ask(hint);
    if (typed === null || typed === '' || choices.length === 0 || choices.includes(typed)) return typed;
    const numbered = /^\d+$/.test(typed) ? choices[Number(typed) - 1] : undefined;
    if (numbered !== undefined) return numbered;
  }
}

export const commands = { ask, approve };
