import type { ErrorRow } from './row.ts';

/** The project files in a folder. */
export const PROJECT_ERRORS = {
  bad_file: {
    status: 422,
    exit: 1,
    message: '{file} cannot be used: {what} (line {line}, column {column}). It was left as it is.',
    hint: 'Correct it by hand at that place, then run the command again.',
  },
  no_project: {
    status: 404,
    exit: 3,
    message: 'There are no project files in {path}.',
    hint: 'Make them with: relay project init',
  },
  no_entry: {
    status: 404,
    exit: 3,
    message: '{file} has no {what}.',
    hint: 'List what it has with: {list}',
  },
  project_locked: {
    status: 503,
    exit: 1,
    message: 'The project files in {path} are locked by another process ({who}).',
    hint: 'Try again. If nothing is at work there, delete {lock}',
  },
} as const satisfies Record<string, ErrorRow>;
