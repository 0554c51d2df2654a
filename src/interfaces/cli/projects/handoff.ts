import { HANDOFF_DEADLINE_MS } from '../../../base/limits.ts';
import { badUsage } from '../command.ts';
import { parseMilliseconds } from '../human.ts';
import { needText, projectCommand } from './project-call.ts';

export default projectCommand({
  stores: true,
  usage: '<task>',
  details:
    'Writes the task down and prints the line to give to the child, which remembers nothing of this session.',
  flags: {
    expect: { value: 'OUTPUT', help: 'what should come back' },
    context: { multiple: true, value: 'URL|FILE', help: 'what the child should read; may be repeated' },
    deadline: { value: 'TIME', help: 'how long it may take: 90s, 30m, 2h; then it is shown as overdue' },
  },
  examples: [
    [
      'relay project handoff "Port the parser to Rust" --expect "a passing cargo test"',
      'prints the line for the child',
    ],
    [
      'relay project handoff "Run the tests" --expect "what fails" --deadline 30m',
      'with half an hour for it',
    ],
    [
      'relay project handoff "Review it" --expect "a list of faults" --context https://…/pull/…',
      'with a pointer to read',
    ],
  ],
  async ask(project, { io, args, flags }) {
    const { folder } = project.files;
    const deadlineMs = parseMilliseconds(flags.deadline, '--deadline');
    if (deadlineMs !== undefined && (deadlineMs < 1_000 || deadlineMs > HANDOFF_DEADLINE_MS))
      throw badUsage('--deadline is from one second to 30 days.', 'For example: --deadline 30m');
    const handoff = await project.handOff({
      task: needText('The task', args[0], { keep: true }),
      expect: (flags.expect ?? '').trim(),
      context: flags.context,
      deadlineMs,
    });
    const relay = io.program?.('anywhere') ?? 'relay';
    const due = handoff.deadline ? ` Report by ${handoff.deadline}.` : '';
    const prompt = `You are given ${handoff.id} in ${folder}. Run there: ${relay} project start --for ${handoff.id}.${due} When done, run: ${relay} project report ${handoff.id} --result "…"`;
    return { ...handoff, folder, prompt };
  },
  print: ({ prompt }) => prompt,
});
