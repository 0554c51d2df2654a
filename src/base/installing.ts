/**
 * True if the package is published on npm. Hints about the installation depend on this. `npm run release --
 * --published` sets it to true and updates docs/install.md.
 */
export const ON_NPM: boolean = false;

/** How to get a newer version, as a part of hints. */
export const GET_NEWER = ON_NPM
  ? 'npm install -g contextrelay@latest, or the archive or the deb of a newer release'
  : 'the archive or the deb of a newer release, or git pull and npm run build in the clone';

/** How to add Node 26 to an npm installation whose Node is too old, as a part of hints. */
export const GET_RUNTIME = ON_NPM
  ? 'npm install contextrelay-runtime (with -g if contextrelay is installed with -g)'
  : 'npm install contextrelay-runtime-*.tgz of the same release (with -g if contextrelay is installed with -g)';
