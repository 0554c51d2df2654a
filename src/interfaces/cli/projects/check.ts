import { projectCommand } from './project-call.ts';

export default projectCommand({
  details: `decisions.md is only ever appended to: every decision that was ever committed, on any branch that was merged, is still there
as it was first written. Where git does not have the file, the seal that relay keeps of every decision it has seen stands in for the
commits (in .relay, on this machine only).`,
  flags: {
    accept: {
      help: 'append a decision that accepts the changes to earlier ones; later changes are told again',
    },
  },
  examples: [
    ['relay project check', 'ends with 1 when something is wrong'],
    ['relay project check --accept', 'a change to a decision was meant'],
  ],
  async ask(project, { flags }) {
    const findings = await project.check({ accept: flags.accept });
    return { ok: !findings.some(({ level }) => level === 'wrong'), folder: project.files.folder, findings };
  },
  print({ folder, findings }, { style }) {
    if (findings.length === 0) return `${style.green('ok')}  ${folder}`;
    const lines = findings.map(({ file, level, what, fix }) => {
      const mark = level === 'wrong' ? style.red('wrong  ') : style.yellow('warning');
      return `${mark}  ${what.includes(file) ? what : `${file}: ${what}`}\n         ${style.dim('→')} ${fix}`;
    });
    return lines.join('\n');
  },
  exit: ({ ok }) => (ok ? 0 : 1),
});
