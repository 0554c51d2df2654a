import { defineCommand } from '../command.ts';
import { PROJECT_FLAGS, theProject } from './project-call.ts';

export default defineCommand({
  details: `decisions.md is only ever appended to. Two witnesses are asked: the commits that changed it, and the seal that relay keeps
of every decision it has seen (in .relay, on this machine only).`,
  flags: {
    accept: { help: 'take the decisions as they are now; later changes are told again' },
    ...PROJECT_FLAGS,
  },
  examples: [
    ['relay project check', 'ends with 1 when something is wrong'],
    ['relay project check --accept', 'a change to a decision was meant'],
  ],
  async run({ io, host, flags }) {
    const project = await theProject({ io, host, flags });
    const findings = await project.check({ accept: flags.accept });
    const wrong = findings.some(({ level }) => level === 'wrong');
    io.result({ ok: !wrong, folder: project.files.folder, findings }, () =>
      findings.length === 0
        ? `${io.style.green('ok')}  ${project.files.folder}`
        : findings
            .map(({ file, level, what, fix }) => {
              const mark = level === 'wrong' ? io.style.red('wrong  ') : io.style.yellow('warning');
              return `${mark}  ${what.includes(file) ? what : `${file}: ${what}`}\n         ${io.style.dim('→')} ${fix}`;
            })
            .join('\n'),
    );
    return wrong ? 1 : 0;
  },
});
