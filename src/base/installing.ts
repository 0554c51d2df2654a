/**
 * How people get the program, for what it says to them. Whether npm has it is known here and nowhere else: `npm run release -- --published`
 * turns it on, here and in docs/install.md.
 */
export const ON_NPM: boolean = false;

export const GET_NEWER = ON_NPM
  ? 'npm install -g contextrelay@latest, or the archive or the deb of a newer release'
  : 'the archive or the deb of a newer release, or git pull and npm run build in the clone';

/** What brings Node 26 to an installation from npm whose own Node is too old. */
export const GET_RUNTIME = ON_NPM
  ? 'npm install contextrelay-runtime, in the same place'
  : 'npm install contextrelay-runtime-*.tgz from the same release, in the same place';
