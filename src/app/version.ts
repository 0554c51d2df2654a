import { readFileSync } from 'node:fs';

/** The version of this package. Sources and what is built lie at different depths below its package.json. */
export function packageVersion(): string {
  for (const above of ['../package.json', '../../package.json', '../../../package.json']) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL(above, import.meta.url), 'utf8'));
      if (name === 'contextrelay') return version;
    } catch {
      // Not there: one folder further up.
    }
  }
  return 'unknown';
}
