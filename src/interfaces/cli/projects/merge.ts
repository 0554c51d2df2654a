import { readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { answerCommand, badUsage } from '../command.ts';
import { PROJECT_FLAGS, theProject } from './project-call.ts';

export default answerCommand({
  usage: '[<base> <ours> <theirs> <path>]',
  details: `Resolves the conflicts that git left in PROJECT.md, state.json, decisions.md and todos.json: both sides are kept, todos and state
are merged field by field, and equal numbers from two branches are told apart with every reference to them. git does it by itself after
relay install git, which runs this command with the four words of a merge driver.`,
  takes: { min: 0, max: 4 },
  flags: { ...PROJECT_FLAGS, driver: { help: 'merge one file, as git asks a merge driver to' } },
  examples: [
    ['relay project merge', 'after git merge, rebase or cherry-pick stopped'],
    ['relay install git', 'so that git does it by itself in this repository'],
  ],
  async ask(call) {
    const { args, flags, host, io } = call;
    if (!flags.driver) {
      if (args.length > 0) throw badUsage(`"${args[0]}" is one word too many.`, 'Use: relay project merge');
      return (await theProject(call)).merge();
    }
    const [base, ours, theirs, path] = args.map((word) => resolve(io.cwd, word));
    if (!path) {
      throw badUsage('--driver takes four words.', 'Use: relay project merge --driver %O %A %B %P');
    }
    const read = (file: string | undefined) => readFile(file!, 'utf8');
    const sides = { base: await read(base), ours: await read(ours), theirs: await read(theirs) };
    const project = await host.openProject(dirname(path), { followLinks: flags['follow-links'] });
    const { text, conflict } = await project.mergeFile(basename(path), sides);
    await writeFile(ours!, text);
    return { written: [args[3]!], conflicts: conflict ? [args[3]!] : [], renumbered: [] };
  },
  print({ written, conflicts, renumbered }, { style }) {
    if (written.length === 0) return 'Nothing to merge: no project file has a conflict or a number twice.';
    const lines = written
      .filter((name) => !conflicts.includes(name))
      .map((name) => `${style.green('merged')}    ${name}`);
    for (const name of conflicts) {
      lines.push(
        `${style.red('conflict')}  ${name}: both sides changed the same lines; choose by hand, then git add ${name}`,
      );
    }
    for (const { from, to, side } of renumbered) lines.push(`${from} of ${side} is ${to} now`);
    return lines.join('\n');
  },
  exit: ({ conflicts }) => (conflicts.length > 0 ? 1 : 0),
});
