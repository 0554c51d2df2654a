import { resolve } from 'node:path';
import { answerCommand } from '../command.ts';
import { LINKS_FLAG } from './project-call.ts';

export default answerCommand({
  usage: '[dir]',
  details: `They are filled with what can be found out: name, description, stack and folders, from package.json, pyproject.toml,
Cargo.toml, go.mod, the README and git; decisions that have files of their own, as in docs/adr, are named. A file that exists is kept.`,
  flags: { force: { help: 'write files that exist anew; what they held is lost' }, ...LINKS_FLAG },
  examples: [
    ['relay project init', 'in this folder'],
    ['relay project init ../api', 'in another one'],
  ],
  async ask({ io, host, flags, args }) {
    const folder = resolve(io.cwd, args[0] ?? '.');
    const project = await host.openProject(folder, { followLinks: flags['follow-links'] });
    return { folder, ...(await project.init({ force: flags.force })) };
  },
  print: ({ written, kept }, { style, typed }) =>
    [
      ...written.map((name) => `${style.green('wrote')}  ${name}`),
      ...kept.map((name) => `${style.dim('kept')}   ${name} ${style.dim('(it is there already)')}`),
      '',
      written.length > 0
        ? typed('Look through PROJECT.md; then begin each session with: relay project start')
        : 'Nothing to do. --force would write them anew.',
    ].join('\n'),
});
