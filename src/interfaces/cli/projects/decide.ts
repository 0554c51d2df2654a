import { needText, projectCommand } from './project-call.ts';

export default projectCommand({
  stores: true,
  usage: '<title>',
  details:
    'Decisions are numbered and never changed. A new one replaces an old one by saying so: --supersedes ADR-002.',
  flags: {
    context: { value: 'TEXT', help: 'what made it necessary' },
    decision: { value: 'TEXT', help: 'what was decided' },
    consequences: { value: 'TEXT', help: 'what follows from it, good and bad' },
    status: { value: 'WORD', help: 'Accepted by default; Proposed, Rejected, …' },
    supersedes: { multiple: true, value: 'ADR', help: 'the decision it replaces; may be repeated' },
  },
  examples: [
    [
      'relay decide "Use JWT" --context "stateless servers" --decision "JWT and refresh tokens" --consequences "revocation needs a list"',
      'prints its number',
    ],
  ],
  async ask(project, { args, flags }) {
    const decision = {
      title: needText('The title', args[0]),
      context: needText('--context', flags.context, { keep: true }),
      decision: needText('--decision', flags.decision, { keep: true }),
      consequences: needText('--consequences', flags.consequences, { keep: true }),
      status: flags.status,
      supersedes: flags.supersedes,
    };
    return { id: await project.decide(decision), title: decision.title };
  },
  print: ({ id, title }) => `${id}  ${title}`,
});
