import { needText, projectCommand } from './project-call.ts';

export default projectCommand({
  usage: '<task>',
  details:
    'Writes the task down and prints the line to give to the child, which remembers nothing of this session.',
  flags: {
    expect: { value: 'OUTPUT', help: 'what should come back' },
    context: { multiple: true, value: 'URL|FILE', help: 'what the child should read; may be repeated' },
  },
  examples: [
    [
      'relay project handoff "Port the parser to Rust" --expect "a passing cargo test"',
      'prints the line for the child',
    ],
    [
      'relay project handoff "Review it" --expect "a list of faults" --context https://…/pull/…',
      'with a pointer to read',
    ],
  ],
  async ask(project, { args, flags }) {
    const { folder } = project.files;
    const handoff = await project.handOff({
      task: needText('The task', args[0], { keep: true }),
      expect: (flags.expect ?? '').trim(),
      context: flags.context,
    });
    const prompt = `You are given ${handoff.id} in ${folder}. Run there: relay project start --for ${handoff.id}. When done, run: relay project report ${handoff.id} --result "…"`;
    return { ...handoff, folder, prompt };
  },
  print: ({ prompt }) => prompt,
});
