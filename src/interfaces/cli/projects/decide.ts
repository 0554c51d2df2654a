import { defineCommand } from '../command.ts';
import { needText, PROJECT_FLAGS, theProject } from './project-call.ts';

export default defineCommand({
  usage: '<title>',
  details:
    'Decisions are numbered and never changed. A new one replaces an old one by saying so: --supersedes ADR-002.',
  flags: {
    context: { value: 'TEXT', help: 'what made it necessary' },
    decision: { value: 'TEXT', help: 'what was decided' },
    consequences: { value: 'TEXT', help: 'what follows from it, good and bad' },
    status: { value: 'WORD', help: 'Accepted unless told; Proposed, Rejected, …' },
    supersedes: { multiple: true, value: 'ADR', help: 'the decision it replaces; may be repeated' },
    ...PROJECT_FLAGS,
  },
  examples: [
    [
      'relay decide "Use JWT" --context "stateless servers" --decision "JWT and refresh tokens" --consequences "revocation needs a list"',
      'prints its number',
    ],
  ],
  async run({ io, host, args, flags }) {
    const decision = {
      title: needText('The title', args[0]),
      context: needText('--context', flags.context, { keep: true }),
      decision: needText('--decision', flags.decision, { keep: true }),
      consequences: needText('--consequences', flags.consequences, { keep: true }),
      status: flags.status,
      supersedes: flags.supersedes,
    };
    const id = await (await theProject({ io, host, flags })).decide(decision);
    io.result({ id, title: decision.title }, `${id}  ${decision.title}`);
  },
});
