import { badUsage } from '../command.ts';

export interface FileArgument {
  readonly space: string;
  /** Empty where the space alone was named. */
  readonly path: string;
}

/** `notes/src/main.ts`: the space, and the path in it. */
export function fileArgument(text: string): FileArgument {
  const slash = text.indexOf('/');
  if (slash < 0) return { space: text, path: '' };
  return { space: text.slice(0, slash), path: text.slice(slash + 1) };
}

/** The same where a file must be named. */
export function oneFile(text: string, name: string): FileArgument {
  const file = fileArgument(text);
  if (file.path !== '') return file;
  throw badUsage(
    `"${text}" is a space, and not a file in it.`,
    `Use: ${name} SPACE/PATH, such as notes/plan.md`,
  );
}
